"""GPU work whose launching call has no row: when it was enqueued, from the ids of the calls around it."""

from dataclasses import dataclass

import numpy as np

from tracegraph.ingest.arrays import Ints
from tracegraph.ingest.causal.events.events import Events
from tracegraph.vocabulary.categories import Role

_FEWEST_CALLS = 10
"""With fewer calls nothing is said about how ids grow: their order may be chance. Ten calls in a random order
have rising ids once in 3.6 million times (10!)."""
_FALLING = 0.01
"""Ids grow with time if at most this share of the steps from one id to the next goes back in time. Chosen by
eye: two threads that launch at once swap neighbours now and then, and ids without an order fall half of the
time."""


@dataclass(frozen=True)
class LostLaunches:
    """GPU activities without a call, in the order of their ids, and the calls with the nearest ids.

    `before`: index of the last call with a smaller id, -1 for none: then the work was enqueued before all
    calls of the file. `after`: that of the first call with a larger one, -1 for none.
    """

    work: Ints
    before: Ints
    after: Ints


def no_lost_launches() -> LostLaunches:
    """Make a table without rows."""
    no = np.empty(0, dtype=np.int64)
    return LostLaunches(no, no, no)


def find_lost_launches(events: Events, call: Ints) -> LostLaunches:
    """Find all GPU work with an id but no call, if the ids of the calls grow with time; else none.

    Ids do not grow if processes share a file, or if they start again. `call`: the call that launched each
    event, -1 for none.
    """
    lost = np.flatnonzero(events.is_gpu & (call < 0) & (events.written_correlation > 0))
    calls = np.flatnonzero(events.of_role(Role.CALL) & (events.written_correlation > 0))
    if not len(lost) or len(calls) < _FEWEST_CALLS:
        return no_lost_launches()
    calls = calls[np.lexsort((events.start[calls], events.written_correlation[calls]))]
    if (np.diff(events.start[calls]) < 0).mean() > _FALLING:
        return no_lost_launches()
    lost = lost[np.lexsort((events.start[lost], events.written_correlation[lost]))]
    ids = events.written_correlation[lost]
    before = np.searchsorted(events.written_correlation[calls], ids, "left") - 1
    after = np.searchsorted(events.written_correlation[calls], ids, "right")
    return LostLaunches(
        lost,
        np.where(before >= 0, calls[np.maximum(before, 0)], -1),
        np.where(after < len(calls), calls[np.minimum(after, len(calls) - 1)], -1),
    )


def queued_times(events: Events, lost: LostLaunches) -> Ints:
    """Choose a moment for each lost launch between the starts of the calls around it, ns."""
    if not len(lost.work):
        return lost.work
    earliest = int(events.start[events.on_thread].min()) - 1
    since = np.where(lost.before >= 0, events.start[lost.before] + 1, earliest)
    limit = np.where(lost.after >= 0, events.start[lost.after] - 1, since)
    return np.minimum(since, limit)
