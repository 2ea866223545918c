"""Send more at once: collectives of one pass become one, by the latency and rate that the file shows."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from tracegraph.base.errors import InputError
from tracegraph.base.units import short_ns
from tracegraph.ingest.array_tables import join_rows
from tracegraph.ingest.arrays import Flags, Floats, Ints, Terms
from tracegraph.ingest.causal.graph.dependencies import Dependencies
from tracegraph.ingest.causal.graph.order import replay_order
from tracegraph.ingest.what_if.changes.edit import FOR_OTHERS, Edit, assumed, no_edit
from tracegraph.ingest.what_if.changes.launch_calls import calls_left_out
from tracegraph.ingest.what_if.changes.sent_together import Collectives, find_collectives, may_be_awaited
from tracegraph.ingest.what_if.fixes.fix import Candidate, Fix, Scene, asked_for, escaped, made_in
from tracegraph.ingest.what_if.graph.graph import ReplayGraph
from tracegraph.ingest.what_if.graph.shared_cores import as_if_alone
from tracegraph.ingest.what_if.graph.transfers import of_collectives, transferring
from tracegraph.vocabulary.mechanisms import CODE, RESUME

_MOST_FITTED, _APART, _FEWEST, _FEWEST_A_PASS = 1_000, 2, 8, 2
"""Limits for a fit of latency and rate, and for a candidate.

Collectives that are fitted at most; by how many times the largest must be larger than the smallest;
collectives of one name, and on average in a pass, from which on it is a candidate.
"""


@dataclass(frozen=True)
class _Cost:
    """The cost of a transfer: `latency`, and `of_each` for each element, ns."""

    latency: float
    of_each: float

    def of(self, size: Ints | Floats) -> Floats:
        """Compute how long transfers of some sizes take, ns."""
        return self.latency + self.of_each * size.astype(np.float64)


@dataclass(frozen=True)
class _Fitted:
    """The fitted cost of a transfer, and the costs at the ends of the 95 % interval of its rate."""

    usual: _Cost
    low: _Cost
    high: _Cost


def fit_cost(size: Ints, work: Ints) -> _Fitted | None:
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
    middle = float(np.median(work[some])), float(np.median(size[some]))
    slopes = [slope if np.isfinite(slope) else line.slope for slope in (line.low_slope, line.high_slope)]
    ends = [_Cost(max(middle[0] - slope * middle[1], 0.0), max(float(slope), 0.0)) for slope in slopes]
    return _Fitted(_Cost(max(float(line.intercept), 0.0), float(line.slope)), *ends)


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
    return _with_range(graph, found, costs)


def _cost_of(graph: ReplayGraph, every: Collectives, code: int) -> _Fitted | None:
    alike = graph.calls.name.codes[every.event] == code
    return fit_cost(every.size[alike], every.work[alike])


def _with_range(graph: ReplayGraph, found: Collectives, costs: Mapping[int, _Fitted]) -> Edit:
    """Send each group at once at the fitted cost; otherwise at those of its interval.

    Nothing runs beside the one that a group becomes, so what ran beside the others takes as long as alone. At
    the slow end it takes as long as recorded.

    Raises
    ------
    InputError
        If one of a group cannot begin before what waits for another one of it.
    """
    usual, low, high = (
        _at_once(graph, found, {code: getattr(one, name) for code, one in costs.items()})
        for name in ("usual", "low", "high")
    )
    fast = _with_own_cores(graph, found, low)
    return replace(_with_own_cores(graph, found, usual), otherwise=(fast, high))


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
    call = graph.launching[found.last]
    asked = (call >= 0) & ~segments.on_thread[found.last] & ~np.isnan(factor)
    gone = calls_left_out(graph, found.group[asked], call[asked], found.becomes[asked])
    factors = np.where(gone, 0.0, np.where(works, changed, 1.0))
    return replace(edit, factor=factors, added=_awaiting_all(graph, found, ~np.isnan(factor)))


def _awaiting_all(graph: ReplayGraph, found: Collectives, joined: Flags) -> Dependencies:
    """Let what waits for one of a group wait for the one that the group becomes: results come with it."""
    segments, every = graph.segments, graph.dependencies
    becomes = np.full(len(segments), -1, dtype=np.int64)
    earlier = joined & ~found.becomes
    becomes[found.last[earlier]] = found.last[found.whole[earlier]]
    is_joined = np.zeros(len(graph.calls) + 1, dtype=bool)
    is_joined[found.event] = True
    waits = np.flatnonzero((becomes[every.cause] >= 0) & FOR_OTHERS[every.mechanism])
    waits = waits[~is_joined[segments.event[every.effect[waits]]]]
    cause, lag = becomes[every.cause[waits]], np.maximum(every.lag[waits], 0)
    return _added(graph, cause, every.effect[waits], every.mechanism[waits], lag)


def _with_own_cores(graph: ReplayGraph, found: Collectives, edit: Edit) -> Edit:
    """Let the host's work take as long as beside no thread that sends.

    Silences in which one of a group ended are waits for the one that the group becomes, though they ended
    later, when the thread got a core.
    """
    silent, awaited = may_be_awaited(graph, found)
    goes_on = silent + 1 < len(graph.segments)
    goes_on[goes_on] = (graph.segments.lane[silent + 1] == graph.segments.lane[silent])[goes_on]
    silent, awaited = silent[goes_on], awaited[goes_on]
    on_threads = found.event[graph.lanes.is_thread[graph.calls.lane[found.event]]]
    factor = edit.factor * as_if_alone(graph, on_threads)
    factor[silent] = 0.0
    resume = np.full(len(silent), CODE[RESUME])
    waits = _added(graph, found.last[found.whole[awaited]], silent + 1, resume, np.zeros_like(silent))
    return replace(edit, factor=factor, added=join_rows([edit.added, waits]))


def _added(graph: ReplayGraph, cause: Ints, effect: Ints, mechanism: Ints | Terms, lag: Ints) -> Dependencies:
    """Add dependencies, which are an error if they make a circle with those of the run."""
    segments = graph.segments
    added = assumed(segments.start[effect] - segments.completion[cause], cause, effect, mechanism, lag)
    if (segments.start[cause] > segments.start[effect]).any():
        try:
            found = join_rows([graph.dependencies, added])
            replay_order(segments, found.cause, found.effect)
        except InputError as error:
            raise InputError(
                "some of them begin only after something waited for others, so they cannot be sent at once",
                "choose fewer, as with phase= or step=",
            ) from error
    return added


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
        try:
            edit = _with_range(graph, find_collectives(graph, mine), {code: cost})
        except InputError:
            continue
        yield Candidate(
            selector=selector,
            options=asked_for(FIX.name, [selector]),
            change=made_in(graph, edit),
            evidence=f"{count:,} collectives in {passes:,} passes, {short_ns(spent)} of the path; "
            f"each takes {short_ns(round(cost.usual.latency))} before it moves anything",
        )


FIX = Fix(
    name="coalesce",
    title="Send more at once",
    recognised="several collectives of one name in one pass, of several sizes, on the path",
    replayed="they are one, which starts when the last of them did, takes as long as the latency and rate "
    "of the file's own say, and is waited for by whatever waited for one of them; where threads send, what "
    "ran beside them takes as long as the same work alone",
    how="DistributedDataParallel(bucket_cap_mb=25) or more, larger units of FSDP, one flattened tensor",
    refuted_by="less of the transfer that hides behind the backward pass: the first can start only when all "
    "is there",
    assumptions=("a larger collective has the latency and rate of those in the file",),
    find=_find,
    asked="with {} sent at once",
    edit=lambda graph, chosen, settings: coalesce(graph, chosen),
    instead_of=("bucket",),
)
