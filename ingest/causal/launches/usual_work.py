"""How long a call of the runtime works when nothing holds it, and when its launch has left it."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from tracegraph.ingest.arrays import Flags, Floats, Ints
from tracegraph.ingest.causal.events.events import NONE, Events
from tracegraph.ingest.causal.launches.launches import Lags, Launches

_FEWEST = 3
"""A name with fewer clear calls gets the figure of all launching calls. Chosen by eye: the median of three is
one that neither a first call nor a late return makes."""
_LOW, _SAME_KIND = 0.05, 4
"""Calls of up to four times the 5 % quantile count as those that nothing held: calls of one name differ by
what they launch, but one that waits lasts as long as other work. Four was chosen by eye: recorded launches
take 3 to 10 µs in the median and 6 to 36 µs at the 99 % quantile."""
Codes = npt.NDArray[np.signedinteger[Any]]


def median_by_name(lengths: Ints, names: Codes, of: Codes, fewest: int = 1) -> Floats:
    """Find the median length of each name in `of`; infinite for a name with fewer than `fewest` lengths.

    Parameters
    ----------
    lengths, names
        The lengths, and the code of the name of each.
    of
        The codes of the names that are asked about.

    Returns
    -------
    Floats
        One for each of `of`, in the unit of `lengths`.
    """
    wanted = np.isin(names, of)
    groups = pd.Series(lengths[wanted]).groupby(names[wanted])
    medians = groups.median().where(groups.size() >= fewest, np.inf).reindex(of, fill_value=np.inf)
    return medians.to_numpy(dtype=np.float64)


def usual_work(events: Events, launches: Launches, lags: Lags, done: Ints) -> Ints:
    """Measure how many ns launching calls of each event's name work if nothing holds them; 0 for others.

    Calls count that return before their work starts; and, up to the launch, calls whose stream was idle when
    they began. A name with fewer than three of these gets the figure of all launching calls. No name gets
    more than the shortest time in which one of its calls was seen to launch.

    Parameters
    ----------
    done
        See `launches.done_before`.
    """
    call, begun, idle = _first_work(events, launches, done)
    usual = np.zeros(len(events), dtype=np.int64)
    if not len(call):
        return usual
    name, start = events.name.codes[call], events.start[call]
    lasted = np.minimum(events.end[call], begun - lags.launch_from_end) - start
    clear = (lasted > 0) & ((begun >= events.end[call]) | idle)
    samples = pd.Series(lasted[clear])
    by_name = {code: same for code, same in samples.groupby(name[clear]) if len(same) >= _FEWEST}
    known = pd.Series({code: _unheld(same) for code, same in by_name.items()}, dtype=np.float64)
    fallback = _unheld(samples) if len(samples) else lags.launch_from_start
    shortest = pd.Series(np.maximum(lasted, 0)).groupby(name).min()
    shared = known.reindex(shortest.index).fillna(fallback).clip(upper=shortest)
    launching = np.isin(events.name.codes, shortest.index) & events.on_thread
    usual[launching] = shared.reindex(events.name.codes[launching]).to_numpy().astype(np.int64)
    return usual


def _unheld(lasted: "pd.Series[int]") -> int:
    """Find the median of the calls that nothing held: those of the shortest kind."""
    return int(lasted[lasted <= _SAME_KIND * lasted.quantile(_LOW)].median())


def _first_work(events: Events, launches: Launches, done: Ints) -> tuple[Ints, Ints, Flags]:
    """Find launching calls, the start of each one's first work, and whether its stream was idle then."""
    work = np.flatnonzero(launches.call >= 0)
    work = work[np.lexsort((events.start[work], launches.call[work]))]
    call, first = np.unique(launches.call[work], return_index=True)
    return call, events.start[work[first]], done[work[first]] < events.start[call]


def left_at(events: Events, launches: Launches, lags: Lags, usual_work: Ints, done_before: Ints) -> Ints:
    """Find the moment at which each activity's launch left its call, ns; `NONE` without a call.

    That is the call's end. Work that starts while the call still runs was launched from inside it: one usual
    latency before the work's start, but not in the first half of the time since the call's start. If the
    stream was busy for longer than such a call works, the launch left after the call's usual work, since from
    then on the call waited.

    Parameters
    ----------
    usual_work
        For each event that is a call how long it works if nothing holds it, ns.
    done_before
        For each event when the work before it on its stream had ended, ns.

    Returns
    -------
    Ints
        A time for each event.
    """
    call = np.maximum(launches.call, 0)
    start, call_start, call_end = events.start, events.start[call], events.end[call]
    half = call_start + (start - call_start) // 2
    inside = np.maximum(half, start - lags.launch_from_start)
    worked = call_start + usual_work[call]
    held = done_before > worked + lags.launch_from_end
    inside = np.where(held, np.minimum(inside, worked), inside)
    found: Ints = np.where(launches.call < 0, NONE, np.where(start < call_end, inside, call_end))
    return found
