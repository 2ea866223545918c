"""GPU rows with impossible times: past a wait for them, over later work of their stream, or far off."""

from dataclasses import dataclass

import numpy as np

from tracegraph.ingest.arrays import Flags, Ints, Texts
from tracegraph.ingest.causal.clock.proven_waits import Proven, proven_waits
from tracegraph.ingest.causal.events.events import Events, is_call_named
from tracegraph.ingest.causal.events.overlaps import NOISE_NS
from tracegraph.ingest.causal.launches.launches import Launches, Streams
from tracegraph.vocabulary.kernel_types import COMMUNICATION, COMPUTATION, kernel_type

_MANY = 3
"""How many later works of its stream a row must hold whole for its end to be impossible; also the fewest rows
from which a file or stream is judged at all. Chosen by eye: a row that a tool merged from another stream
often holds one or two works, and two rows do not show what a stream usually does."""
_OUT_OF_ORDER, _OVERLAPPING, _MOST_OVERRUNNING = 0.02, 0.1, 0.6
"""A stream runs in order if at most the first share of its other rows hold their successor, and at most the
second overlap it by half of the shorter row. If more than the third share of its rows overrun, the stream is
of another kind than these rules know. Chosen by eye: larger first shares would cut rows of merged streams,
whose works overlap all the time, smaller ones spare damaged rows for a few kernels that start early. Over
half of a stream may be damaged, since the rows that are left still show its order."""
_OUTLIER = 3
"""A row is an outlier if it lasts this many times as long as every other row of its name that holds nothing.
Chosen by eye: kernels of one name differ by the shapes that they work on."""
_CLOCK_NS, _DRIFT, _LEAST_PART = 100_000, 300e-6, 0.1
"""By how much clocks may differ, and drift apart (ns per ns); a row late by less than the last share of its
length may be right. The drift is the largest that is searched (`clock`); the others were chosen by eye:
larger ones would leave more rows that cannot be, smaller ones cut rows of clocks that are only off."""
_FAR_NS, _FEW = 1_000_000_000, 0.4
"""Work is misplaced if it lies at least `_FAR_NS` off; if more than the share `_FEW` of the launched work is,
the file is of another kind and stays as it is. Both were chosen by eye: clocks of one machine differ by far
less than a second; and less than half may be, since the median lag must be that of work that lies right."""
_LATEST = np.iinfo(np.int64).max
"""Stands for a bound that does not exist."""


@dataclass(frozen=True)
class Ends:
    """Rows, and when each ends at the latest, ns."""

    row: Ints
    end: Ints

    def earliest(self, other: "Ends") -> "Ends":
        """Join the rows of both, each with the earlier end."""
        row, place = np.unique(np.concatenate([self.row, other.row]), return_inverse=True)
        end = np.full(len(row), _LATEST)
        np.minimum.at(end, place, np.concatenate([self.end, other.end]))
        return Ends(row, end)


def no_ends() -> Ends:
    """Make a table without rows."""
    return Ends(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))


def _join(parts: list[Ends]) -> Ends:
    joined = no_ends()
    for part in parts:
        joined = joined.earliest(part)
    return joined


def find_misplaced(events: Events, launches: Launches) -> Flags:
    """Find GPU work that begins seconds before its own call, or seconds after all that threads recorded.

    Clocks do not explain that: other work of the file lies where its calls are. Queues do not, either: work
    that a stream held back starts after other work of its stream, and before its thread's recording ends.
    """
    found = np.zeros(len(events), dtype=bool)
    work = np.flatnonzero(launches.call >= 0)
    threads = np.flatnonzero(events.on_thread)
    if len(work) < _MANY or not len(threads):
        return found
    lag = events.start[work] - events.start[launches.call[work]]
    usual = int(np.median(lag))
    begin, end = int(events.start[threads].min()), int(events.end[threads].max())
    far = max(_FAR_NS, end - begin)
    early = (lag < min(usual, 0) - _FAR_NS) & (lag < 0)
    late = events.start[work] > end + far
    # A stream that goes on after the threads' recording is not a row gone astray.
    near = work[~early & ~late]
    late &= events.start[work] > int(events.end[near].max(initial=end)) + far
    # An id that several calls carry may name the wrong one.
    alone = (early & ~_ambiguous(events)[work]) | late
    if not alone.any() or alone.mean() > _FEW:
        return found
    found[work[alone]] = True
    return found


def _ambiguous(events: Events) -> Flags:
    """Tell which rows have an id, as written, that several calls carry."""
    calls = events.written_correlation[events.on_thread & (events.written_correlation > 0)]
    ids, count = np.unique(calls, return_counts=True)
    found: Flags = np.isin(events.written_correlation, ids[count > 1])
    return found


def find_overrunning(events: Events, launches: Launches, streams: Streams, process: Ints) -> Ends:
    """Find rows that hold several later works of their stream whole, though it runs in order otherwise.

    Left alone are works of graphs, which have branches; streams on which several processes launch; and rows
    that may be of another stream which a tool merged with this one: copies, communication that holds nothing
    of its kind or is not longer than others of its name, and names of which all rows are such and none
    reaches into another.

    Parameters
    ----------
    streams
        The works of each stream in the order in which they run.
    process
        The process of each lane, by number.
    """
    in_graph = np.append(is_call_named(events, "GraphLaunch"), False)[launches.call]
    parts = []
    for members in streams.by_lane.values():
        work = members[~in_graph[members] & (events.end[members] > events.start[members])]
        if _is_of_one(events, launches, process, work):
            parts.append(_overrunning(events, work))
    return _join(parts)


def _is_of_one(events: Events, launches: Launches, process: Ints, work: Ints) -> bool:
    """Tell whether one process launched all work of a stream: that of several is several streams."""
    called = launches.call[work]
    return len(np.unique(process[events.lane[called[called >= 0]]])) <= 1


def _overrunning(events: Events, work: Ints) -> Ends:
    """Find such rows among the works of one stream, which are sorted by their start."""
    start, end = events.start[work], events.end[work]
    later = np.append(start, np.full(_MANY, _LATEST))[_MANY:]
    suspect = end > later
    if not suspect.any():
        return no_ends()
    clean = ~suspect
    # The last ones hold too few others to be suspects, however long they last.
    told = clean & (np.arange(len(work)) < len(work) - _MANY)
    if suspect.mean() > _MOST_OVERRUNNING or not _in_order(start[told], end[told]):
        return no_ends()
    kinds = _kinds(events, work)
    chosen = np.zeros(len(work), dtype=bool)
    for kind in (COMPUTATION, COMMUNICATION):
        alike = kinds == kind
        counted = clean & alike
        done = np.sort(end[counted])
        holds = np.searchsorted(done, end, "right") - np.searchsorted(start[counted], start, "right")
        chosen |= suspect & alike & (holds >= _MANY)
    chosen &= _shown(events, work, chosen, told, kinds == COMMUNICATION)
    row = np.flatnonzero(chosen)
    following = np.searchsorted(start, start[row], "right")
    return Ends(work[row], np.append(start, _LATEST)[following])


def _in_order(start: Ints, end: Ints) -> bool:
    """Tell whether works run one after the other, but for a few and for early starts beside the last one."""
    if len(start) < _MANY:
        return False
    overlap = end[:-1] - start[1:]
    shorter = np.minimum(end[:-1] - start[:-1], end[1:] - start[1:])
    held = (overlap > NOISE_NS) & (end[1:] < end[:-1])
    deep = (overlap > NOISE_NS) & (2 * overlap > shorter)
    return bool(held.mean() <= _OUT_OF_ORDER and deep.mean() <= _OVERLAPPING)


def _shown(events: Events, work: Ints, chosen: Flags, clean: Flags, communicates: Flags) -> Flags:
    """Tell which of the chosen rows cannot be a stream of their own that a tool merged with this one.

    These are rows longer than others of their name, and rows that reach over another chosen row. One or two
    that are neither are not a stream, either. Communication must be longer than others.
    """
    start, length, name = events.start[work], events.end[work] - events.start[work], events.name.codes[work]
    longest = np.zeros(len(events.name.values) + 1, dtype=np.int64)
    np.maximum.at(longest, name[clean], length[clean])
    outlier = (longest[name] > 0) & (length > _OUTLIER * longest[name])
    rows = np.flatnonzero(chosen)
    following = np.append(start[rows], _LATEST)[1:]
    over = np.zeros(len(work), dtype=bool)
    over[rows] = events.end[work[rows]] > following
    over[rows[1:]] |= over[rows[:-1]]
    alike = bool((chosen & ~outlier & ~over).sum() >= _MANY)
    shown: Flags = outlier | (~communicates & (over | (not alike)))
    return shown


def _kinds(events: Events, work: Ints) -> Texts:
    """Find the type of each work, once for each distinct pair of name and category."""
    pair = (
        events.name.codes[work].astype(np.int64) * len(events.category.values) + events.category.codes[work]
    )
    distinct, place = np.unique(pair, return_inverse=True)
    width = len(events.category.values)
    types = [
        kernel_type(str(events.name.values[one // width]), str(events.category.values[one % width]))
        for one in distinct.tolist()
    ]
    return np.array(types, dtype=object)[place]


def find_outlasting(events: Events, launches: Launches, streams: Streams, process: Ints) -> Ends:
    """Find rows that end after the return of a call that waited for them, by more than clocks can differ.

    The shortest launch since the wait before bounds how late the GPU's clock can be.

    Parameters
    ----------
    process
        The process of each lane, by number: streams that several processes use are left alone.
    """
    waits = proven_waits(events, launches, streams, process)
    parts = [
        _outlasting(events, launches, streams.queue[lane], waits.of_lane(events, lane))
        for lane in np.unique(events.lane[waits.work]).tolist()
        if _is_of_one(events, launches, process, streams.queue[lane])
    ]
    return _join(parts)


def _outlasting(events: Events, launches: Launches, queue: Ints, waits: Proven) -> Ends:
    """Find such rows among the works of one stream, which are in the order of its queue."""
    place = np.full(len(events), -1, dtype=np.int64)
    place[queue] = np.arange(len(queue))
    until = np.unique(place[waits.work])
    since = np.append(0, until[:-1] + 1)
    # The earliest return of a wait for each work or a later one, and the wait to whose works it belongs.
    returned = np.full(len(queue) + 1, _LATEST)
    np.minimum.at(returned, place[waits.work], events.end[waits.call])
    bound = np.minimum.accumulate(returned[::-1])[::-1][:-1]
    group = np.searchsorted(until, np.arange(len(queue)))
    call = launches.call[queue]
    told = (call >= 0) & (group < len(until))
    lag = np.where(call >= 0, events.start[queue] - events.start[call], _LATEST)
    shortest = np.append(np.minimum.reduceat(lag, since), _LATEST)[np.minimum(group, len(until))]
    span = np.where(told, bound - events.start[np.maximum(call, 0)], 0)
    excess = events.end[queue] - bound - np.maximum(shortest, 0) * (shortest < _LATEST)
    length = events.end[queue] - events.start[queue]
    late = told & (bound < _LATEST) & (shortest < _LATEST)
    late &= (excess > _CLOCK_NS + _DRIFT * np.abs(span)) & (excess > _LEAST_PART * length)
    # Another thread's call that was under way may have enqueued its work after the wait began.
    mine = queue[until[np.minimum(group, len(until) - 1)]]
    begun = events.start[launches.call[mine]]
    late &= (events.end[call] <= begun) | (events.lane[call] == events.lane[launches.call[mine]])
    row = np.flatnonzero(late)
    by_start = np.sort(events.start[queue])
    following = np.append(by_start, _LATEST)[np.searchsorted(by_start, events.start[queue[row]], "right")]
    in_graph = np.append(is_call_named(events, "GraphLaunch"), False)[call[row]]
    following = np.where(in_graph, _LATEST, following)
    ends = np.minimum(following, np.maximum(bound[row], events.start[queue[row]]))
    return Ends(queue[row], ends)
