"""Send more at once: collectives of one pass become one, by the latency and rate that the file shows."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from tracegraph.base.errors import InputError
from tracegraph.base.units import short_ns
from tracegraph.ingest.arrays import Flags, Floats, Ints
from tracegraph.ingest.causal.events.events import NONE
from tracegraph.ingest.what_if.changes.edit import FOR_OTHERS, Edit, no_edit
from tracegraph.ingest.what_if.changes.launch_calls import calls_left_out
from tracegraph.ingest.what_if.fixes.fix import Candidate, Fix, Scene, asked_for, escaped, made_in
from tracegraph.ingest.what_if.graph.graph import ReplayGraph
from tracegraph.ingest.what_if.graph.launch_stretches import asked_at, launching_segments
from tracegraph.ingest.what_if.graph.transfers import of_collectives, transferring

_MOST_FITTED, _APART, _FEWEST, _FEWEST_A_PASS = 1_000, 2, 8, 2
"""Limits for a fit of latency and rate, and for a candidate.

Collectives that are fitted at most; by how many times the largest must be larger than the smallest;
collectives of one name, and on average in a pass, from which on it is a candidate.
"""


@dataclass(frozen=True)
class Collectives:
    """Collectives by lane and time, one entry for each.

    Attributes
    ----------
    size
        Elements that each rank gives.
    work
        Length of its transfer, ns.
    last
        Its last segment.
    group
        A number that the collectives share that become one.
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
        """Whether it is the last of its group, which the others become: it starts only when all is there."""
        found: Flags = np.append(self.group[1:] != self.group[:-1], True)[: len(self)]
        return found


def find_collectives(graph: ReplayGraph, chosen: Flags) -> Collectives:
    """Find chosen collectives whose size the file states, grouped by what could be sent together.

    That is collectives of one name, lane and phase (else step), as long as nothing waits for one before the
    next begins.
    """
    segments, calls = graph.segments, graph.calls
    assert graph.facts is not None  # who asks for sizes has them
    size = graph.facts().elements
    mine = chosen & of_collectives(graph) & np.append((size != NONE) & (size > 0), False)[segments.event]
    backwards = np.flatnonzero(mine)[::-1]
    event, place = np.unique(segments.event[backwards], return_index=True)
    in_order = np.argsort(backwards[place])
    event, last = event[in_order], backwards[place[in_order]]
    works = mine & transferring(graph)
    spent = np.bincount(segments.event[works], segments.work[works], len(calls)).astype(np.int64)
    keys = np.stack([calls.lane[event], calls.name.codes[event], _pass_of(graph, event)])
    apart = (keys[:, 1:] != keys[:, :-1]).any(axis=0) | _awaited_before(graph, event, last)
    group = np.cumsum(np.append(False, apart)[: len(event)])
    return Collectives(event, size[event], spent[event], last, group)


def _pass_of(graph: ReplayGraph, event: Ints) -> Ints:
    """Find the phase that began last before each collective was asked for, else its step."""
    calls, phases = graph.calls, graph.phases
    asked = asked_at(graph, event)
    rank, found = graph.lanes.rank[calls.lane[event]], calls.step[event].copy()
    for one in np.unique(rank).tolist():
        mine, place = rank == one, np.flatnonzero(phases.rank == one)
        place = place[np.argsort(phases.start[place], kind="stable")]
        if len(place):
            begun = np.searchsorted(phases.start[place], asked[mine], "right") - 1
            found[mine] = np.where(begun >= 0, place[begun], -1)
    return found


def _awaited_before(graph: ReplayGraph, event: Ints, last: Ints) -> Flags:
    """Flag each collective but the last for which something waits before the next one begins."""
    segments, found = graph.segments, graph.dependencies
    awaited = np.full(len(segments), np.iinfo(np.int64).max)
    waits = FOR_OTHERS[found.mechanism] & found.binding
    waits &= segments.event[found.effect] != segments.event[found.cause]
    np.minimum.at(awaited, found.cause[waits], segments.start[found.effect[waits]])
    before: Flags = awaited[last[:-1]] < graph.calls.start[event[1:]]
    return before


@dataclass(frozen=True)
class _Cost:
    """The cost of a transfer: `latency`, and `of_each` for each element, ns."""

    latency: float
    of_each: float

    def of(self, size: Ints | Floats) -> Floats:
        """Compute how long transfers of some sizes take, ns."""
        return self.latency + self.of_each * size.astype(np.float64)


def fit_cost(size: Ints, work: Ints) -> _Cost | None:
    """Fit latency and rate by a line through the medians of all slopes (Theil and Sen).

    Unlike `base.least_squares`, it is for files of one rank, too: waits for others are in some of the times,
    and a median bears outliers.

    None if the line does not rise. Sizes that are nearly the same cannot distinguish latency and rate, nor
    can larger ones that take no longer.
    """
    if not len(size) or size.max() < _APART * size.min():
        return None
    from scipy import stats  # noqa: PLC0415  (takes .5 s, and few files need it)

    some = np.unique(np.linspace(0, len(size) - 1, min(len(size), _MOST_FITTED)).astype(np.int64))
    with np.errstate(invalid="ignore"):  # of its confidence, which equal sizes leave undefined
        line = stats.theilslopes(work[some], size[some])
    if not line.slope > 0:
        return None
    return _Cost(max(float(line.intercept), 0.0), float(line.slope))


def coalesce(graph: ReplayGraph, chosen: Flags) -> Edit:
    """Join chosen collectives of one pass into one, which starts when the last of them did.

    Raises
    ------
    InputError
        If none of them has a size, or if none of their sizes shows latency and rate.
    """
    found, names = find_collectives(graph, chosen), graph.calls.name.codes
    every = find_collectives(graph, np.ones(len(graph.segments), dtype=bool))
    fitted = {code: _cost_of(graph, every, code) for code in np.unique(names[found.event]).tolist()}
    costs = {code: cost for code, cost in fitted.items() if cost is not None}
    if not costs:
        raise InputError(
            "how long larger collectives would take is not in the file: "
            + ("one size, or no time for more, shows no rate" if len(found) else "it has no sizes"),
            "record with record_shapes=True, and more than one size; or measure with other bucket sizes",
        )
    return _at_once(graph, found, costs)


def _cost_of(graph: ReplayGraph, every: Collectives, code: int) -> _Cost | None:
    alike = graph.calls.name.codes[every.event] == code
    return fit_cost(every.size[alike], every.work[alike])


def _at_once(graph: ReplayGraph, found: Collectives, costs: Mapping[int, _Cost]) -> Edit:
    """Let each group be its last collective, at its new cost; names without a cost stay as they are."""
    edit, segments, names = no_edit(len(graph.segments)), graph.segments, graph.calls.name.codes[found.event]
    total, members = (np.bincount(found.group, weights)[found.group] for weights in (found.size, None))
    factor = np.full(len(found), np.nan)
    for code, cost in costs.items():
        merged = np.where(found.becomes, cost.of(total) / np.maximum(found.work, 1), 0.0)
        factor = np.where(names == code, np.where(members == 1, 1.0, merged), factor)
    of_event = np.full(len(graph.calls) + 1, np.nan)
    of_event[found.event] = factor
    changed = of_event[segments.event]
    works = ~np.isnan(changed) & transferring(graph)
    call = launching_segments(graph)[found.last]
    asked = (call >= 0) & ~segments.on_thread[found.last] & ~np.isnan(factor)
    gone = calls_left_out(graph, found.group[asked], call[asked], found.becomes[asked])
    return replace(edit, factor=np.where(gone, 0.0, np.where(works, changed, 1.0)))


def _find(scene: Scene) -> Iterator[Candidate]:
    """Yield collectives on the path of a name that a pass sends several times."""
    graph, collective = scene.graph, of_collectives(scene.graph)
    if graph.facts is None or not len(graph.phases) or not collective.any():
        return
    every = find_collectives(graph, collective)
    for code, mine, spent in scene.names_on_path(collective):
        alike = graph.calls.name.codes[every.event] == code
        count, passes = int(alike.sum()), len(np.unique(every.group[alike]))
        cost = _cost_of(graph, every, code) if count >= max(_FEWEST, _FEWEST_A_PASS * passes) else None
        if cost is None:
            continue
        selector = f"name={escaped(str(graph.calls.name.values[code]))}"
        yield Candidate(
            selector=selector,
            options=asked_for(FIX.name, [selector]),
            change=made_in(graph, _at_once(graph, find_collectives(graph, mine), {code: cost})),
            evidence=f"{count:,} collectives in {passes:,} passes, {short_ns(spent)} of the path; "
            f"each takes {short_ns(round(cost.latency))} before it moves anything",
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
    instead_of=("bucket",),
)
