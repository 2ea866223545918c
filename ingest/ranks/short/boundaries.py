"""What each operation of a rank waits for on its own rank: the end of an operation before it, and a lag."""

from dataclasses import dataclass

import numpy as np

from tracegraph.ingest.arrays import Flags, Floats, Ints
from tracegraph.ingest.causal.events.lane_times import Keys
from tracegraph.ingest.causal.graph.segments import WORK
from tracegraph.ingest.causal.graph.solution import Solution
from tracegraph.ingest.ranks.short.ways import START


@dataclass(frozen=True)
class Boundaries:
    """Where the ways back from the starts of operations, and from the window's end, come to an end.

    One entry for each way: first those of the operations, then that of the window's end.

    Attributes
    ----------
    cause
        The operation whose end it comes from, by position; -1 for the window's start.
    done
        When that operation is complete, ns; the window's start where there is none.
    since
        When the way ends: the start of the operation, or the window's end, ns.
    reached
        Whether a way was found; else the operation lies outside the window.
    recorded
        Whether the file states all dependencies of the way.
    confidence
        That of the least sure of them, 0..1.
    """

    cause: Ints
    done: Ints
    since: Ints
    reached: Flags
    recorded: Flags
    confidence: Floats


@dataclass(frozen=True)
class Operations:
    """Operations and their segments.

    Attributes
    ----------
    owner
        The operation in which each segment lies, by position, -1 for none.
    ends
        Whether an operation is complete with it.
    first
        The segment with which each operation begins, -1 for one outside the window.
    done
        When each operation is complete, ns; the window's start for one that does no work in the window.
    """

    owner: Ints
    ends: Flags
    first: Ints
    done: Ints


def find_operations(solution: Solution, members: Ints) -> Operations:
    """Find the segments of events that are operations, which do not overlap on their lanes."""
    owner = _owners(solution, members)
    done = _completion(solution, owner, len(members))
    ends = (owner >= 0) & (solution.segments.completion == np.append(done, 0)[owner])
    return Operations(owner, ends, _first_segments(owner, len(members)), done)


def find_boundaries(solution: Solution, operations: Operations) -> tuple[Boundaries, int]:
    """Walk back over the binding causes to where another operation ends, or to the window's start.

    Returns
    -------
    boundaries, sink
        The ways, and the operation in which the window ends, -1 for none.
    """
    segments, window = solution.segments, solution.window
    owner, first, ends = operations.owner, operations.first, operations.ends
    edge = solution.binding.edge
    bound = edge >= 0
    cause = np.where(bound, np.append(solution.dependencies.cause, 0)[edge], np.arange(len(segments)))
    recorded = ~bound | np.append(solution.dependencies.recorded, True)[edge]
    confidence = np.where(bound, np.append(solution.dependencies.confidence, 1.0)[edge], 1.0)
    to, sure, least = _walked(cause, recorded, confidence, ends)
    found = first >= 0
    start = np.where(found, first, 0)
    # The way from an operation begins with its own cause: it does not end at the operation itself.
    target = to[cause[start]]
    inside = int(owner[solution.sink])
    last = to[solution.sink]
    target = np.append(target, last)
    own = np.append(owner[target[:-1]], owner[last])
    from_end = ends[target]
    return Boundaries(
        cause=np.where(from_end, own, START),
        done=np.where(from_end, segments.completion[target], window.start),
        since=np.append(segments.start[start], window.end),
        reached=np.append(found, True),
        recorded=np.append(recorded[start] & sure[cause[start]], sure[solution.sink]),
        confidence=np.append(np.minimum(confidence[start], least[cause[start]]), least[solution.sink]),
    ), inside


def _owners(solution: Solution, members: Ints) -> Ints:
    """Find the operation in which each segment lies, -1 for none."""
    events, segments = solution.events, solution.segments
    position = np.full(len(events) + 1, -1, dtype=np.int64)
    position[members] = np.arange(len(members))
    owner: Ints = position[segments.event]
    threads = np.flatnonzero(segments.on_thread)
    if not len(threads):
        return owner
    keys = Keys(solution.window.start, solution.window.end, len(solution.lanes.frame))
    begins = keys.of(segments.lane[threads], segments.start[threads])
    for place in np.flatnonzero(events.on_thread[members]).tolist():
        lane, bounds = events.lane[members[place]], (events.start[members[place]], events.end[members[place]])
        times = np.clip(np.array(bounds), keys.start, keys.end)
        low, high = np.searchsorted(begins, keys.of(np.full(2, lane), times))
        owner[threads[low:high]] = place
    return owner


def _first_segments(owner: Ints, count: int) -> Ints:
    """Find the segment with which each operation begins, -1 for one outside the window."""
    first = np.full(count, -1, dtype=np.int64)
    inside = np.flatnonzero(owner >= 0)[::-1]
    first[owner[inside]] = inside
    return first


def _completion(solution: Solution, owner: Ints, count: int) -> Ints:
    """Find when each operation is complete, ns; the window's start for one without work in it."""
    segments = solution.segments
    done = np.full(count, solution.window.start, dtype=np.int64)
    working = (owner >= 0) & (segments.kind == WORK)
    np.maximum.at(done, owner[working], segments.completion[working])
    return done


def _walked(cause: Ints, recorded: Flags, confidence: Floats, ends: Flags) -> tuple[Ints, Flags, Floats]:
    """Follow the causes of all segments to the first that ends an operation, or has no cause.

    Each round doubles the length of the ways, so that twenty do for a million segments.

    Returns
    -------
    to, recorded, confidence
        Where each way ends, whether all dependencies on it are recorded, and the least of their confidences.
    """
    to = np.where(ends, np.arange(len(cause)), cause)
    sure, least = ends | recorded, np.where(ends, 1.0, confidence)
    while True:
        further = to[to]
        if np.array_equal(further, to):
            return to, sure, least
        sure, least = sure & sure[to], np.minimum(least, least[to])
        to = further
