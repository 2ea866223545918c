"""Send more at once: collectives of one pass become one, by the latency and rate that the file shows."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from scipy import stats

from tracegraph.ingest.arrays import Flags, Floats, Ints
from tracegraph.ingest.causal.events import NONE
from tracegraph.ingest.causal.segments import WORK
from tracegraph.ingest.what_if.edit import Edit, no_edit
from tracegraph.ingest.what_if.fixes.fix import Candidate, Fix, Scene, asked_for, escaped, made_in
from tracegraph.ingest.what_if.fixes.left_out import calls_left_out
from tracegraph.ingest.what_if.graph import ReplayGraph
from tracegraph.ingest.what_if.launched import launching_segments
from tracegraph.ingest.what_if.transfers import is_collective
from tracegraph.store.errors import InputError
from tracegraph.store.mechanisms import COLLECTIVE, MECHANISMS
from tracegraph.store.units import told

_MOST_FITTED, _APART, _FEWEST, _FEWEST_A_PASS = 1_000, 2, 8, 2
_WAITS = np.array(
    [m.kind in ("SYNCHRONIZATION", "CROSS_THREAD") and m.name != COLLECTIVE for m in MECHANISMS]
)


@dataclass(frozen=True)
class _Collectives:
    """Collectives by lane and time, one entry each.

    `event`; `size`: elements that each rank gives; `work`: ns of its transfer; `last`: its last segment.
    `group`: which become one, `becomes`: whether it is the one that the others of its group become.
    """

    event: Ints
    size: Ints
    work: Ints
    last: Ints
    group: Ints

    def __len__(self) -> int:
        return len(self.event)

    @property
    def becomes(self) -> Flags:
        """The last of each group, as it can start only when all is there."""
        found: Flags = np.append(self.group[1:] != self.group[:-1], True)[: len(self)]
        return found


def find_collectives(graph: ReplayGraph, chosen: Flags) -> _Collectives:
    """Chosen collectives whose size the file tells, by what they could be sent together with.

    That are those of one name, lane and phase (else step), as long as nobody waits for one before the next
    begins.
    """
    segments, calls = graph.segments, graph.calls
    assert graph.facts is not None  # who asks for sizes has them
    size = graph.facts().elements
    mine = np.append(is_collective(graph) & (size != NONE) & (size > 0), False)[segments.event] & chosen
    at = np.flatnonzero(mine)
    begins = np.append(True, segments.event[at][1:] != segments.event[at][:-1])[: len(at)]
    event, last = segments.event[at[begins]], at[np.append(begins[1:], True)[: len(at)]]
    works = mine & (segments.kind == WORK) & (segments.start >= _since(graph))
    spent = np.bincount(segments.event[works], segments.work[works], len(calls)).astype(np.int64)
    keys = np.stack([calls.lane[event], calls.name.codes[event], _pass_of(graph, event)])
    apart = (keys[:, 1:] != keys[:, :-1]).any(axis=0) | _awaited_before(graph, event, last)
    group = np.cumsum(np.append(False, apart)[: len(event)])
    return _Collectives(event, size[event], spent[event], last, group)


def _since(graph: ReplayGraph) -> Ints:
    """From when each segment transfers: since all ranks are there, where the files tell that."""
    return np.append(graph.rendezvous, NONE)[graph.segments.event]


def _pass_of(graph: ReplayGraph, event: Ints) -> Ints:
    """The phase that began last before each collective was asked for, else its step."""
    calls, phases = graph.calls, graph.phases
    call = calls.call[event]
    asked = np.where(call >= 0, calls.start[call], calls.start[event])
    rank, found = graph.lanes.rank[calls.lane[event]], calls.step[event].copy()
    for one in np.unique(rank).tolist():
        mine, place = rank == one, np.flatnonzero(phases.rank == one)
        place = place[np.argsort(phases.start[place], kind="stable")]
        if len(place):
            begun = np.searchsorted(phases.start[place], asked[mine], "right") - 1
            found[mine] = np.where(begun >= 0, place[begun], -1)
    return found


def _awaited_before(graph: ReplayGraph, event: Ints, last: Ints) -> Flags:
    """For each collective but the last whether somebody waits for it before the next one begins."""
    segments, found = graph.segments, graph.dependencies
    awaited = np.full(len(segments), np.iinfo(np.int64).max)
    waits = _WAITS[found.mechanism] & found.binding
    waits &= segments.event[found.effect] != segments.event[found.cause]
    np.minimum.at(awaited, found.cause[waits], segments.start[found.effect[waits]])
    before: Flags = awaited[last[:-1]] < graph.calls.start[event[1:]]
    return before


@dataclass(frozen=True)
class _Cost:
    """A transfer takes `latency` and `of_each` for each element, ns."""

    latency: float
    of_each: float

    def of(self, size: Ints | Floats) -> Floats:
        """How long transfers of some sizes take."""
        return self.latency + self.of_each * size.astype(np.float64)


def fit_cost(size: Ints, work: Ints) -> _Cost | None:
    """Latency and rate by a line through the medians of all slopes (Theil and Sen); None where none rises.

    Sizes that are nearly one cannot tell them apart, nor can larger ones that take no longer.
    """
    if not len(size) or size.max() < _APART * size.min():
        return None
    some = np.unique(np.linspace(0, len(size) - 1, min(len(size), _MOST_FITTED)).astype(np.int64))
    with np.errstate(invalid="ignore"):  # of its confidence, which equal sizes leave undefined
        line = stats.theilslopes(work[some], size[some])
    if not line.slope > 0:
        return None
    return _Cost(max(float(line.intercept), 0.0), float(line.slope))


def coalesce(graph: ReplayGraph, chosen: Flags) -> Edit:
    """Of chosen collectives those of one pass are one, which starts when the last of them did.

    Raises:
        InputError: none of them has a size, or none of their sizes shows latency and rate.
    """
    found = find_collectives(graph, chosen)
    edit, segments, calls = no_edit(len(graph.segments)), graph.segments, graph.calls
    factor, kept, fitted = edit.factor.copy(), found.becomes, False
    every = find_collectives(graph, np.ones(len(segments), dtype=bool))
    names = calls.name.codes
    for code in np.unique(names[found.event]).tolist():
        alike = names[every.event] == code
        cost = fit_cost(every.size[alike], every.work[alike])
        if cost is None:
            continue
        fitted = True
        mine = names[found.event] == code
        total = np.bincount(found.group, found.size)[found.group]
        many = np.bincount(found.group)[found.group] > 1
        takes = np.full(len(calls) + 1, np.nan)
        merged = np.where(kept, cost.of(total) / np.maximum(found.work, 1), 0.0)
        takes[found.event[mine & many]] = merged[mine & many]
        wanted = takes[segments.event]
        works = ~np.isnan(wanted) & (segments.kind == WORK) & (segments.start >= _since(graph))
        factor[works] = wanted[works]
    if not fitted:
        raise InputError(
            "how long larger collectives would take is not in the file: "
            + ("one size, or no time for more, shows no rate" if len(found) else "it has no sizes"),
            "record with record_shapes=True, and more than one size; or measure with other bucket sizes",
        )
    call = launching_segments(graph)[found.last]
    asked = (call >= 0) & ~segments.on_thread[found.last]
    factor[calls_left_out(graph, found.group[asked], call[asked], kept[asked])] = 0.0
    return replace(edit, factor=factor)


def _find(scene: Scene) -> Iterator[Candidate]:
    """Collectives of one name that a pass sends several of, on the path."""
    graph, names = scene.graph, scene.graph.calls.name
    if graph.facts is None or not len(graph.phases):
        return
    every = find_collectives(graph, np.ones(len(graph.segments), dtype=bool))
    for code in np.unique(names.codes[every.event]).tolist():
        alike = names.codes[every.event] == code
        passes = len(np.unique(every.group[alike]))
        chosen = np.append(names.codes == code, False)[graph.segments.event]
        spent = int(scene.on_path_ns[chosen].sum())
        few = alike.sum() < max(_FEWEST, _FEWEST_A_PASS * passes)
        cost = None if few or spent < scene.least_ns else fit_cost(every.size[alike], every.work[alike])
        if cost is None:
            continue
        selector = f"name={escaped(str(names.values[code]))}"
        yield Candidate(
            selector=selector,
            options=asked_for(FIX.name, [selector]),
            change=made_in(graph, coalesce(graph, chosen)),
            evidence=f"{int(alike.sum()):,} collectives in {passes:,} passes, {told(spent)} of the path; "
            f"each takes {told(round(cost.latency))} before it moves anything",
        )


FIX = Fix(
    name="coalesce",
    title="Send more at once",
    recognised="several collectives of one name in one pass, of several sizes, on the path",
    replayed="they are one, which starts when the last of them did and takes as long as the latency and "
    "rate of the file's own say",
    how="DistributedDataParallel(bucket_cap_mb=25) or more, larger units of FSDP, one flattened tensor",
    refuted_by="less of the transfer that hides behind the backward pass: the first can start only when all "
    "is there",
    assumptions=("a larger collective has the latency and rate of those in the file",),
    find=_find,
    asked="with {} sent at once",
    edit=lambda graph, chosen, settings: coalesce(graph, chosen),
)
