"""What holds between the operations of a rank in short: lags, and the work before and after all of them."""

from dataclasses import dataclass

import numpy as np

from tracegraph.ingest.array_tables import join_rows, select_rows
from tracegraph.ingest.arrays import Ints
from tracegraph.ingest.causal.events.window import Window
from tracegraph.ingest.causal.graph.solution import Solution
from tracegraph.ingest.causal.rules.edges import SHORT, Edges, Found, Waits, make_edges, on_thread
from tracegraph.ingest.ranks.short.boundaries import Boundaries, Operations, find_boundaries, find_operations
from tracegraph.ingest.ranks.short.ways import START, find_ways
from tracegraph.vocabulary.mechanisms import CODE, WORK_IN_SHORT


@dataclass(frozen=True)
class _Outer:
    """The work outside all operations, on two lanes: `before` until `until`, `after` since `since`, ns."""

    before: int
    after: int
    until: int
    since: int


def find_lags(solution: Solution, members: Ints, lane: Ints) -> Found:
    """Find what holds between operations that are put on lanes of their own.

    Two more lanes follow these: of what comes before all operations, and after them.

    Parameters
    ----------
    members
        The events that are operations.
    lane
        The lane of each of them.
    """
    operations = find_operations(solution, members)
    ways, inside = find_boundaries(solution, operations)
    first = ways.since[ways.reached & (ways.cause == START)]
    ends_alone = inside < 0 and ways.cause[-1] != START
    before = int(lane.max(initial=-1)) + 1
    outer = _Outer(
        before=before,
        after=before + 1,
        until=int(first.max(initial=solution.window.start)),
        since=int(ways.done[-1]) if ends_alone else solution.window.end,
    )
    edges = [_binding(ways, lane, outer), _further(solution, operations, ways, lane, outer)]
    return Found(join_rows(edges), _waits(solution.window, outer))


def _binding(ways: Boundaries, lane: Ints, outer: _Outer) -> Edges:
    """Make the lag before each operation, and that before what follows the last one."""
    effect_lane = np.append(lane, outer.after)
    effect_time = np.append(ways.since[:-1], outer.since)
    first = ways.cause == START
    found = make_edges(
        WORK_IN_SHORT,
        on_thread(
            np.where(first, outer.before, effect_lane[ways.cause]), np.where(first, effect_time, ways.done)
        ),
        on_thread(effect_lane, effect_time),
        effect_time,
        recorded=ways.recorded,
        confidence=ways.confidence,
    )
    # Nothing need lead to an end of the window at which an operation ends, or that none precedes.
    kept = ways.reached & (effect_time < ways.since[-1])
    return select_rows(found, kept)


def _further(
    solution: Solution, operations: Operations, ways: Boundaries, lane: Ints, outer: _Outer
) -> Edges:
    """Make what else might have held up each operation: lags after ends of others that came sooner.

    They arrive before the operation starts, by 1 ns where both ways take as long.
    """
    asked = np.flatnonzero(operations.first >= 0)
    more = find_ways(solution, operations.owner, operations.ends, operations.first[asked])
    more = select_rows(more, ways.cause[asked[more.effect]] != more.cause)
    effect = asked[more.effect]
    start = ways.since[effect]
    arrival = np.minimum(more.arrival, start - 1)
    first = more.cause == START
    done = np.where(first, np.minimum(arrival, outer.until), np.append(operations.done, 0)[more.cause])
    found = make_edges(
        WORK_IN_SHORT,
        on_thread(np.where(first, outer.before, np.append(lane, 0)[more.cause]), done),
        on_thread(lane[effect], start),
        arrival,
        recorded=more.recorded,
        confidence=more.confidence,
    )
    return select_rows(found, arrival >= done)


def _waits(window: Window, outer: _Outer) -> Waits:
    """Make everything outside the operations a wait, except the work before the first and after the last."""
    count = outer.after + 1
    lane = np.append(np.arange(count), [outer.before, outer.after])
    start, end = np.full(count + 2, window.start), np.full(count + 2, window.end)
    start[outer.before], end[outer.after] = outer.until, outer.since
    end[count], start[count + 1] = outer.until, outer.since
    mechanism = np.append(np.full(count, CODE[WORK_IN_SHORT]), [SHORT, SHORT])
    none = np.full(count + 2, -1, dtype=np.int64)
    every = Waits(lane, start, end, none, mechanism, np.ones(count + 2, dtype=bool))
    return select_rows(every, end > start)
