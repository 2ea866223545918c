"""Which call launched which GPU activity, in which order work was enqueued, and the usual lags."""

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import pandas as pd

from tracegraph.ingest.arrays import Flags, Ints
from tracegraph.ingest.causal.events.events import NONE, Events
from tracegraph.ingest.causal.launches.lost_launches import LostLaunches, find_lost_launches, queued_times
from tracegraph.ingest.intervals import ended_before

LONGEST_LAUNCH_NS = 20_000
"""The longest launch latency, ns: if work starts later than that, it waited for something else. In ten
recorded files (Nvidia 2080 Ti to B200, AMD MI250 and MI300) with unmoved clocks the 5 % quantile, which is
compared with it, is 5 to 13 µs from the start of a call onto an idle stream."""
LONGEST_STREAM_GAP_NS = 5_000
"""Above these an estimate is not a usual lag: no kernel in the file met an idle device, or a full queue.
Where works wait in a queue, the median pause before the next one is at most 2.2 µs in those files, and 95 of
100 last less than 5 µs."""
USUAL_LAUNCH_NS, USUAL_LATE_LAUNCH_NS = 7_000, 2_000
"""The lag from a call's start and from its end that launches usually have, if the file does not show it. In
the eight of Nvidia the 5 % quantile from the start is 5 to 13 µs, the median from the end 1.7 to 3.5 µs;
of AMD's two they are 8 and 11 µs, and 9 and 7 µs."""
LONG_LAG_NS = 50_000
"""A lag of GPU work above this has another reason than a launch or a queue: both take microseconds. Chosen by
eye, some times `LONGEST_LAUNCH_NS` and `LONGEST_STREAM_GAP_NS`."""
REACH_NS = 20_000
"""How long after the end of work on another stream a stream goes on because of it at most. Chosen by eye, as
much as a launch may take (`LONGEST_LAUNCH_NS`): a larger one finds such an end by chance more often."""
_LOW = 0.05
"""The quantile of lags that is taken for the usual one: low, since waits only lengthen lags, but not the
least lag, which may be an error of the clock."""
_ENOUGH_GAPS = 20
"""With fewer gaps a stream gets the usual gap of all streams: the least of a few may be far above it. Of
twenty, the quantile of `_LOW` is one of the two shortest."""


@dataclass(frozen=True)
class Launches:
    """`call`: for each event the call that launched it, -1 for none or for events off the GPU.

    `lost`: GPU work whose call has no row.
    """

    call: Ints
    lost: LostLaunches

    @cached_property
    def launching(self) -> Flags:
        """Which events are calls that launched work of the file."""
        flags = np.zeros(len(self.call), dtype=bool)
        flags[self.call[self.call >= 0]] = True
        return flags


@dataclass(frozen=True)
class Lags:
    """Usual lags in ns: low quantiles over the cases in which nothing else can have delayed the work."""

    launch_from_start: int
    launch_from_end: int
    stream_order: Ints
    """Per lane; 0 for threads."""


def match_launches(events: Events) -> Launches:
    """Join GPU work with its call by correlation, else by the file's flow (rule 1).

    The name of the call does not matter. Each correlation belongs to one call (see `tell_calls_apart`); one
    graph launch may have many kernels.
    """
    has_id = events.correlation > 0
    calls = np.flatnonzero(has_id & events.on_thread)
    work = np.flatnonzero(has_id & events.is_gpu)
    calls = calls[np.argsort(events.correlation[calls], kind="stable")]
    place = np.searchsorted(events.correlation[calls], events.correlation[work])
    ids = np.append(events.correlation[calls], NONE)
    found = ids[place] == events.correlation[work]
    launched_by = events.launch_flow
    if found.any():
        launched_by = launched_by.copy()
        launched_by[work[found]] = calls[place[found]]
    return Launches(launched_by, find_lost_launches(events, launched_by))


@dataclass(frozen=True)
class Streams:
    """GPU activities of each stream, once in the order of start and once in the order of enqueueing.

    Attributes
    ----------
    by_lane
        For each lane event indices by (start, end).
    queue, queued_at
        For each lane event indices by the start of the launching call, and these times, ns. Work without a
        call stands between the calls with the nearest ids. If ids do not tell, it was enqueued before it
        started, and before the next work on its stream: the earlier of these times counts.
    """

    by_lane: dict[int, Ints]
    queue: dict[int, Ints]
    queued_at: dict[int, Ints]

    def last_queued(self, lane: int, before: Ints) -> Ints:
        """Find the index of the activity enqueued last on `lane` before each time, -1 for none."""
        position = np.searchsorted(self.queued_at[lane], before, "left") - 1
        return np.where(position >= 0, self.queue[lane][np.maximum(position, 0)], -1)

    def next_queued(self, lane: int, after: Ints) -> Ints:
        """Find the index of the activity enqueued first on `lane` after each time, -1 for none."""
        position = np.searchsorted(self.queued_at[lane], after, "right")
        there = position < len(self.queue[lane])
        return np.where(there, self.queue[lane][np.minimum(position, len(self.queue[lane]) - 1)], -1)


def order_streams(events: Events, launches: Launches) -> Streams:
    """Sort the GPU activities of every stream lane."""
    work = np.flatnonzero(events.is_gpu)
    known = np.where(launches.call >= 0, events.start[launches.call], NONE)
    known[launches.lost.work] = queued_times(events, launches.lost)
    by_lane, queue, times = {}, {}, {}
    for lane in np.unique(events.lane[work]).tolist():
        members = work[events.lane[work] == lane]
        members = members[np.lexsort((members, events.end[members], events.start[members]))]
        queued_at = known[members]
        told = queued_at != NONE
        latest = np.minimum.accumulate(np.where(told, queued_at, events.start[members])[::-1])
        queued_at = np.where(told, queued_at, latest[::-1])
        order = np.lexsort((events.end[members], events.correlation[members], queued_at))
        by_lane[lane], queue[lane], times[lane] = members, members[order], queued_at[order]
    return Streams(by_lane, queue, times)


def _low_quantile(values: Ints, limit: int, beyond: int | None = None) -> int:
    """Find a low quantile of the values that are not negative; 0 without any.

    If it is above `limit`, the result is `beyond`, or the limit itself if `beyond` is not given.
    """
    values = values[values >= 0]
    found = int(np.quantile(values, _LOW, method="lower")) if len(values) else 0
    return found if found <= limit else limit if beyond is None else beyond


def measure_lags(events: Events, launches: Launches, streams: Streams, lane_count: int) -> Lags:
    """Estimate the usual launch latency and each stream's usual gap from the file itself.

    Parameters
    ----------
    streams
        The works of each stream in the order in which they run.
    lane_count
        How many lanes the run has, threads included.

    Returns
    -------
    Lags
        In ns. Only launches onto an idle stream count for the latency, and only work that waited in its queue
        counts for the gap.
    """
    from_start, from_end = [np.empty(0, dtype=np.int64)], [np.empty(0, dtype=np.int64)]
    for work in streams.by_lane.values():
        call = launches.call[work]
        idle = (call >= 0) & (ended_before(events.end[work], NONE) < events.start[call])
        from_start.append((events.start[work] - events.start[call])[idle])
        from_end.append((events.start[work] - events.end[call])[idle])
    # If most work starts before its call returns, the rest was late for another reason.
    after_calls = np.maximum(np.concatenate(from_end), 0)
    launch_from_end = min(
        _low_quantile(np.concatenate(from_end), LONGEST_LAUNCH_NS, USUAL_LATE_LAUNCH_NS),
        int(np.median(after_calls)) if len(after_calls) else 0,
    )
    gaps = {}
    for lane, work in streams.by_lane.items():
        call, done = launches.call[work], ended_before(events.end[work], NONE)
        queued = (call >= 0) & (done > events.end[call] + launch_from_end)
        gaps[lane] = events.start[work[queued]] - done[queued]
    # The least of a few gaps of one stream may be far above what streams need.
    usual = _low_quantile(np.concatenate([from_end[0], *gaps.values()]), LONGEST_STREAM_GAP_NS)
    stream_order = np.zeros(lane_count, dtype=np.int64)
    for lane, mine in gaps.items():
        enough = (mine >= 0).sum() >= _ENOUGH_GAPS
        stream_order[lane] = _low_quantile(mine, LONGEST_STREAM_GAP_NS) if enough else usual
    return Lags(
        launch_from_start=_low_quantile(np.concatenate(from_start), LONGEST_LAUNCH_NS, USUAL_LAUNCH_NS),
        launch_from_end=launch_from_end,
        stream_order=stream_order,
    )


def done_before(events: Events, streams: Streams) -> Ints:
    """Find the latest end, ns, of work that started before each activity on its stream, `NONE` without."""
    done = np.full(len(events), NONE, dtype=np.int64)
    for work in streams.by_lane.values():
        done[work] = ended_before(events.end[work], NONE)
    return done


def nearest_on_thread(
    events: Events, calls: Ints, others: Ints, direction: Literal["backward", "forward"]
) -> Ints:
    """Find the position in `others` of the nearest before or after each call on its thread; -1 for none.

    Nearness counts between starts; one that starts at the same time is neither before nor after.

    Parameters
    ----------
    calls, others
        Indices of events.

    Returns
    -------
    Ints
        One for each of `calls`.
    """
    left = pd.DataFrame({"lane": events.lane[calls], "at": events.start[calls], "row": np.arange(len(calls))})
    right = pd.DataFrame({"lane": events.lane[others], "at": events.start[others]})
    found = pd.merge_asof(
        left.sort_values("at", kind="stable"),
        right.assign(position=np.arange(len(others))).sort_values("at", kind="stable"),
        on="at",
        by="lane",
        direction=direction,
        allow_exact_matches=False,
    ).sort_values("row")
    return np.asarray(found["position"].fillna(-1), dtype=np.int64)
