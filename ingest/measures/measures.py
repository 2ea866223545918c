"""What a run's tables hold beside its model: whose work GPU activities are, and hardware counters.

Kineto reads counters for each kernel (CUPTI's auto ranges) and gives the ranges the names of kernels, in the
order of the launches. The times of ranges mean nothing: Kineto divides the recording among them evenly. So
only names and order can join ranges and kernels, and only if nothing is missing: the kernels of one name of
a device are paired in order with the ranges of that name if there are as many of both. If the file holds no
kernels at all, as is usual, all ranges of a device are paired with the calls that launch kernels, if there
are as many of both. Anything else stays unattributed.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tracegraph.ingest.arrays import Flags, Ints, shifted
from tracegraph.ingest.causal.events.events import NONE, Events
from tracegraph.ingest.causal.graph.model import RankModel
from tracegraph.ingest.flops.counting import count_work, with_work
from tracegraph.ingest.integrity_findings import Integrity
from tracegraph.ingest.trace import TraceFile
from tracegraph.store.tables import GraphTables
from tracegraph.vocabulary.categories import Role

_LAUNCH = re.compile(r"(?:cu|cuda|hip)(?:Ext)?(?:Module)?Launch(?:Cooperative)?Kernel\w*")
_BY_NAME, _BY_ORDER, _BY_COUNT = 0.95, 0.9, 0.7
"""Confidence (0..1) of pairs by names, by order in a file of one device, and by counts of launches.

By counts: of several devices, each is the one on which a thread launched as many kernels as it has ranges.
All three are estimates: no file states which range belongs to which kernel.
"""
COUNTER_COLUMNS = pa.schema(
    [
        pa.field("range", pa.int64(), nullable=False),
        pa.field("name", pa.dictionary(pa.int32(), pa.string()), nullable=False),
        pa.field("value", pa.float64(), nullable=False),
        pa.field("measured", pa.int64(), nullable=False),
        pa.field("confidence", pa.float64(), nullable=False),
    ]
)
"""Counters by their events: the range, and the event that it measured (-1: not known)."""


@dataclass(frozen=True)
class Ranges:
    """Ranges of a file, by event. `measured`: the kernel, or the call that launched it; -1 for unknown."""

    event: Ints
    measured: Ints
    confidence: "np.ndarray[tuple[int], np.dtype[np.float64]]"


def attribute_ranges(model: RankModel, device: Ints, integrity: Integrity) -> Ranges:
    """Pair the ranges of a file with what they measured, and state those that cannot be paired.

    `device` holds the number of each event's device, for ranges that of the device on which they were read.
    """
    events = model.events
    ranges = np.flatnonzero(events.of_role(Role.RANGE))
    measured = np.full(len(ranges), -1, dtype=np.int64)
    confidence = np.zeros(len(ranges))
    if len(ranges):
        kernels = np.flatnonzero(events.of_role(Role.KERNEL))
        if len(kernels):
            _pair_by_name(model, ranges, kernels, device, measured)
            confidence[measured >= 0] = _BY_NAME
        else:
            _pair_in_order(model, ranges, device, measured, confidence)
        _state(events, ranges, measured, integrity, has_kernels=len(kernels) > 0)
    return Ranges(ranges, measured, confidence)


def _pair_by_name(model: RankModel, ranges: Ints, kernels: Ints, device: Ints, measured: Ints) -> None:
    events, call = model.events, model.launches.call
    launched = np.where(call[kernels] >= 0, events.start[call[kernels]], events.start[kernels])
    kernels = kernels[np.lexsort((kernels, launched))]
    order = np.argsort(events.start[ranges], kind="stable")
    for key in np.unique(np.stack([device[ranges], events.name.codes[ranges]], axis=1), axis=0).tolist():
        mine = order[(device[ranges[order]] == key[0]) & (events.name.codes[ranges[order]] == key[1])]
        theirs = kernels[(device[kernels] == key[0]) & (events.name.codes[kernels] == key[1])]
        if len(mine) == len(theirs):
            measured[mine] = theirs


def _pair_in_order(
    model: RankModel, ranges: Ints, device: Ints, measured: Ints, confidence: np.ndarray
) -> None:
    events = model.events
    calls = np.flatnonzero(_launches_kernels(events) & ~_inside_launch(model))
    calls = calls[np.lexsort((calls, events.start[calls]))]
    order = np.argsort(events.start[ranges], kind="stable")
    of_device = {int(one): order[device[ranges[order]] == one] for one in np.unique(device[ranges])}
    if len(of_device) == 1:
        if len(calls) == len(ranges):
            measured[order], confidence[order] = calls, _BY_ORDER
        return
    of_thread = [calls[events.lane[calls] == lane] for lane in np.unique(events.lane[calls])]
    for mine in of_device.values():
        alike = [one for one in of_thread if len(one) == len(mine)]
        rivals = [one for one in of_device.values() if len(one) == len(mine)]
        if len(alike) == len(rivals) == 1:
            measured[mine], confidence[mine] = alike[0], _BY_COUNT


def _launches_kernels(events: Events) -> Flags:
    named = np.array([_LAUNCH.fullmatch(str(name)) is not None for name in events.name.values], dtype=bool)
    return events.name.matching(named) & events.of_role(Role.CALL)


def _inside_launch(model: RankModel) -> Flags:
    """Flag the events that run in a launching call, such as the driver's call in the runtime's."""
    parent, launches = model.stack.parent, _launches_kernels(model.events)
    flags: Flags = (parent >= 0) & launches[parent]
    return flags


def _state(events: Events, ranges: Ints, measured: Ints, integrity: Integrity, *, has_kernels: bool) -> None:
    places = events.source_index[ranges]
    lost, found = places[measured < 0], places[measured >= 0]
    why = "kernels of their names" if has_kernels else "calls that launch kernels"
    what = f"ranges with hardware counters belong to no launch that can be told: there are not as many {why}"
    integrity.add_places("counters_unattributed", what, lost)
    how = "kernels of their names" if has_kernels else "the calls that launch kernels"
    what = f"ranges with hardware counters are paired with {how} in order: nothing else joins them"
    integrity.add_places("counters_by_order", what, found)


@dataclass(frozen=True)
class Measures:
    """`operator`: for each event the operator of its work, -1 for none. `counters`: in COUNTER_COLUMNS."""

    operator: Ints
    counters: pa.Table


def measure(trace: TraceFile, model: RankModel, integrity: Integrity) -> tuple[pa.Table, Measures]:
    """Measure the work and the counters of a file, and add to `integrity` what is odd about the counters.

    Returns
    -------
    events, measures
        The events with the columns of the work of their operators, and the measures.
    """
    counted = count_work(model, trace.events)
    device = trace.events["device"].combine_chunks().fill_null(NONE).to_numpy()
    processes = pc.cast(trace.events["pid"].combine_chunks().dictionary_decode(), pa.string())
    own = attribute_ranges(model, _devices(device, processes, trace.counters), integrity)
    rows = trace.counters["source_index"].combine_chunks().to_numpy()
    place = np.searchsorted(model.events.source_index[own.event], rows)
    ends = np.append(model.events.source_index[own.event], -1)
    kept = np.flatnonzero(ends[place] == rows)
    columns = {
        "range": own.event[place[kept]],
        "name": trace.counters["name"].combine_chunks().take(pa.array(kept)),
        "value": trace.counters["value"].combine_chunks().take(pa.array(kept)),
        "measured": own.measured[place[kept]],
        "confidence": own.confidence[place[kept]],
    }
    return with_work(trace.events, counted), Measures(
        counted.operator, pa.table(columns, schema=COUNTER_COLUMNS)
    )


def _devices(device: Ints, processes: pa.Array, counters: pa.Table) -> Ints:
    """Fill in the devices of ranges, which state theirs as their process."""
    if not counters.num_rows:
        return device
    numbers = [int(text) if text.isascii() and text.isdigit() else NONE for text in processes.to_pylist()]
    return np.where(device == NONE, np.array(numbers, dtype=np.int64), device)


def merge_measures(parts: Sequence[Measures], first_event: Sequence[int]) -> Measures:
    """Join the measures of several files whose events follow each other; each begins at its `first_event`."""
    moved = [
        part.counters.set_column(0, "range", pc.add(part.counters["range"], first)).set_column(
            3, "measured", pa.array(shifted(part.counters["measured"].to_numpy(), first))
        )
        for part, first in zip(parts, first_event, strict=False)
    ]
    operators = [shifted(part.operator, first) for part, first in zip(parts, first_event, strict=False)]
    return Measures(np.concatenate(operators), pa.concat_tables(moved).unify_dictionaries().combine_chunks())


def stored_measures(tables: GraphTables) -> Measures:
    """Read the measures of a run back from its tables."""
    events = tables.read_nodes("Event", ("id", "rank", "source_index"))
    ids = events["id"].to_numpy()
    first = int(ids[0]) if len(ids) else 0
    operator = np.full(len(ids), -1, dtype=np.int64)
    work = tables.read_relationships("WORK_OF", ("start", "end"))
    operator[work["start"].to_numpy() - first] = work["end"].to_numpy() - first
    if "Counter" not in tables.nodes:
        return Measures(operator, COUNTER_COLUMNS.empty_table())
    nodes, measured = tables.nodes["Counter"], tables.relationships["MEASURED"]
    place = {key: row for row, key in enumerate(zip(*_keys(events), strict=True))}
    target = np.full(len(nodes), -1, dtype=np.int64)
    confidence = np.zeros(len(nodes))
    row = measured["start"].to_numpy() - int(nodes["id"][0].as_py())
    target[row], confidence[row] = measured["end"].to_numpy() - first, measured["confidence"].to_numpy()
    name = nodes["name"].combine_chunks()
    columns = {
        "range": np.array([place[key] for key in zip(*_keys(nodes), strict=True)], dtype=np.int64),
        "name": name if pa.types.is_dictionary(name.type) else name.dictionary_encode(),
        "value": nodes["value"],
        "measured": target,
        "confidence": confidence,
    }
    return Measures(operator, pa.table(columns, schema=COUNTER_COLUMNS))


def _keys(table: pa.Table) -> tuple[list[int], list[int]]:
    return table["rank"].to_pylist(), table["source_index"].to_pylist()
