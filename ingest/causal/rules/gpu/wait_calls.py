"""Which work a wait call holds, and for which other work, where no row of the file names the streams."""

from dataclasses import dataclass

import numpy as np

from tracegraph.ingest.array_tables import select_rows
from tracegraph.ingest.arrays import Flags, Floats, Ints
from tracegraph.ingest.causal.events.events import NONE, Events, is_call_named
from tracegraph.ingest.causal.events.overlaps import NOISE_NS, only_slightly
from tracegraph.ingest.causal.launches.launches import REACH_NS, Launches, Streams, nearest_on_thread
from tracegraph.ingest.causal.rules.sureness import LEAST_SURE, MOST_SURE, share_for, surer_at_once

_LIKELY, _UNLIKELY = 0.9, 0.1
"""The prior: how likely the stream is awaited that was launched on last, and any other stream. Both are
estimates: in simulations the confidences that follow from them are no higher than the share that is true
(docs/accuracy.md)."""
_MOST_CALLS = 3
"""The most calls of a group that count: three stands for more, and for the most streams awaited."""


@dataclass(frozen=True)
class HeldWork:
    """Pairs of GPU activities, awaited and held; `recorded`: a cuda_sync row names both streams."""

    cause: Ints
    effect: Ints
    recorded: Flags
    confidence: Floats


@dataclass(frozen=True)
class _Groups:
    """Wait calls without rows between two launches of their thread, one row each group.

    `held`: lane of the stream that they hold; `work`: what was enqueued there next; `since`: the record call
    before the last of them, else that call; `before`: lane of the launch before; `guess`: lane of the other
    stream that the thread launched on last.
    """

    thread: Ints
    held: Ints
    work: Ints
    since: Ints
    before: Ints
    guess: Ints
    size: Ints


def infer_waits(
    events: Events, launches: Launches, streams: Streams, told: Flags, arrival: Ints, known: HeldWork
) -> HeldWork:
    """Pairs for the wait calls that no row tells of.

    A wait call holds the stream that its thread launches on next. Which stream it waits for, and whether it
    holds anything at all (libraries make such calls for themselves), shows where the last work enqueued there
    ended after all other causes of the held work arrived (`arrival`): this starts at once, or it started
    before that end, and did not wait. Calls in the same place (thread, stream held, stream launched on
    before, how many calls) do the same again and again, so each confidence is the share of such cases in that
    place; `known` pairs of the same two streams and cases in other places count for two.

    Parameters
    ----------
    told
        Which events are calls that need no inference, since a row names their stream.
    arrival
        For each event when all its other causes have arrived, ns.
    known
        Pairs that rows of the file tell.

    Returns
    -------
    HeldWork
        Pairs of the awaited work and the work that was held, with the confidence of each (0..1).
    """
    groups = _find_groups(events, launches, streams, told)
    lanes = np.array(list(streams.queue), dtype=np.int64)
    nothing = np.empty(0, dtype=np.int64)
    if not len(groups.work) or len(lanes) < 2:
        return HeldWork(nothing, nothing, nothing > 0, np.empty(0))
    cause = np.stack(
        [streams.last_queued(lane, events.start[groups.since]) for lane in lanes.tolist()], axis=1
    )
    other = (lanes != groups.held[:, None]) & (events.device[cause] == events.device[groups.work][:, None])
    cause = np.where(other, cause, -1)
    confidence = _judge(events, groups, lanes, cause, arrival[groups.work], known)
    # As many streams as there are calls, the likeliest first.
    rank = np.argsort(np.argsort(-confidence, axis=1, kind="stable"), axis=1)
    row, column = np.nonzero((confidence >= LEAST_SURE) & (rank < groups.size[:, None]))
    return HeldWork(
        cause[row, column], groups.work[row], np.zeros(len(row), dtype=bool), confidence[row, column]
    )


def _find_groups(events: Events, launches: Launches, streams: Streams, told: Flags) -> _Groups:
    calls = np.flatnonzero(is_call_named(events, "StreamWaitEvent") & ~told)
    calls = calls[np.lexsort((events.start[calls], events.lane[calls]))]
    launched = _launched_by_thread(events, launches)
    launch = launches.call[launched]
    following = nearest_on_thread(events, calls, launch, "forward")
    before = nearest_on_thread(events, calls, launch, "backward")
    thread = events.lane[calls]
    place = np.stack([thread, before, following])
    first = np.append(True, (place[:, 1:] != place[:, :-1]).any(axis=0))[: len(calls)]
    size = np.bincount(np.cumsum(first) - 1, minlength=0)
    last = np.append(first[1:], True)[: len(calls)]
    calls, before, following = calls[last], before[last], following[last]
    held = _held_stream(events, launches, launched, calls, following)
    since = _recorded_at(events, calls)
    groups = _Groups(
        thread=thread[last],
        held=held,
        work=_next_queued(events, streams, held, calls),
        since=since,
        before=np.append(events.lane[launched], -1)[before],
        guess=_awaited_stream(events, launches, launched, since, held),
        size=np.minimum(size, _MOST_CALLS),
    )
    return select_rows(groups, groups.work >= 0)


def _launched_by_thread(events: Events, launches: Launches) -> Ints:
    """GPU work by the launching thread and the time of the launch: the first of each launch."""
    work = np.flatnonzero(launches.call >= 0)
    work = work[np.argsort(events.start[work], kind="stable")]
    work = work[np.unique(launches.call[work], return_index=True)[1]]
    call = launches.call[work]
    return work[np.lexsort((events.start[call], events.lane[call]))]


def _held_stream(events: Events, launches: Launches, launched: Ints, calls: Ints, following: Ints) -> Ints:
    """Lane of the stream that each wait call holds: the next one launched on by its thread, else by any."""
    launch = launches.call[launched]
    by_time = np.argsort(events.start[launch], kind="stable")
    later = np.searchsorted(events.start[launch][by_time], events.start[calls], "right")
    anyone = np.append(by_time, -1)[later]
    position = np.where(following >= 0, following, anyone)
    return np.where(position >= 0, np.append(events.lane[launched], -1)[position], -1)


def _next_queued(events: Events, streams: Streams, held: Ints, calls: Ints) -> Ints:
    work = np.full(len(calls), -1, dtype=np.int64)
    for lane in streams.queue:
        work = np.where(held == lane, streams.next_queued(lane, events.start[calls]), work)
    return work


def _recorded_at(events: Events, calls: Ints) -> Ints:
    """Give the last record call of the thread before each wait call, or the wait call where there is none."""
    records = np.flatnonzero(is_call_named(events, "EventRecord"))
    record = nearest_on_thread(events, calls, records, "backward")
    return np.where(record >= 0, np.append(records, -1)[record], calls)


def _awaited_stream(events: Events, launches: Launches, launched: Ints, since: Ints, held: Ints) -> Ints:
    """Lane of the other stream that the thread of each call launched on last before it, -1 for none."""
    lane, thread = events.lane[launched], events.lane[launches.call[launched]]
    changes = np.append(True, (lane[1:] != lane[:-1]) | (thread[1:] != thread[:-1]))[: len(lane)]
    before_run = np.maximum.accumulate(np.where(changes, np.arange(len(lane)), 0)) - 1
    last = nearest_on_thread(events, since, launches.call[launched], "backward")
    same = (last >= 0) & (np.append(lane, -1)[last] == held)
    other = np.where(same, np.append(before_run, -1)[last], last)
    stays = (other >= 0) & (np.append(thread, -1)[other] == events.lane[since])
    return np.where(stays, np.append(lane, -1)[other], -1)


def _judge(
    events: Events, groups: _Groups, lanes: Ints, cause: Ints, arrival: Ints, known: HeldWork
) -> Floats:
    """How likely each group waits for the candidate on each lane; 0 for those that it cannot have awaited."""
    start = events.start[groups.work][:, None]
    end = np.where(cause >= 0, events.end[cause], NONE)
    effect = np.broadcast_to(groups.work[:, None], cause.shape)
    possible = (cause >= 0) & (end <= start + NOISE_NS) & only_slightly(events, cause, effect)
    contradicted = (cause >= 0) & ~possible
    latest = np.where(possible, end, NONE).max(axis=1, keepdims=True)
    decisive = possible & (end == latest) & (end > arrival[:, None])
    at_once = decisive & (start - end <= REACH_NS)
    # As many starts as come a bit later come at once by chance; that time is four times as long.
    later = decisive & ~at_once & (start - end <= 5 * REACH_NS)
    share = _shares(events, groups, lanes, at_once - later / 4, contradicted, known)
    # A start right after an end by chance: the rarer, the longer the other causes had arrived.
    waited = np.where(arrival > NONE, start[:, 0] - arrival, REACH_NS)
    chance = REACH_NS / np.maximum(waited, REACH_NS)[:, None]
    sure = surer_at_once(share, at_once, chance)
    # What starts long after all of its causes had another one.
    highest = np.where(decisive & ~at_once, LEAST_SURE, MOST_SURE)
    return np.where(possible, np.minimum(sure, highest), 0)


def _shares(
    events: Events, groups: _Groups, lanes: Ints, support: Floats, contradicted: Flags, known: HeldWork
) -> Floats:
    """Share of the decisive cases of each group's place that speak for waiting for each lane."""
    keys = np.stack([groups.thread, groups.held, groups.before, groups.size])
    place = np.unique(keys, axis=1, return_inverse=True)[1].reshape(-1)
    count = int(place.max()) + 1
    held = np.searchsorted(lanes, groups.held)
    by_place = np.zeros((4, count, len(lanes)))
    guessed = groups.guess[:, None] == lanes
    for total, values in zip(by_place, (support, contradicted, guessed, 1), strict=True):
        np.add.at(total, place, values)
    for_it = np.maximum(by_place[0], 0)
    # One call waits for one stream: what speaks for another one speaks against it, by half for more calls.
    size = np.zeros(count, dtype=np.int64)
    size[place] = groups.size
    rivals = (for_it.sum(axis=1, keepdims=True) - for_it) / np.minimum(size, 2)[:, None]
    of_place = np.zeros(count, dtype=np.int64)
    of_place[place] = held
    pooled = np.zeros((2, len(lanes), len(lanes)))
    np.add.at(pooled[0], of_place, for_it)
    np.add.at(pooled[1], of_place, by_place[1])
    rows = np.searchsorted(lanes, events.lane[known.effect]), np.searchsorted(lanes, events.lane[known.cause])
    np.add.at(pooled[0], rows, 1)
    guess = _UNLIKELY + (_LIKELY - _UNLIKELY) * by_place[2] / by_place[3]
    elsewhere = pooled[0][of_place] - for_it, pooled[1][of_place] - by_place[1]
    prior = (elsewhere[0] + guess) / (elsewhere[0] + elsewhere[1] + 1)
    return share_for(for_it, for_it + by_place[1] + rivals, prior)[place]
