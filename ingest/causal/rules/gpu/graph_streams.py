"""What stands before and after a graph on the stream that it was launched on."""

import numpy as np

from tracegraph.ingest.array_tables import join_rows
from tracegraph.ingest.arrays import Flags, Floats, Ints
from tracegraph.ingest.causal.events.events import NONE, Events
from tracegraph.ingest.causal.events.overlaps import NOISE_NS, only_slightly
from tracegraph.ingest.causal.launches.launches import REACH_NS, Streams
from tracegraph.ingest.causal.rules.coincidence import surer_at_once
from tracegraph.ingest.causal.rules.edges import Edges
from tracegraph.ingest.causal.rules.gpu.graph_forks import Pairs, no_pairs
from tracegraph.ingest.causal.rules.gpu.graph_works import Graphs

_PRIOR_CASES = 2
_OWN, _ANY = 0.8, 0.1
"""How likely a graph was launched on a stream that has works of it, and on any other, before any start."""
_SURE, _LEAST = 0.98, 0.5


def find_surroundings(events: Events, streams: Streams, graphs: Graphs, inside: Flags, known: Edges) -> Pairs:
    """Order between a graph and the works before and after it on other streams than those that ran it.

    A graph is launched on one stream, whatever streams its works have in the file: what is enqueued there
    next waits for its last work on each stream, and its first works for what was enqueued there before. The
    stream shows where the next work starts right after the end of the graph, later than by all other causes;
    where the next work begins earlier, it is another. `inside`: works with a cause in their own launch.
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
        chosen = np.flatnonzero((best == row) & (share[row] >= _LEAST))
        confidence = np.minimum(share[row], _SURE)
        parts.append(_after(events, bounds, lane, chosen, following[row], confidence))
        before = streams.last_queued(lane, called)
        parts.append(_before(events, graphs, lane, chosen, before, confidence, inside))
    return join_rows(parts)


def _lane_bounds(events: Events, graphs: Graphs) -> tuple[Ints, Ints]:
    """The last to end of each launch on each of its lanes, and the number of its launch."""
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
    prior = _PRIOR_CASES * np.where(own, _OWN, _ANY)
    share = (cases[0][graphs.kind] + prior) / ((cases[0] + cases[1])[graphs.kind] + _PRIOR_CASES)
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
