"""Stretches in which a thread was off the CPU: they begin and end with ticks of the scheduler."""

from typing import NamedTuple

import numpy as np

from tracegraph.ingest.array_tables import select_rows
from tracegraph.ingest.arrays import Flags, Floats, Ints
from tracegraph.ingest.causal.events.callstack import CallStack
from tracegraph.ingest.causal.events.events import Events
from tracegraph.ingest.causal.launches.usual_work import median_by_name
from tracegraph.ingest.causal.rules.context import Context
from tracegraph.ingest.causal.rules.edges import OFF_CPU, UNEXPLAINED, Found, Waits
from tracegraph.ingest.causal.rules.sureness import by_chance
from tracegraph.ingest.intervals import Spans, covered

_TICKS_NS = (1_000_000, 10_000_000 / 3, 4_000_000, 10_000_000)
"""Linux looks for a thread to run instead at 1000, 300, 250 or 100 Hz."""
_NEAR_NS = 60_000
"""The scheduler looks every tick; a turn begins or ends within that of one."""
_SHORTEST_NS, _TIMES_USUAL, _FEWEST = 1_000_000, 3, 5
"""A held stretch lasts at least a tick and so many times what is usual, of a name with that many others."""
_LEAST_HITS, _LEAST_SIDE, _LEAST_NAMES = 6, 2, 3
"""Turns, those of either side, and names among them, without which a tick may fit by chance."""
_CHANCE, _SHARE = 1e-3, 0.8
"""How likely so many would be near ticks by chance, and which share of them must be beyond it."""


class _Hits(NamedTuple):
    """Stretches that begin just before a tick, and those that end just after one; how likely by chance."""

    begins: Flags
    ends: Flags
    chance: float


def off_cpu(context: Context, found: Found) -> Found:
    """Stretches of threads in which the system ran another thread instead.

    A busy CPU changes threads at the ticks of its scheduler, which come every 1, 3.3, 4 or 10 ms. Stretches
    count that last three times as long as usual for what is open, and 1 ms longer. Where these begin up to
    60 µs before such ticks and end up to 60 µs after them far more often than by chance (with one phase in
    the whole file, in events of several names), those that do were held off the CPU, whatever was open.
    Waits found before are explained already.
    """
    events = context.events
    lane, start, end, event, usual = _unusual(events, context.stack, found.waits)
    name = np.append(events.name.codes, -1)[event]
    hits = min((_find_phase(start, end, name, tick) for tick in _TICKS_NS), key=lambda found: found.chance)
    chosen = hits.begins | hits.ends
    if hits.chance > _CHANCE:
        chosen = np.zeros(len(start), dtype=bool)
    held = np.full(len(start), OFF_CPU, dtype=np.int64)
    waits = Waits(lane, start + usual, end, event, held, np.zeros(len(start), dtype=bool))
    return Found(waits=select_rows(waits, chosen))


def _unusual(events: Events, stack: CallStack, known: Waits) -> tuple[Ints, Ints, Ints, Ints, Ints]:
    """Lane, start, end, event and usual length of stretches far longer than is usual for their name."""
    lasted = stack.piece_end - stack.piece_start
    name = np.append(events.name.codes, -1)[stack.piece_event]
    long = np.flatnonzero(lasted >= _SHORTEST_NS)
    usual = median_by_name(lasted, name, name[long], _FEWEST)
    unusual = lasted[long] >= np.maximum(_TIMES_USUAL * usual, usual + _SHORTEST_NS)
    long, usual = long[unusual], usual[unusual].astype(np.int64)
    stretches = Spans(stack.piece_lane[long], stack.piece_start[long], stack.piece_end[long])
    told = select_rows(known, known.mechanism != UNEXPLAINED)
    free = covered(stretches, Spans(told.lane, told.start, told.end)) == 0
    long, usual = long[free], usual[free]
    pieces = stack.piece_lane, stack.piece_start, stack.piece_end, stack.piece_event
    lane, start, end, event = (column[long] for column in pieces)
    return lane, start, end, event, usual


def _find_phase(start: Ints, end: Ints, name: Ints, tick: float) -> _Hits:
    """Return the phase of ticks of one length with which most stretches begin and end, each moment once."""
    origin = int(start.min()) if len(start) else 0
    before, after = np.fmod(start - origin, tick), np.fmod(end - origin, tick)
    phases = np.concatenate([before, after])
    count = _count(before, phases - _NEAR_NS, tick) + _count(after, phases, tick)
    if not len(count):
        return _Hits(start < 0, end < 0, 1.0)
    phase = phases[int(count.argmax())]
    begins, ends = (phase - before) % tick <= _NEAR_NS, (after - phase) % tick <= _NEAR_NS
    numbers = [np.unique(np.rint((at - origin - phase) / tick)) for at in (start[begins], end[ends])]
    least = min(len(number) for number in numbers)
    total = sum(len(number) for number in numbers)
    expected = len(start) * _NEAR_NS / tick
    enough = total >= _LEAST_HITS and least >= _LEAST_SIDE
    if not enough or len(np.unique(name[begins | ends])) < _LEAST_NAMES:
        return _Hits(begins, ends, 1.0)
    # What is near a tick at one side only may be there by chance.
    both = begins & ends
    begins &= both | (expected <= (1 - _SHARE) * begins.sum())
    ends &= both | (expected <= (1 - _SHARE) * ends.sum())
    return _Hits(begins, ends, len(_TICKS_NS) * 2 * tick / _NEAR_NS * by_chance(total, 2 * expected))


def _count(moments: Floats, since: Floats, tick: float) -> Ints:
    """How many of the moments, told from a tick, lie up to 60 µs after each of `since`."""
    around = np.sort(np.concatenate([moments - tick, moments, moments + tick]))
    first = np.searchsorted(around, since, "left")
    found: Ints = np.searchsorted(around, since + _NEAR_NS, "right") - first
    return found
