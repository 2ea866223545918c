"""SYNCHRONIZATION GPU to CPU without a row: a thread records nothing until GPU work ends."""

import numpy as np
import pandas as pd

from tracegraph.ingest.array_tables import expand_ranges
from tracegraph.ingest.arrays import Flags, Floats, Ints
from tracegraph.ingest.causal.events.events import NONE, is_passive
from tracegraph.ingest.causal.rules.context import Context
from tracegraph.ingest.causal.rules.edges import Found, inferred_waits, make_edges, on_gpu, on_thread
from tracegraph.ingest.causal.rules.repetition import COLUMNS, REACH_NS, explained, reach
from tracegraph.ingest.causal.rules.silent_stretches import find_opaque, find_silences
from tracegraph.ingest.intervals import Spans, covered, ungrouped, without_overlaps
from tracegraph.vocabulary.categories import Role
from tracegraph.vocabulary.mechanisms import SILENT_SYNCHRONIZE

_LEAST_SILENCES, _LEAST_BESIDE_WORK, _LEAST_OPEN, _LEAST_CALLS = 3, 2, 2, 1
"""How many stretches of a kind must end alike: silences, silences while the GPU worked, calls and operators,
and calls that launch nothing, which have little else to do than to wait. Chosen by eye, the fewer the less
else such a stretch can be; chance (`repetition`) is tested besides."""
_SURE, _LEAST = 0.95, 0.6
"""For a wait in which the recording begins: the confidence before the share of chance is taken off, and the
least with which it is believed. Estimates: the same as for stretches that repeat (`repetition`,
`wake_ups`)."""
_BUSY, _CLOSE, _VERY_CLOSE = 0.8, 0.1, 0.01
"""The GPU works throughout a stretch if it does for the share `_BUSY`; a lag is close if it is at most the
second share of a call that launches nothing, or the third of a silence. Chosen by eye: a GPU that works
through a wait still pauses between kernels; a call ends a little after the work for its own return, while a
silence with nothing to do ends at once."""
_PAUSE_NS = 10_000
"""How long a stream must pause after work without a launch, so that this work may have ended a stretch.
Chosen by eye: works that stand in a queue follow each other within 5 µs (`LONGEST_STREAM_GAP_NS`), and twice
that is a pause."""


def silent_waits(context: Context, found: Found) -> Found:
    """Find edges from GPU work into stretches of threads that end just after it.

    A stretch of at least 100 µs in which a thread runs nothing but an annotation or a Python frame may be a
    wait for a GPU event that has no row. So may the own time of a call or an operator of any name: runtimes
    have waits of all names, operators wait in libraries that are not recorded, and threads spin on what
    kernels write. Work that was enqueued before the stretch may have ended it if the work ended at most
    100 µs before its end or 60 µs after it (2 % of a long stretch). That is the last work of a stream, or any
    work, since the event may have been recorded in between.

    One such end proves nothing. So stretches of one kind count together, and must end alike far more often
    than by chance (see `repetition`): annotations, frames and silence of one thread and one order of
    magnitude three times, or twice if the GPU worked throughout and the lag is at most 1 % of the stretch;
    calls and operators of one name twice, while the GPU worked throughout. A call into the runtime that
    launches nothing has little else to do, so that one is enough if its end is so near as chance would hardly
    put it. If the recording begins in the middle of a wait, there is only one end, of work from before the
    recording, and it is enough.
    """
    if not context.lanes.is_thread.any():
        return Found()
    silences, opaque = find_silences(context), find_opaque(context, found.waits)
    running = _running(context)
    ends = [_beside_work(context, running, frame, silences) for frame in _candidates(context, silences)]
    by_lag = explained(ends, _kinds_of_silences(context, silences), silences)
    quiet = _held(context, silences, pd.concat([by_lag, _opening(context, silences)]))
    ends = [_of_work(context, running, frame, opaque) for frame in _candidates(context, opaque)]
    return quiet.plus(_held(context, opaque, explained(ends, _kinds_of_work(context, opaque), opaque)))


def _kinds_of_silences(context: Context, silences: pd.DataFrame) -> pd.DataFrame:
    """Group silences by thread, kind of event and order of magnitude.

    What ends by chance in a short silence says nothing about the long ones.
    """
    name = np.append(context.events.name.codes, -1)[silences["event"]]
    kind = _numbered(pd.DataFrame({"lane": silences["lane"], "name": name, "size": _magnitude(silences)}))
    columns = {"silence": silences.index, "kind": kind, "name": kind, "least": _LEAST_SILENCES}
    return pd.DataFrame({**columns, "least_close": _LEAST_BESIDE_WORK, "works": False})


def _kinds_of_work(context: Context, stretches: pd.DataFrame) -> pd.DataFrame:
    """Group stretches in events of one name, on any thread, that last 100 µs, 1 ms, 10 ms, … or more."""
    events, event = context.events, stretches["event"].to_numpy(np.int64)
    name, magnitude = events.name.codes[event].astype(np.int64), _magnitude(stretches)
    least = np.where(_launches_nothing(context)[event], _LEAST_CALLS, _LEAST_OPEN)
    low = int(magnitude.min(initial=0))
    parts = [pd.DataFrame({"silence": [], "name": [], "least": [], "level": []}, dtype=np.int64)]
    for level in range(low, int(magnitude.max(initial=0)) + 1):
        long = np.flatnonzero(magnitude >= level)
        parts.append(
            pd.DataFrame({"silence": long, "name": name[long], "least": least[long], "level": level})
        )
    kinds = pd.concat(parts, ignore_index=True)
    kind = _numbered(kinds[["name", "least", "level"]])
    return kinds.drop(columns="level").assign(kind=kind, least_close=_LEAST_CALLS, works=True)


def _numbered(kinds: pd.DataFrame) -> Ints:
    """Assign a number to each row, the same to equal rows."""
    # A MultiIndex without rows cannot be factorised by pandas 2.
    numbers: Ints = np.asarray(kinds.groupby(list(kinds), sort=False).ngroup(), dtype=np.int64)
    return numbers


def _magnitude(stretches: pd.DataFrame) -> Ints:
    magnitude: Ints = np.log10((stretches["end"] - stretches["start"]).to_numpy(np.int64)).astype(np.int64)
    return magnitude


def _candidates(context: Context, stretches: pd.DataFrame) -> list[pd.DataFrame]:
    """List for each stream the work that may have ended each stretch: the last enqueued, then any of it.

    Most streams of most files have no such work; they are left out, since tables without rows cost time, too.
    """
    ways = (_last_of_stream, _last_of_unlaunched, _any_of_stream)
    found = (way(context, lane, stretches) for way in ways for lane in context.streams.queue)
    return [candidates for candidates in found if len(candidates)]


def _last_of_stream(context: Context, lane: int, stretches: pd.DataFrame) -> pd.DataFrame:
    """Find the work enqueued last on a stream before each stretch, if it ended in it or just after."""
    events = context.events
    start, end, queued = (stretches[name].to_numpy(np.int64) for name in ("start", "end", "queued"))
    work = context.streams.last_queued(lane, queued)
    done = np.where(work >= 0, events.end[work], start)
    inside = np.flatnonzero(
        (done > start) & (done <= end + reach(end - start)[1]) & (events.start[work] < end)
    )
    return _as_candidates(context, stretches, inside, work[inside], (1 / (end - start))[inside], 0)


def _last_of_unlaunched(context: Context, lane: int, stretches: pd.DataFrame) -> pd.DataFrame:
    """Find the last work in each stretch if it has no launch, and the stream paused after it.

    Nothing says when such work was enqueued.
    """
    events, work = context.events, context.streams.by_lane[lane]
    start, end = (stretches[name].to_numpy(np.int64) for name in ("start", "end"))
    done = np.maximum.accumulate(events.end[work])
    idles = np.append(events.start[work][1:] - done[:-1] > _PAUSE_NS, True)[: len(work)]
    paused = np.sort(done[idles])
    pauses = np.searchsorted(paused, end, "right") - np.searchsorted(paused, start, "right")
    last = np.searchsorted(events.start[work], end, "left") - 1
    mine = np.append(work, -1)[last]
    ended = np.where(last >= 0, done[last], start)
    fits = (ended > start) & (ended <= end + reach(end - start)[1]) & (context.launches.call[mine] < 0)
    fits &= (events.end[mine] == ended) & np.append(idles, False)[last]
    inside = np.flatnonzero(fits)
    rate = (np.maximum(pauses, 1) / (end - start))[inside]
    return _as_candidates(context, stretches, inside, mine[inside], rate, 0)


def _any_of_stream(context: Context, lane: int, stretches: pd.DataFrame) -> pd.DataFrame:
    """Find all work of a stream that ended around the end of each stretch and was enqueued before it."""
    events, streams, launches = context.events, context.streams, context.launches
    start, end, before = (stretches[name].to_numpy(np.int64) for name in ("start", "end", "queued"))
    work = streams.by_lane[lane]
    ended = work[np.argsort(events.end[work], kind="stable")]
    done, queued = events.end[ended], np.full(len(events), np.iinfo(np.int64).max)
    queued[streams.queue[lane]] = streams.queued_at[lane]
    # What has no launch may have been enqueued before the recording began.
    queued[work[launches.call[work] < 0]] = NONE
    sooner, later = reach(end - start)
    first, last = np.searchsorted(done, start, "right"), np.searchsorted(done, end + later, "right")
    near = np.maximum(first, np.searchsorted(done, end - sooner, "left"))
    silence, place = expand_ranges(near, np.maximum(last - near, 0))
    # Each end makes the moments just after it look like one that was waited for.
    crowd = (np.maximum(last - near - 1, 0) / (sooner + later))[silence]
    rate = ((last - first) / (end - start))[silence]
    found = ended[place]
    fits = (queued[found] < before[silence]) & (events.start[found] < end[silence])
    return _as_candidates(context, stretches, silence[fits], found[fits], rate[fits], crowd[fits])


def _as_candidates(
    context: Context, stretches: pd.DataFrame, silence: Ints, work: Ints, rate: Floats, crowd: Floats | int
) -> pd.DataFrame:
    """Make a table of candidates with their lags, in the columns that `repetition.explained` takes."""
    lag = stretches["end"].to_numpy(np.int64)[silence] - context.events.end[work]
    return pd.DataFrame(dict(zip(COLUMNS, (silence, work, lag, rate, crowd, True, False), strict=True)))


def _running(context: Context) -> Spans:
    """Find when any GPU works."""
    events = context.events
    return ungrouped(*without_overlaps(events.start[events.is_gpu], events.end[events.is_gpu]))


def _beside_work(
    context: Context, running: Spans, found: pd.DataFrame, silences: pd.DataFrame
) -> pd.DataFrame:
    """Mark candidates as close if the GPU worked throughout the silence and the lag is very small.

    A thread that does nothing while the GPU works, and goes on as it ends, hardly does so by chance.
    """
    lag, length = found["lag"].to_numpy(np.int64), _lengths(found, silences)
    close = np.flatnonzero(np.abs(lag) <= _VERY_CLOSE * length)
    beside = np.zeros(len(found), dtype=bool)
    beside[close] = _worked(context, running, found.iloc[close], silences)
    return found.assign(close=beside)


def _of_work(context: Context, running: Spans, found: pd.DataFrame, stretches: pd.DataFrame) -> pd.DataFrame:
    """Let candidates fit if the GPU worked throughout the stretch; calls that launch nothing may be close.

    Beside an idle GPU, a stretch that works may hold the GPU up as well as the other way round. A call that
    launches nothing is close if the lag is a small part of it.
    """
    event = stretches["event"].to_numpy(np.int64)[found["silence"]]
    close = found["lag"].abs() <= _CLOSE * _lengths(found, stretches)
    # A stretch that works may end amid a series of short GPU work: then each of these ends is as near.
    rate = found["rate"] + found["crowd"]
    worked = _worked(context, running, found, stretches)
    return found.assign(rate=rate, fits=worked, close=close & _launches_nothing(context)[event])


def _lengths(found: pd.DataFrame, stretches: pd.DataFrame) -> Ints:
    """Measure how long the stretch of each candidate lasts, ns."""
    length: Ints = (stretches["end"] - stretches["start"]).to_numpy(np.int64)[found["silence"]]
    return length


def _worked(context: Context, running: Spans, found: pd.DataFrame, stretches: pd.DataFrame) -> Flags:
    """Tell whether the GPU worked throughout the stretch of each candidate, until its work ended."""
    events, silence = context.events, found["silence"].to_numpy(np.int64)
    start, end = (stretches[name].to_numpy(np.int64)[silence] for name in ("start", "end"))
    until = np.minimum(end, events.end[found["work"].to_numpy(np.int64)])
    worked: Flags = covered(ungrouped(start, until), running) >= _BUSY * (end - start)
    return worked


def _launches_nothing(context: Context) -> Flags:
    """Tell which events are calls into a runtime or driver without GPU work of their own."""
    found: Flags = context.events.of_role(Role.CALL) & ~context.launches.launching
    return found


def _opening(context: Context, silences: pd.DataFrame) -> pd.DataFrame:
    """Pair silences with which the file begins with the last work from before it, if both end together."""
    events, streams, first = context.events, context.streams, context.recording_start
    opening = np.flatnonzero(silences["start"] == first)
    end = silences["end"].to_numpy(np.int64)[opening]
    before_ns, after_ns = REACH_NS
    parts = [pd.DataFrame({name: [] for name in ("silence", "work", "lag", "confidence")})]
    for work in streams.by_lane.values():
        before = work[np.cumsum(context.launches.call[work] >= 0) == 0]
        if not len(before):
            continue
        last = int(before[int(events.end[before].argmax())])
        lag = end - events.end[last]
        hit = (lag <= before_ns) & (lag >= -after_ns) & (events.start[last] < end)
        chance = ((before_ns + after_ns) * len(streams.by_lane) / (end - first))[hit]
        columns = {"silence": opening[hit], "work": last, "lag": lag[hit], "confidence": _SURE * (1 - chance)}
        parts.append(pd.DataFrame(columns))
    found = pd.concat(parts)
    return found[found["confidence"] >= _LEAST]


def _held(context: Context, stretches: pd.DataFrame, found: pd.DataFrame) -> Found:
    """Make an edge of the surest cause of each stretch, and the wait that it ends."""
    events, launches = context.events, context.launches
    found = found.sort_values(["confidence", "lag"], ascending=[False, True], kind="stable")
    found = found.drop_duplicates("silence").sort_values("silence", kind="stable")
    work = found["work"].to_numpy(np.int64)
    mine = stretches.iloc[found["silence"].to_numpy(np.int64)]
    lane, start, end, event = (mine[name].to_numpy(np.int64) for name in ("lane", "start", "end", "event"))
    goes_on = np.minimum(events.end[work], end)
    edges = make_edges(
        SILENT_SYNCHRONIZE,
        on_gpu(events, work, at_end=True),
        on_thread(lane, goes_on),
        goes_on,
        recorded=False,
        confidence=found["confidence"].to_numpy(np.float64),
    )
    # Until the launch of what a call waits for has left it, it works.
    own = (launches.call[work] == event) & (event >= 0)
    begin = np.where(own, context.left_at[work].clip(start, goes_on), start)
    inside = np.where(np.append(is_passive(events), True)[event], -1, event)
    return Found(edges, inferred_waits(SILENT_SYNCHRONIZE, lane, begin, goes_on, inside))
