"""Order inside and around graph launches: one call, many works on one or several streams.

A graph's first work waits for the call; what follows waits for work of the same launch. Between streams
nothing in the file says so: forks and joins are found from what repeats over the launches of one graph.
"""

from dataclasses import replace

import numpy as np

from tracegraph.ingest.array_tables import join_rows, select_rows
from tracegraph.ingest.arrays import Flags, Floats, Ints
from tracegraph.ingest.causal.events.events import NONE, Events
from tracegraph.ingest.causal.events.overlaps import NOISE_NS, only_slightly
from tracegraph.ingest.causal.launches.launches import LONGEST_LAUNCH_NS, REACH_NS, Launches, Streams
from tracegraph.ingest.causal.rules.context import Context
from tracegraph.ingest.causal.rules.edges import Edges, Found, make_edges, on_gpu
from tracegraph.ingest.causal.rules.gpu.graph_forks import Pairs, find_forks, no_pairs
from tracegraph.ingest.causal.rules.gpu.graph_works import Graphs, find_graphs
from tracegraph.ingest.causal.rules.sureness import LEAST_SURE, MOST_SURE, share_for, surer_at_once
from tracegraph.vocabulary.mechanisms import CODE, GRAPH_LAUNCH, GRAPH_ORDER, LAUNCH

_OWN, _ANY = 0.8, 0.1
"""The prior: how likely a graph was launched on a stream that has works of it, and on any other stream. Both
are estimates: in simulations the confidences that follow from them are no higher than the share that is true
(docs/accuracy.md)."""
_LOW = 0.05
"""The quantile of launch latencies that is taken for the usual one. Low, since waits only lengthen it, as in
`launches`."""


def find_surroundings(events: Events, streams: Streams, graphs: Graphs, inside: Flags, known: Edges) -> Pairs:
    """Order between a graph and the works before and after it on other streams than those that ran it.

    A graph is launched on one stream, whatever streams its works have in the file: what is enqueued there
    next waits for its last work on each stream, and its first works for what was enqueued there before. The
    stream shows where the next work starts right after the end of the graph, later than by all other causes;
    where the next work begins earlier, it is another.

    Parameters
    ----------
    graphs
        The graph launches with their works.
    inside
        Which events are works with a cause in their own launch.
    known
        The edges found before, with whose arrivals the starts are compared.

    Returns
    -------
    Pairs
        Cause and effect, with the lag in ns and the confidence (0..1).
    """
    arrival = known.latest_arrival(events)
    called = events.start[graphs.call]
    bounds = _lane_bounds(events, graphs)
    parts = [no_pairs()]
    share = np.zeros((len(streams.queue), len(graphs.call)))
    following = np.full(share.shape, -1, dtype=np.int64)
    for row, lane in enumerate(streams.queue):
        queued = streams.next_queued(lane, called)
        following[row] = np.where((queued >= 0) & ~inside[queued], queued, -1)
        share[row] = _shares(events, graphs, bounds, lane, following[row], arrival)
    best = share.argmax(axis=0)
    for row, lane in enumerate(streams.queue):
        chosen = np.flatnonzero((best == row) & (share[row] >= LEAST_SURE))
        confidence = np.minimum(share[row], MOST_SURE)
        parts.append(_after(events, bounds, lane, chosen, following[row], confidence))
        before = streams.last_queued(lane, called)
        parts.append(_before(events, graphs, lane, chosen, before, confidence, inside))
    return join_rows(parts)


def _lane_bounds(events: Events, graphs: Graphs) -> tuple[Ints, Ints]:
    """Return the last to end of each launch on each of its lanes, and the number of its launch."""
    order = np.lexsort((events.end[graphs.work], events.lane[graphs.work], graphs.launch))
    work, launch = graphs.work[order], graphs.launch[order]
    lane = events.lane[work]
    last = np.append((lane[1:] != lane[:-1]) | (launch[1:] != launch[:-1]), True)[: len(work)]
    return work[last], launch[last]


def _shares(
    events: Events, graphs: Graphs, bounds: tuple[Ints, Ints], lane: int, following: Ints, arrival: Ints
) -> Floats:
    """How likely each launch was made on a lane, from all launches of its graph; 0 where it cannot be."""
    last, launch = bounds
    count = len(graphs.call)
    done = np.full(count, NONE, dtype=np.int64)
    elsewhere = events.lane[last] != lane
    np.maximum.at(done, launch[elsewhere], events.end[last[elsewhere]])
    own = np.zeros(count, dtype=bool)
    own[launch[~elsewhere]] = True
    there = (following >= 0) & (done > NONE)
    there &= events.device[following] == events.device[graphs.work[graphs.first[:-1]]]
    start = events.start[following]
    against = there & (start < done - NOISE_NS)
    decisive = there & ~against & (done > arrival[following])
    at_once = decisive & (start - done <= REACH_NS)
    kinds = int(graphs.kind.max(initial=-1)) + 1
    cases = np.bincount(graphs.kind, at_once, kinds), np.bincount(graphs.kind, against, kinds)
    share = share_for(cases[0][graphs.kind], (cases[0] + cases[1])[graphs.kind], np.where(own, _OWN, _ANY))
    chance = np.minimum(1, REACH_NS / np.maximum(start - arrival[following], 1))
    return np.where(there & ~against, surer_at_once(share, at_once, chance), 0)


def _after(
    events: Events, bounds: tuple[Ints, Ints], lane: int, chosen: Ints, following: Ints, confidence: Floats
) -> Pairs:
    """From the last works of the chosen launches on other lanes to what was enqueued next on `lane`."""
    last, launch = bounds
    keep = np.isin(launch, chosen) & (events.lane[last] != lane)
    cause, effect = last[keep], following[launch[keep]]
    possible = (effect >= 0) & only_slightly(events, cause, effect)
    cause, effect = cause[possible], effect[possible]
    return Pairs(cause, effect, np.zeros(len(cause), dtype=np.int64), confidence[launch[keep]][possible])


def _before(
    events: Events,
    graphs: Graphs,
    lane: int,
    chosen: Ints,
    before: Ints,
    confidence: Floats,
    inside: Flags,
) -> Pairs:
    """From what was enqueued last on `lane` before the chosen launches to their first works elsewhere."""
    keep = np.isin(graphs.launch, chosen) & ~inside[graphs.work] & (events.lane[graphs.work] != lane)
    effect, launch = graphs.work[keep], graphs.launch[keep]
    cause = before[launch]
    possible = (cause >= 0) & only_slightly(events, cause, effect)
    cause, effect = cause[possible], effect[possible]
    return Pairs(cause, effect, np.zeros(len(cause), dtype=np.int64), confidence[launch][possible])


def graph_order(context: Context, found: Found) -> Found:
    """Add the order of graphs to launches and stream order, without the launches that it excludes.

    What runs in a launch after its first work has its cause in the same launch: the work before it on its
    stream, a work on another stream (see `find_forks`), else the last of the launch that ended before it.
    Only what has none of these waits for the call. What is enqueued after a graph on the stream that it was
    launched on waits for all of it (see `find_surroundings`).
    """
    events, known = context.events, found.edges
    graphs = find_graphs(events, context.launches)
    if not len(graphs.work):
        return found
    forks = find_forks(events, graphs)
    inside = _with_cause(events, context.launches, known, graphs, forks)
    last = _last_ended(events, graphs, graphs.work[~inside[graphs.work]])
    inside[last.effect] = True
    is_launch = (known.mechanism == CODE[LAUNCH]) & (known.effect_event >= 0)
    known = select_rows(known, ~(is_launch & inside[known.effect_event]))
    known = _graph_launches(events, graphs, known)
    around = find_surroundings(events, context.streams, graphs, inside, known)
    pairs = join_rows([forks, last, around])
    return Found(join_rows([known, _edges(events, pairs)]), found.waits)


def _edges(events: Events, pairs: Pairs) -> Edges:
    return make_edges(
        GRAPH_ORDER,
        on_gpu(events, pairs.cause, at_end=True),
        on_gpu(events, pairs.effect, at_end=False),
        events.end[pairs.cause] + pairs.lag,
        recorded=False,
        confidence=pairs.confidence,
    )


def _with_cause(events: Events, launches: Launches, known: Edges, graphs: Graphs, forks: Pairs) -> Flags:
    """Which works have a cause in their own launch, on their stream or by a fork or join."""
    inside = np.zeros(len(events), dtype=bool)
    inside[forks.effect] = True
    chosen = np.flatnonzero((known.cause_event >= 0) & (known.effect_event >= 0))
    cause, effect = known.cause_event[chosen], known.effect_event[chosen]
    inside[effect[graphs.among(events)[effect] & (launches.call[cause] == launches.call[effect])]] = True
    return inside


def _last_ended(events: Events, graphs: Graphs, without: Ints) -> Pairs:
    """For works without a cause in their launch: what ended last in it before they started."""
    launch_of = np.full(len(events), -1, dtype=np.int64)
    launch_of[graphs.work] = graphs.launch
    by_end = graphs.work[np.lexsort((events.end[graphs.work], graphs.launch))]
    times, rank = np.unique(np.concatenate([events.end[by_end], events.start[without]]), return_inverse=True)
    stride = len(times) + 1
    keys = launch_of[by_end] * stride + rank[: len(by_end)]
    position = np.searchsorted(keys, launch_of[without] * stride + rank[len(by_end) :], "right") - 1
    cause = by_end[np.maximum(position, 0)]
    found = (position >= 0) & (launch_of[cause] == launch_of[without]) & (cause != without)
    found &= events.end[without] > events.start[without]
    count = int(found.sum())
    return Pairs(cause[found], without[found], np.zeros(count, dtype=np.int64), np.full(count, 0.5))


def _graph_launches(events: Events, graphs: Graphs, known: Edges) -> Edges:
    """`known` with the launches of graphs named as such."""
    chosen = (known.mechanism == CODE[LAUNCH]) & graphs.among(events)[known.effect_event]
    return replace(known, mechanism=np.where(chosen, CODE[GRAPH_LAUNCH], known.mechanism))


def graph_latency(context: Context, found: Found) -> Found:
    """Let launches of graphs arrive as late as these usually do, which is later than a kernel's.

    The usual latency is a low quantile over those for which no other cause arrived after the call ended.
    """
    events, known = context.events, found.edges
    rows = np.flatnonzero(known.mechanism == CODE[GRAPH_LAUNCH])
    effect = known.effect_event[rows]
    call = context.launches.call[effect]
    latency = events.start[effect] - events.end[call]
    others = select_rows(known, known.mechanism != CODE[GRAPH_LAUNCH])
    idle = (latency >= 0) & (others.latest_arrival(events)[effect] < events.end[call])
    if not idle.any():
        return found
    usual = min(LONGEST_LAUNCH_NS, int(np.quantile(latency[idle], _LOW, method="lower")))
    arrival = known.arrival.copy()
    after = latency >= 0
    arrival[rows[after]] = np.minimum(events.end[call] + usual, events.start[effect])[after]
    return Found(replace(known, arrival=arrival), found.waits)
