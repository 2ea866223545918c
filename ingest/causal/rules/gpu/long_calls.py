"""Finds calls that last far longer than others of their name while the GPU works, for no known reason."""

import numpy as np

from tracegraph.ingest.arrays import Floats, Ints
from tracegraph.ingest.causal.events.events import Events, is_call_named
from tracegraph.ingest.causal.launches.usual_work import median_by_name
from tracegraph.ingest.causal.rules.context import Context
from tracegraph.ingest.causal.rules.edges import UNEXPLAINED, Found, Waits
from tracegraph.ingest.intervals import covered, ungrouped
from tracegraph.vocabulary.categories import Role

_TIMES_USUAL, _SHORTEST_NS = 10, 100_000
"""A rest of a call is unexplained if it lasts this many times the usual length, and at least this long. 100
µs is where the rules begin to look for waits. Ten was chosen by eye, above what calls of one name differ by:
recorded launches of kernels take 3 to 10 µs in the median and 6 to 36 µs at the 99 % quantile."""
_FEWEST = 5
"""A name has a usual length if it has this many events. Chosen by eye: the median of fewer may be that of the
calls that waited."""
_BUSY = 0.5
"""In which share of the rest the GPU must be busy: an idle GPU is not what a call waits for. A half is the
majority of the rest."""


def unexplained_calls(context: Context, found: Found) -> Found:
    """Find stretches of calls that are neither their work nor a wait found before.

    A call works for as long as calls of its name do at the median (at least five are needed; calls that are
    named after waiting do no work). The rest before and after its waits is unexplained if it lasts ten times
    as long, and at least 100 µs, while the GPU is busy for half of it. If the GPU idles, there is nothing on
    it to wait for: then the rest is the driver's own work, as in the first call of a library.
    """
    events = context.events
    call = np.flatnonzero(events.on_thread & events.of_role(Role.CALL))
    call = call[events.end[call] - events.start[call] >= _SHORTEST_NS]
    usual = _usual(events, call)
    call, usual = call[usual < np.inf], usual[usual < np.inf].astype(np.int64)
    begin, end = _left_over(events, call, found.waits)
    begin = np.minimum(begin + np.tile(usual, 2), end)
    call, usual = np.tile(call, 2), np.tile(usual, 2)
    long = end - begin >= np.maximum(_TIMES_USUAL * usual, _SHORTEST_NS)
    call, begin, end = call[long], begin[long], end[long]
    busy = _busy(events, begin, end) >= _BUSY * (end - begin)
    call, begin, end = call[busy], begin[busy], end[busy]
    none = np.full(len(call), UNEXPLAINED, dtype=np.int64)
    waits = Waits(events.lane[call], begin, end, call, none, np.zeros(len(call), dtype=bool))
    return Found(waits=waits)


def _usual(events: Events, call: Ints) -> Floats:
    """Find the median duration of each call's name, ns; 0 for names of waits, infinite for rare ones."""
    name, lasted = events.name.codes, events.end - events.start
    usual = median_by_name(lasted[events.on_thread], name[events.on_thread], name[call], _FEWEST)
    return np.where(is_call_named(events, "Synchronize")[call], 0, usual)


def _left_over(events: Events, call: Ints, known: Waits) -> tuple[Ints, Ints]:
    """Find begin and end of what each call does before its first wait, then of what follows its last."""
    inside = known.event >= 0
    first = np.full(len(events), np.iinfo(np.int64).max)
    last = events.start.copy()
    np.minimum.at(first, known.event[inside], known.start[inside])
    np.maximum.at(last, known.event[inside], known.end[inside])
    waits = first[call] <= events.end[call]
    begin = np.concatenate([events.start[call], last[call]])
    until = np.where(waits, first[call], events.end[call])
    # A call that waits for nothing has one stretch, not two.
    end = np.concatenate([until, np.where(waits, events.end[call], last[call])])
    return begin, np.maximum(begin, end)


def _busy(events: Events, begin: Ints, end: Ints) -> Ints:
    """Measure in how many ns of each stretch any GPU of the file ran something."""
    work = ungrouped(events.start[events.is_gpu], events.end[events.is_gpu])
    return covered(ungrouped(begin, end), work)
