"""Holes in a recording: stretches whose events were lost, as the ids and launches around them show."""

import numpy as np

from tracegraph.ingest.arrays import Flags, Ints
from tracegraph.ingest.causal.events.events import Events, is_annotation
from tracegraph.ingest.causal.launches.launches import LONG_LAG_NS, Launches
from tracegraph.ingest.intervals import pauses
from tracegraph.vocabulary.categories import Role

_LEAST_SHARE = 0.005
"""A hole is a silence of all streams that lasts that share of the recording: shorter ones cost little. Chosen
by eye: the verdict names no part of the path below .5 % either."""
_SHORTEST_NS = LONG_LAG_NS
"""A hole is a silence of at least this long, too: a shorter pause of all streams may be a launch."""
_LEAST_LOST = 3
"""How many calls or works a hole must lack. Chosen by eye: single calls lack their work outside of holes,
too."""
_USUALLY, _FEWEST = 0.8, 5
"""Calls of a name usually have work if this share of them does, and this many do. Chosen by eye: rows that
the hole lost lower the share below 1; calls of which many have no work by nature must stay below it."""
Stretches = tuple[Ints, Ints]
"""Starts and ends, ns."""


def find_holes(events: Events, launches: Launches) -> Stretches:
    """Find silences of at least .5 % of the file's time in which calls or launched work must have been.

    Silence alone proves nothing: a thread may run code that is not traced. But correlation ids count on while
    nothing is recorded, and work that was launched before a hole and ran in it is missing. A hole lacks at
    least three calls or works: ids skip at least twice as many as anywhere else, or calls of names that
    usually have work have none between calls whose work ran before and after the silence.
    """
    start, end = _silences(events)
    calls = np.flatnonzero(events.of_role(Role.CALL) & events.on_thread)
    calls = calls[np.argsort(events.start[calls], kind="stable")]
    if not len(calls) or not len(start):
        return start[:0], end[:0]
    lost = _skipped_ids(events, calls, end) + _missing_work(events, launches, calls, start, end)
    return start[lost >= _LEAST_LOST], end[lost >= _LEAST_LOST]


def _silences(events: Events) -> Stretches:
    """Find long stretches in which nothing but annotations and steps is open on any lane."""
    active = (events.on_thread | events.is_gpu) & ~is_annotation(events)
    start, end = events.start[active], events.end[active]
    begin, until = pauses(start, end)
    least = _LEAST_SHARE * (end.max() - start.min()) if len(begin) else 0
    long = until - begin >= max(least, _SHORTEST_NS)
    return begin[long], until[long]


def _skipped_ids(events: Events, calls: Ints, until: Ints) -> Ints:
    """Count how many more ids than anywhere else are skipped before the first call from `until` on.

    0 if these are not at least twice as many: calls that are never recorded have ids, too.
    """
    ids = np.maximum.accumulate(events.written_correlation[calls])
    skipped = np.append(0, np.diff(ids))
    known = ids > 0
    skipped[~known | ~np.append(False, known[:-1])] = 0
    next_call = np.searchsorted(events.start[calls], until)
    here = np.append(skipped, 0)[next_call]
    elsewhere = np.delete(skipped, next_call[next_call < len(calls)]).max(initial=1)
    return np.where(here // 2 >= elsewhere, here - elsewhere, 0)  # twice a hostile id overflows int64


def _missing_work(events: Events, launches: Launches, calls: Ints, start: Ints, end: Ints) -> Ints:
    """Count the calls that lack the work that ran in each silence."""
    has, lacks = working_calls(events, launches, calls)
    first = np.full(len(events), np.iinfo(np.int64).max)
    launched = np.flatnonzero(launches.call >= 0)
    np.minimum.at(first, launches.call[launched], events.start[launched])
    begun = first[calls]
    lacking = np.append(0, np.cumsum(lacks))
    found = np.zeros(len(start), dtype=np.int64)
    for i, (since, until) in enumerate(zip(start.tolist(), end.tolist(), strict=True)):
        before = np.flatnonzero(has & (begun <= since)).max(initial=-1)
        found[i] = max(lacking[np.searchsorted(events.start[calls], until)] - lacking[before + 1], 0)
    return found


def working_calls(events: Events, launches: Launches, calls: Ints) -> tuple[Flags, Flags]:
    """Tell which calls have GPU work in the file, and which lack it although their name usually has it."""
    has, name = launches.launching[calls], events.name.codes[calls]
    count = np.bincount(name, minlength=1)
    working = np.bincount(name, has, minlength=1)
    usually = (working >= _USUALLY * count) & (working >= _FEWEST)
    return has, usually[name] & ~has
