"""CROSS_THREAD (rule 4): the backward pass runs on autograd's thread while its caller waits."""

import numpy as np

from tracegraph.ingest.array_tables import join_rows, select_rows
from tracegraph.ingest.arrays import Flags, Ints
from tracegraph.ingest.causal.events.events import NONE, Events, is_passive
from tracegraph.ingest.causal.launches.backward_passes import Passes
from tracegraph.ingest.causal.rules.context import Context
from tracegraph.ingest.causal.rules.edges import Edges, Found, Waits, make_edges, on_thread
from tracegraph.ingest.causal.rules.sureness import MOST_SURE
from tracegraph.vocabulary.mechanisms import AUTOGRAD_HAND_OFF, AUTOGRAD_JOIN, CODE

_CONFIDENCE = MOST_SURE
"""The most that any inferred edge gets: the simulator's lags, from which the figures come, are kinder than
real ones (docs/rules.md)."""


def autograd(context: Context, _: Found) -> Found:
    """Find the hand-off where backward work appears on the engine's thread, and the join where it ends.

    The caller is the thread that shares sequence numbers with the engine. Between the two moments it waits
    wherever it runs no operator of its own. If an operator of the caller spans the join, it did not wait.
    """
    events, window_end = context.events, context.window.end
    passes = context.passes
    last_on_lane = np.full(int(events.lane.max(initial=-1)) + 1, NONE, dtype=np.int64)
    np.maximum.at(last_on_lane, events.lane, events.end)
    joins = (passes.end < np.minimum(last_on_lane[passes.caller], window_end)) & ~_busy(events, passes)
    hand_off = _edges(AUTOGRAD_HAND_OFF, passes.caller, passes.engine, passes.begin)
    join = select_rows(_edges(AUTOGRAD_JOIN, passes.engine, passes.caller, passes.end), joins)
    return Found(join_rows([hand_off, join]), _waits(events, passes, joins))


def _edges(mechanism: str, by: Ints, to: Ints, at: Ints) -> Edges:
    """Make edges from lane to lane, each at one moment."""
    ports = on_thread(by, at), on_thread(to, at)
    return make_edges(mechanism, *ports, at, recorded=False, confidence=_CONFIDENCE)


def _busy(events: Events, passes: Passes) -> Flags:
    """Tell whether an operator of the caller is open at the end of each pass."""
    works = events.on_thread & ~is_passive(events)
    busy = np.zeros(len(passes.end), dtype=bool)
    for caller in np.unique(passes.caller).tolist():
        mine = np.flatnonzero(works & (events.lane == caller))
        mine = mine[np.argsort(events.start[mine], kind="stable")]
        latest = np.append(NONE, np.maximum.accumulate(events.end[mine]))
        chosen = passes.caller == caller
        ends = passes.end[chosen]
        busy[chosen] = latest[np.searchsorted(events.start[mine], ends, "left")] > ends
    return busy


def _waits(events: Events, passes: Passes, joins: Flags) -> Waits:
    """Make the waits of callers for the join, and of engines for the hand-off (since their last work)."""
    count = len(passes.begin)
    idle_since = np.empty(count, dtype=np.int64)
    for engine in np.unique(passes.engine).tolist():
        ends = np.append(NONE, np.sort(events.end[events.lane == engine]))
        chosen = passes.engine == engine
        idle_since[chosen] = ends[np.searchsorted(ends, passes.begin[chosen], "right") - 1]
    both = Waits(
        lane=np.concatenate([passes.caller, passes.engine]),
        start=np.concatenate([passes.begin, idle_since]),
        end=np.concatenate([passes.end, passes.begin]),
        event=np.full(2 * count, -1, dtype=np.int64),
        mechanism=np.repeat([CODE[AUTOGRAD_JOIN], CODE[AUTOGRAD_HAND_OFF]], count),
        recorded=np.zeros(2 * count, dtype=bool),
    )
    keep = np.concatenate([joins, np.ones(count, dtype=bool)])
    return select_rows(both, keep)
