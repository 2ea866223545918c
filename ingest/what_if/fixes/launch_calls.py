"""What the host does no more where several launches become one."""

import numpy as np

from tracegraph.ingest.arrays import Flags, Ints
from tracegraph.ingest.what_if.changes.threads import launched, with_reasons
from tracegraph.ingest.what_if.fixes.holders import climb_operators, inside_events
from tracegraph.ingest.what_if.graph.graph import ReplayGraph


def calls_left_out(graph: ReplayGraph, group: Ints, call: Ints, kept: Flags) -> Flags:
    """Return the host segments of calls that are launched no more, with the operators that do nothing else.

    `group`, `call`: of each launch that becomes a part of another one, or that one: which they are, and the
    segment that launches it. `kept`: whether it is that one.
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
