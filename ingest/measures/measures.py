"""What goes into a run's tables beside its model: whose work GPU activities are, and hardware counters."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tracegraph.ingest.arrays import Ints
from tracegraph.ingest.causal.events.events import NONE
from tracegraph.ingest.causal.graph.model import RankModel
from tracegraph.ingest.findings import Integrity
from tracegraph.ingest.flops.counting import count_work, with_work
from tracegraph.ingest.measures.ranges import attribute_ranges
from tracegraph.ingest.trace import TraceFile
from tracegraph.store.tables import GraphTables

COUNTER_COLUMNS = pa.schema(
    [
        pa.field("range", pa.int64(), nullable=False),
        pa.field("name", pa.dictionary(pa.int32(), pa.string()), nullable=False),
        pa.field("value", pa.float64(), nullable=False),
        pa.field("measured", pa.int64(), nullable=False),
        pa.field("confidence", pa.float64(), nullable=False),
    ]
)
"""Counters by their events: the range, and what it measured (-1: not known)."""


@dataclass(frozen=True)
class Measures:
    """`operator`: for each event the one whose work it is, -1 for none. `counters`: in COUNTER_COLUMNS."""

    operator: Ints
    counters: pa.Table


def measure(trace: TraceFile, model: RankModel, integrity: Integrity) -> tuple[pa.Table, Measures]:
    """The events of a file with the work of its operators, and its measures; adds what is odd of counters."""
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
    """Devices as stated; ranges state theirs as their process."""
    if not counters.num_rows:
        return device
    numbers = [int(text) if text.isascii() and text.isdigit() else NONE for text in processes.to_pylist()]
    return np.where(device == NONE, np.array(numbers, dtype=np.int64), device)


def merge_measures(parts: Sequence[Measures], first_event: Sequence[int]) -> Measures:
    """The measures of several files whose events stand one after the other, from `first_event` of each on."""
    moved = [
        part.counters.set_column(0, "range", pc.add(part.counters["range"], first)).set_column(
            3, "measured", pa.array(shifted(part.counters["measured"].to_numpy(), first))
        )
        for part, first in zip(parts, first_event, strict=False)
    ]
    operators = [shifted(part.operator, first) for part, first in zip(parts, first_event, strict=False)]
    return Measures(np.concatenate(operators), pa.concat_tables(moved).unify_dictionaries().combine_chunks())


def shifted(index: Ints, by: int) -> Ints:
    """Indices moved, negative ones left as they are."""
    return np.where(index >= 0, index + by, index)


def stored_measures(tables: GraphTables) -> Measures:
    """Those of a run, read back from its tables."""
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
