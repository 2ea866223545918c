"""Lowers the confidence of dependencies that rest on what a file cannot tell to at most .5."""

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from tracegraph.ingest.arrays import Flags, Terms
from tracegraph.ingest.causal.events.events import NONE, Events, is_annotation, is_call_named
from tracegraph.ingest.causal.graph.dependencies import Dependencies
from tracegraph.ingest.causal.graph.segments import WORK, Segments
from tracegraph.ingest.causal.launches.doubts import Doubts
from tracegraph.vocabulary.gaps import BUSY_GPU, GAP_CODE, LOST_WORK, UNKNOWN

_MOST = 0.5
"""The highest confidence of what rests on something that the file lacks: it may as well be wrong."""
_OPEN = [GAP_CODE[UNKNOWN], GAP_CODE[BUSY_GPU]]
"""Names of gaps that no rule explains."""


def lower_confidence(
    doubts: Iterable[Doubts], events: Events, segments: Segments, dependencies: Dependencies
) -> Dependencies:
    """Lower the confidence of dependencies that rest on what a file cannot tell to at most .5.

    These are: dependencies that lead into, within, over or out of a hole; those from and to work on a stream
    of several processes, and from and to any GPU work if nothing joins it with its calls; and in such files,
    those behind a call that waits.
    """
    doubtful = np.zeros(len(dependencies), dtype=bool)
    for one in doubts:
        doubtful |= _doubtful(one, events, segments, dependencies)
    return _lowered(dependencies, doubtful)


def lower_behind_lost(
    events: Events, segments: Segments, dependencies: Dependencies, gap_name: Terms
) -> Dependencies:
    """Lower the confidence to at most .5 where a start follows an end of work that nothing shows.

    These are starts behind work that has no rows, on the GPU or in a call that waited for it; behind a row
    whose end was put earlier, since it can have ended before that, too; and in a file with such rows, behind
    a gap that no rule explains, since the end of one of these rows may explain it.

    Parameters
    ----------
    gap_name
        The name of each dependency's lag, as a position in `GAP_NAMES`.
    """
    lost = GAP_CODE[LOST_WORK]
    cause = dependencies.cause
    behind = dependencies.binding & (gap_name == lost)
    behind |= (segments.kind[cause] != WORK) & (segments.gap_name[cause] == lost)
    put_earlier = np.append(events.clipped > 0, False)[segments.event[cause]]
    if put_earlier.any():
        behind |= dependencies.binding & np.isin(gap_name, _OPEN)
    behind |= put_earlier & (segments.end[cause] == np.append(events.end, NONE)[segments.event[cause]])
    return _lowered(dependencies, behind)


def _lowered(dependencies: Dependencies, doubtful: Flags) -> Dependencies:
    if not doubtful.any():
        return dependencies
    lowered = np.minimum(dependencies.confidence, _MOST)
    return replace(dependencies, confidence=np.where(doubtful, lowered, dependencies.confidence))


def _doubtful(doubts: Doubts, events: Events, segments: Segments, dependencies: Dependencies) -> Flags:
    """Tell which dependencies rest on what the file of these doubts cannot tell."""
    cause, effect, mine = dependencies.cause, dependencies.effect, doubts.lanes[segments.lane]
    found = np.zeros(len(dependencies), dtype=bool)
    active = np.append(~is_annotation(events), False)[segments.event] & mine
    for since, until in zip(*(moments.tolist() for moments in doubts.holes), strict=True):
        found |= (segments.start[cause] < until) & (segments.end[effect] > since)
        found |= _beside(segments, active, since, until)[effect]
    found &= mine[effect]
    gpu = ~segments.on_thread & (doubts.shared[segments.lane] | (doubts.unjoined & mine))
    found |= gpu[cause] | gpu[effect]
    if gpu.any():
        # Which work a call waited for cannot be told in such a file, either.
        waits = np.append(is_call_named(events, "Synchronize", "Memcpy"), False)[segments.event]
        found |= waits[cause] & segments.on_thread[cause] & mine[cause]
    return found


def _beside(segments: Segments, active: Flags, since: int, until: int) -> Flags:
    """Find segments of the silence around a hole on each lane, and the first work after it.

    Rows that reach into the hole were lost with it. `active`: segments of more than an annotation.
    """
    count = int(segments.lane.max(initial=-1)) + 1
    last = np.full(count, NONE, dtype=np.int64)
    first = np.full(count, np.iinfo(np.int64).max)
    before, after = active & (segments.end <= since), active & (segments.start >= until)
    np.maximum.at(last, segments.lane[before], segments.end[before])
    np.minimum.at(first, segments.lane[after], segments.start[after])
    beside: Flags = (segments.end > last[segments.lane]) & (segments.start <= first[segments.lane])
    return beside
