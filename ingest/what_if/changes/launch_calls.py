"""What the host no longer does if several launches become one."""

import numpy as np

from tracegraph.ingest.arrays import Flags, Ints
from tracegraph.ingest.what_if.changes.threads import launched, with_reasons
from tracegraph.ingest.what_if.graph.enclosing_operators import climb_operators, inside_events
from tracegraph.ingest.what_if.graph.graph import ReplayGraph


def calls_left_out(graph: ReplayGraph, group: Ints, call: Ints, kept: Flags) -> Flags:
    """Flag the host segments of calls that are no longer made, with operators that do nothing else.

    Parameters
    ----------
    group, call
        For each launch that is joined with others: the group that becomes one, and the segment that launches
        it.
    kept
        Whether it is the launch that remains.
    """
    segments, calls = graph.segments, graph.calls
    event = segments.event[call]
    outermost = climb_operators(graph, event)[1]
    every = climb_operators(graph, segments.event[launched(graph, by_graphs=False)[0]])[1]
    total = np.bincount(every[every >= 0], minlength=len(calls))
    keys = group * len(calls) + outermost
    _, place, counts = np.unique(keys, return_inverse=True, return_counts=True)
    whole = (outermost >= 0) & (counts[place] == total[outermost])
    gone = whole & ~np.isin(outermost, np.unique(outermost[kept])) & ~kept
    removed = np.zeros(len(calls), dtype=bool)
    removed[np.where(gone, outermost, event)[~kept]] = True
    inside = inside_events(graph, removed)[segments.event]
    return segments.on_thread & (segments.event >= 0) & inside & with_reasons(segments)
