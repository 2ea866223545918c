"""Pairs of a call and GPU work whose order is known: they date the GPU's clock by the CPU's."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from tracegraph.ingest.arrays import Flags, Ints
from tracegraph.ingest.causal.clock.proven_waits import TO_HOST
from tracegraph.ingest.causal.events.events import Events, is_call_named, is_named
from tracegraph.ingest.causal.launches.awaited_work import HostWaits
from tracegraph.ingest.causal.launches.launches import Launches, nearest_on_thread
from tracegraph.vocabulary.categories import Role

_ENOUGH = 8
"""With this many waits whose stream is known, guessed ones are left out: as many lags show an edge. As many
as the fit of a drift needs (`_LEAST_PAIRS` of `clock`)."""


@dataclass(frozen=True)
class Pairs:
    """Lags with their times.

    `time`: ns since the window's start. `lag`: ns; it cannot be negative if both ends are on one clock.
    """

    time: Ints
    lag: Ints


def launch_pairs(events: Events, launches: Launches, since_ns: int) -> tuple[Pairs, Pairs]:
    """Measure from each launching call's start to its first work, and from its end.

    The latter may be negative, and is measured only for calls that wait for no work. Calls whose id stands
    for several calls are left out, since the id dates nothing.

    Parameters
    ----------
    since_ns
        What the times of the pairs count from.

    Returns
    -------
    tuple of Pairs
        Of each launch when its work started, and the lag from the call's start, or from its end, ns.
    """
    first = _of_each_call(events, launches, events.start, "min")
    call = first.index.to_numpy(dtype=np.int64)
    start = np.asarray(first, dtype=np.int64)
    copies = np.flatnonzero((launches.call >= 0) & events.of_role(Role.COPY))
    waiting = launches.call[copies[_may_block(events, launches, copies)]]
    one = ~np.isin(call, _with_shared_id(events))
    late = one & ~np.isin(call, waiting)
    from_start = Pairs(start[one] - since_ns, start[one] - events.start[call[one]])
    return from_start, Pairs(start[late] - since_ns, start[late] - events.end[call[late]])


def _with_shared_id(events: Events) -> Ints:
    """Find rows of threads that share their correlation with a row that ended before or began after them."""
    rows = np.flatnonzero(events.on_thread & (events.written_correlation > 0))
    rows = rows[np.lexsort((events.start[rows], events.written_correlation[rows]))]
    ids = events.written_correlation[rows]
    again = (ids[1:] == ids[:-1]) & (events.start[rows[1:]] >= events.end[rows[:-1]])
    return rows[np.isin(ids, ids[1:][again])]


def wait_pairs(events: Events, launches: Launches, waits: HostWaits, since_ns: int) -> Pairs:
    """Measure from the end of the work that a call waited for to its return.

    That work is known for calls that name their stream, calls that wait for all streams, and copies to the
    host that block. If these are fewer than eight, synchronisations of an unknown stream count, too, as waits
    for the work that their thread launched last.

    Parameters
    ----------
    waits
        Which work each call waited for, and whether that is certain.
    since_ns
        What the times of the pairs count from.

    Returns
    -------
    Pairs
        Of each wait when its work ended, and the lag from there to its return, ns.
    """
    known = pd.Series(events.end[waits.work[waits.certain]], index=waits.call[waits.certain])
    ends = [known.groupby(level=0).max(), _blocking_copies(events, launches)]
    if len(ends[0]) + len(ends[1]) < _ENOUGH:
        ends.append(_guessed(events, launches, known.index.to_numpy(dtype=np.int64)))
    found = pd.concat(ends)
    end = found.to_numpy(dtype=np.int64)
    return Pairs(end - since_ns, events.end[found.index.to_numpy(dtype=np.int64)] - end)


def _of_each_call(events: Events, launches: Launches, times: Ints, which: str) -> "pd.Series[int]":
    """Find the first start or last end (`which`: "min" or "max") of the work of each launching call."""
    work = np.flatnonzero(launches.call >= 0)
    found: pd.Series[int] = pd.Series(times[work]).groupby(launches.call[work]).agg(which)
    return found


def _blocking_copies(events: Events, launches: Launches) -> "pd.Series[int]":
    """Find ends of copies to the host whose call returns after them: not `Async`, or to pageable memory."""
    copies = np.flatnonzero((launches.call >= 0) & events.of_role(Role.COPY))
    chosen = copies[_may_block(events, launches, copies) & is_named(events, *TO_HOST)[copies]]
    return pd.Series(events.end[chosen], index=launches.call[chosen])


def _may_block(events: Events, launches: Launches, copies: Ints) -> Flags:
    found: Flags = ~is_named(events, "Async")[launches.call[copies]] | is_named(events, "Pageable")[copies]
    return found


def _guessed(events: Events, launches: Launches, known: Ints) -> "pd.Series[int]":
    """Find ends of the last work launched by the thread before each synchronisation of an unknown stream."""
    calls = np.setdiff1d(np.flatnonzero(is_call_named(events, "StreamSync")), known)
    last = _of_each_call(events, launches, events.end, "max")
    position = nearest_on_thread(events, calls, last.index.to_numpy(dtype=np.int64), "backward")
    return pd.Series(last.to_numpy()[position[position >= 0]], index=calls[position >= 0])
