"""What a fix changes in a causal graph besides the time of work: waits, lanes, lags and order."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from tracegraph.ingest.array_tables import join_rows, select_rows
from tracegraph.ingest.arrays import Flags, Floats, Ints, Terms, as_terms
from tracegraph.ingest.causal.events.events import NONE
from tracegraph.ingest.causal.graph.dependencies import Dependencies
from tracegraph.ingest.causal.graph.segments import Segments
from tracegraph.vocabulary.gaps import GAP_CODE, STREAM_QUEUE
from tracegraph.vocabulary.mechanisms import (
    CODE,
    COLLECTIVE,
    MECHANISMS,
    PROGRAM_ORDER,
    QUEUE_FULL,
    STREAM_ORDER,
)

_KEPT = (COLLECTIVE, QUEUE_FULL)
FOR_GPU: Flags = np.array([m.kind == "SYNCHRONIZATION" and m.name not in _KEPT for m in MECHANISMS])
"""By position in `MECHANISMS`: whether a call, a copy or a silent thread waits for the GPU by it."""
FOR_OTHERS: Flags = np.array(
    [m.kind in ("SYNCHRONIZATION", "CROSS_THREAD") and not m.own_wait for m in MECHANISMS]
)
"""By position in `MECHANISMS`: whether it waits for another lane, and would not continue by itself."""
_LAUNCHES: Flags = np.array([m.kind == "INVOCATION" for m in MECHANISMS])
_ORDER = (CODE[PROGRAM_ORDER], CODE[STREAM_ORDER])


@dataclass(frozen=True)
class Edit:
    """What else is different, one entry for each segment, so that edits of one graph can be joined.

    Attributes
    ----------
    factor
        By what its work is multiplied.
    freed
        Its start no longer waits for the GPU, or for another stream.
    unawaited
        No stream waits for its end any more.
    relaunched
        The call that launched it no longer holds it: another one launches it.
    lane
        The assumed thread or stream that runs it instead of its own; 0 for its own.
    queue_lag
        What passes after the work before it on its stream, ns; `NONE` to keep what was recorded.
    added
        Dependencies that hold as well.
    otherwise
        What it would be if something were otherwise that the file leaves open: the range holds these, too.
    """

    factor: Floats
    freed: Flags
    unawaited: Flags
    relaunched: Flags
    lane: Ints
    queue_lag: Ints
    added: Dependencies
    otherwise: tuple["Edit", ...] = ()

    @property
    def is_structural(self) -> bool:
        """Whether more than the time of work is different."""
        lagging = (self.queue_lag != NONE).any()
        return bool(self.freed.any() or lagging or self.reorders)

    @property
    def reorders(self) -> bool:
        """Whether work runs in another order than the recorded one."""
        return bool(self.lane.any() or self.unawaited.any() or self.relaunched.any() or len(self.added))


def no_dependencies() -> Dependencies:
    """Make a table without rows."""
    no, flags = np.empty(0, dtype=np.int64), np.empty(0, dtype=bool)
    return Dependencies(no, no, as_terms(no), flags, np.empty(0), no, no, flags)


def no_edit(count: int) -> Edit:
    """Make an edit that changes nothing, for a graph of `count` segments.

    Its columns take no memory, and nothing can be written to them: most edits have one or two others.
    """
    never = np.broadcast_to(np.False_, count)
    return Edit(
        factor=np.broadcast_to(np.float64(1), count),
        freed=never,
        unawaited=never,
        relaunched=never,
        lane=np.broadcast_to(np.int64(0), count),
        queue_lag=np.broadcast_to(np.int64(NONE), count),
        added=no_dependencies(),
    )


def assumed(gap: Ints, cause: Ints, effect: Ints, mechanism: Ints | Terms, lag: Ints | int) -> Dependencies:
    """Make dependencies that are assumed: they are not recorded, and their confidence is 1.

    `gap`: from the cause's completion to the effect's start as recorded, ns.
    """
    count = len(cause)
    sure = np.ones(count, dtype=bool)
    return Dependencies(
        cause=cause,
        effect=effect,
        mechanism=as_terms(mechanism),
        recorded=~sure,
        confidence=sure.astype(float),
        gap=gap,
        lag=np.broadcast_to(np.asarray(lag, dtype=np.int64), count).copy(),
        binding=~sure,
    )


def join_edits(edits: Sequence[Edit]) -> Edit:
    """Join edits: of two lanes for one segment the later edit's counts, of two lags the shorter one."""
    others = [
        _joined([*edits[:place], other, *edits[place + 1 :]])
        for place, one in enumerate(edits)
        for other in one.otherwise
    ]
    return replace(_joined(edits), otherwise=tuple(others))


def _joined(edits: Sequence[Edit]) -> Edit:
    whole = edits[0]
    for one in edits[1:]:
        both = (whole.queue_lag != NONE) & (one.queue_lag != NONE)
        shorter = np.minimum(whole.queue_lag, one.queue_lag)
        either = np.maximum(whole.queue_lag, one.queue_lag)
        whole = Edit(
            factor=whole.factor * one.factor,
            freed=whole.freed | one.freed,
            unawaited=whole.unawaited | one.unawaited,
            relaunched=whole.relaunched | one.relaunched,
            lane=np.where(one.lane != 0, one.lane, whole.lane),
            queue_lag=np.where(both, shorter, either),
            added=join_rows([whole.added, one.added]),
        )
    return whole


def inside_span(edit: Edit, inside: Flags) -> Edit:
    """Keep the part of an edit that is about the segments `inside`."""
    if inside.all():
        return edit
    both = inside[edit.added.cause] & inside[edit.added.effect]
    return Edit(
        factor=np.where(inside, edit.factor, 1.0),
        freed=edit.freed & inside,
        unawaited=edit.unawaited & inside,
        relaunched=edit.relaunched & inside,
        lane=np.where(inside, edit.lane, 0),
        queue_lag=np.where(inside, edit.queue_lag, NONE),
        added=select_rows(edit.added, both),
    )


@dataclass(frozen=True)
class Left:
    """What a change leaves of a graph's dependencies: which are kept, their lags (ns), and what is added."""

    kept: Flags
    lag: Ints
    added: Dependencies = field(default_factory=no_dependencies)


def apply_edit(edit: Edit, segments: Segments, found: Dependencies, gap_name: Terms, left: Left) -> Left:
    """Find the dependencies as an edit leaves them, of those that are `left` without it.

    Segments on an assumed lane run one after the other there; those that stay on the old lane continue
    without them.
    """
    kept, lag, added = left.kept.copy(), left.lag, [left.added, edit.added]
    waits = np.flatnonzero(FOR_GPU.take(found.mechanism))
    between = edit.unawaited[found.cause[waits]] & ~segments.on_thread[found.effect[waits]]
    kept[waits[edit.freed[found.effect[waits]] | between]] = False
    if edit.relaunched.any():
        launches = np.flatnonzero(_LAUNCHES.take(found.mechanism))
        kept[launches[edit.relaunched[found.effect[launches]]]] = False
    follows = np.flatnonzero(found.mechanism == CODE[STREAM_ORDER])
    if edit.lane.any():
        apart = edit.lane[found.cause] != edit.lane[found.effect]
        apart &= segments.lane[found.cause] == segments.lane[found.effect]
        kept &= ~(apart & np.isin(found.mechanism, _ORDER))
        in_order = lag[follows[left.kept[follows]]]
        usual = int(np.median(in_order)) if len(in_order) else 0
        added.insert(1, _side_by_side(segments, edit.lane, usual))
    queue_lag = edit.queue_lag[found.effect[follows]]
    # A lag that is longer than a queue's has another reason, which stays: others' turns, or lost work.
    in_queue = (gap_name[follows] == GAP_CODE[STREAM_QUEUE]) & (queue_lag != NONE)
    if in_queue.any():
        lag = lag.copy()
        lag[follows[in_queue]] = queue_lag[in_queue]
    return Left(kept, lag, join_rows(added))


def _side_by_side(segments: Segments, lane: Ints, stream_lag: int) -> Dependencies:
    """Put the segments in order on each lane that gives some away, and on each assumed lane.

    `stream_lag`: what passes between two works of a stream, ns.
    """
    touched = np.zeros(int(segments.lane.max(initial=-1)) + 1, dtype=bool)
    touched[segments.lane[lane != 0]] = True
    mine = np.flatnonzero(touched[segments.lane] & (segments.on_thread | (segments.event >= 0)))
    order = mine[np.lexsort((mine, lane[mine], segments.lane[mine]))]
    before, after = order[:-1], order[1:]
    follows = (segments.lane[before] == segments.lane[after]) & (lane[before] == lane[after])
    follows &= before + 1 != after
    before, after = before[follows], after[follows]
    on_thread = segments.on_thread[after]
    return assumed(
        segments.start[after] - segments.completion[before],
        before,
        after,
        np.where(on_thread, CODE[PROGRAM_ORDER], CODE[STREAM_ORDER]),
        np.where(on_thread, 0, stream_lag),
    )
