"""INVOCATION without a row: finds where the call that launched GPU work must have been."""

import numpy as np

from tracegraph.ingest.array_tables import expand_ranges, select_rows
from tracegraph.ingest.arrays import Flags, Ints
from tracegraph.ingest.causal.events.callstack import CallStack
from tracegraph.ingest.causal.events.events import NONE, Events
from tracegraph.ingest.causal.events.lane_times import Keys
from tracegraph.ingest.causal.launches.launches import LONG_LAG_NS, Lags
from tracegraph.ingest.causal.launches.lost_launches import LostLaunches
from tracegraph.ingest.causal.rules.context import Context
from tracegraph.ingest.causal.rules.edges import Edges, Found, make_edges, on_gpu, on_thread
from tracegraph.vocabulary.categories import Role
from tracegraph.vocabulary.mechanisms import LAUNCH

UNSURE_NS = 5_000
"""By how much a launch whose moment is a guess gives way to causes that are known. Chosen by eye: a larger
one would let a known cause win that came clearly before."""
_CONFIDENCE = 0.7
"""The confidence of a launch without a row, whose thread and moment are inferred. An estimate: simulations
have too few of them to tell (benchmarks/results/calibration.md)."""


def lost_calls(context: Context, _: Found) -> Found:
    """Find edges to work without a call from the silent stretch of an operator in which the call was.

    The stretch lies between the calls with the nearest ids, on the thread of one of them. It is the stretch
    from which the work could start when it did, else the longest. Work enqueued before the recording has no
    such call.
    """
    events, lags, lost = context.events, context.lags, context.launches.lost
    if not len(lost.work):
        return Found()
    lost = select_rows(lost, (lost.before >= 0) | _launched_in_time(context, lost))
    begin, until = _bounds(events, lost)
    possible = until > begin
    lost, begin, until = select_rows(lost, possible), begin[possible], until[possible]
    pieces = _Pieces(events, context.stack)
    usual = np.clip(events.start[lost.work] - lags.launch_from_end, begin, until)
    lane, moment = _longest_silence(events, pieces, lost, usual)
    for other in (lost.before, lost.after):
        there = np.where(other >= 0, events.lane[other], -1)
        fits = (lane < 0) | (_idle_before(events, lost.work) & pieces.in_operator(there, usual))
        fits &= there >= 0
        lane, moment = np.where(fits, there, lane), np.where(fits, usual, moment)
    return Found(_edges(events, lost.work, lane, moment, lags))


def _edges(events: Events, work: Ints, lane: Ints, moment: Ints, lags: Lags) -> Edges:
    return make_edges(
        LAUNCH,
        on_thread(lane, moment),
        on_gpu(events, work, at_end=False),
        np.minimum(moment + lags.launch_from_end, events.start[work] - UNSURE_NS),
        recorded=False,
        confidence=_CONFIDENCE,
    )


def _launched_in_time(context: Context, lost: LostLaunches) -> Flags:
    """Tell which work was launched just before it started: after a pause of the GPU, with no call between."""
    events = context.events
    work = np.flatnonzero(events.is_gpu)
    work = work[np.argsort(events.start[work], kind="stable")]
    ended = np.append(context.recording_start, np.maximum.accumulate(events.end[work]))
    start = events.start[lost.work]
    idle_since = ended[np.searchsorted(events.start[work], start, "left")]
    next_call = np.where(lost.after >= 0, events.start[lost.after], start)
    in_time: Flags = (start - idle_since > LONG_LAG_NS) & (start - next_call <= LONG_LAG_NS)
    return in_time


def _bounds(events: Events, lost: LostLaunches) -> tuple[Ints, Ints]:
    """Find from when to when each lost call can have run: between its neighbours, before its work began."""
    first = int(events.start[events.on_thread].min())
    until = events.start[lost.work]
    until = np.where(lost.after >= 0, np.minimum(until, events.start[lost.after]), until)
    begin = np.where(lost.before >= 0, events.end[lost.before], first)
    parallel = (lost.before >= 0) & (begin >= until)
    return np.where(parallel, events.start[lost.before], begin), until


def _idle_before(events: Events, work: Ints) -> Flags:
    """Tell which work starts later than its stream alone would let it."""
    chosen = np.flatnonzero(events.is_gpu)
    chosen = chosen[np.lexsort((events.start[chosen], events.lane[chosen]))]
    lane, end = events.lane[chosen], events.end[chosen]
    before = np.append(NONE, np.where(lane[1:] == lane[:-1], end[:-1], NONE))[: len(chosen)]
    ended = np.full(len(events), NONE, dtype=np.int64)
    ended[chosen] = before
    idle: Flags = (ended[work] == NONE) | (events.start[work] - np.maximum(ended[work], 0) > UNSURE_NS)
    return idle


class _Pieces:
    """The stretches of the threads with one innermost event, by (lane, time)."""

    def __init__(self, events: Events, stack: CallStack) -> None:
        self.lane, self.start, self.end = stack.piece_lane, stack.piece_start, stack.piece_end
        self.operator = np.append(events.of_role(Role.OPERATOR), False)[stack.piece_event]
        self.keys = Keys(int(events.start.min()), int(events.end.max()), int(events.lane.max()) + 1)
        self.begins = self.keys.of(self.lane, self.start)

    def at(self, lane: Ints, time: Ints) -> Ints:
        """Find the piece of each lane that is open just before each time; -1 for none."""
        found = np.searchsorted(self.begins, self.keys.of(np.maximum(lane, 0), time), "left") - 1
        there = (found >= 0) & (lane >= 0)
        there &= (self.lane[found] == lane) & (self.end[found] >= time) if len(self.lane) else False
        return np.where(there, found, -1)

    def in_operator(self, lane: Ints, time: Ints) -> Flags:
        """Tell whether an operator is the innermost event of each lane just before each time."""
        found = self.at(lane, time)
        inside: Flags = np.append(self.operator, False)[found]
        return inside

    def between(self, lane: Ints, begin: Ints, until: Ints) -> tuple[Ints, Ints]:
        """Find first and last + 1 of the pieces that begin from `begin` on and before `until`."""
        low = np.searchsorted(self.begins, self.keys.of(lane, begin), "left")
        high = np.searchsorted(self.begins, self.keys.of(lane, until), "left")
        return low, np.maximum(low, high)


def _longest_silence(events: Events, pieces: _Pieces, lost: LostLaunches, usual: Ints) -> tuple[Ints, Ints]:
    """Find lane and moment of each lost call; lane -1 if no piece began before the work.

    Between two recorded calls the longest pieces are taken, as many as calls are lost there.
    """
    lane, moment = np.full(len(lost.work), -1, dtype=np.int64), usual.copy()
    if not len(lost.work):
        return lane, moment
    pair = (
        np.cumsum(np.append(True, (np.diff(lost.before) != 0) | (np.diff(lost.after) != 0))[: len(lost.work)])
        - 1
    )
    first = np.flatnonzero(np.append(True, np.diff(pair) > 0))
    count = np.bincount(pair)
    group, chosen = _pieces_between(events, pieces, select_rows(lost, first))
    length = (pieces.end - pieces.start)[chosen]
    order = np.lexsort((-length, group))
    group, chosen = group[order], chosen[order]
    rank = np.arange(len(group)) - np.searchsorted(group, group, "left")
    group, chosen = group[rank < count[group]], chosen[rank < count[group]]
    order = np.lexsort((pieces.start[chosen], group))
    group, chosen = group[order], chosen[order]
    number = np.arange(len(pair)) - first[pair]
    size = np.bincount(group, minlength=len(first))
    at = np.searchsorted(group, pair, "left") + np.minimum(number, size[pair] - 1)
    piece = np.append(chosen, -1)[np.where(size[pair] > 0, at, -1)]
    there = (piece >= 0) & (np.append(pieces.start, 0)[piece] < events.start[lost.work])
    piece = np.where(there, piece, 0)
    inside = np.clip(usual, pieces.start[piece], pieces.end[piece])
    return np.where(there, pieces.lane[piece], lane), np.where(there, inside, moment)


def _pieces_between(events: Events, pieces: _Pieces, lost: LostLaunches) -> tuple[Ints, Ints]:
    """Find pieces between two calls, on their threads, in which an operator is innermost.

    Gives pairs: the position in `lost`, and the piece.
    """
    known = lost.before >= 0
    begin = np.where(known, events.end[lost.before], pieces.keys.start)
    until = np.where(lost.after >= 0, events.start[lost.after], pieces.keys.end)
    begin = np.where(known & (begin >= until), events.start[lost.before], begin)
    lanes = [np.where(other >= 0, events.lane[other], -1) for other in (lost.before, lost.after)]
    lanes[1] = np.where(lanes[1] == lanes[0], -1, lanes[1])
    groups, found = [np.empty(0, dtype=np.int64)], [np.empty(0, dtype=np.int64)]
    for lane in lanes:
        group = np.flatnonzero((lane >= 0) & (until > begin))
        low, high = pieces.between(lane[group], begin[group], until[group])
        number, piece = expand_ranges(low, high - low)
        groups.append(group[number])
        found.append(piece)
    group, piece = np.concatenate(groups), np.concatenate(found)
    inside = pieces.operator[piece]
    return group[inside], piece[inside]
