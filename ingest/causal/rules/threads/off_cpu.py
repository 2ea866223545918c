"""Stretches in which a thread was off the CPU: they begin and end with ticks of the scheduler."""

from typing import NamedTuple

import numpy as np

from tracegraph.ingest.array_tables import select_rows
from tracegraph.ingest.arrays import Flags, Floats, Ints
from tracegraph.ingest.causal.launches.usual_work import median_by_name
from tracegraph.ingest.causal.rules.context import Context
from tracegraph.ingest.causal.rules.edges import OFF_CPU, UNEXPLAINED, Found, Waits
from tracegraph.ingest.causal.rules.sureness import by_chance
from tracegraph.ingest.intervals import Spans, covered

_TICKS_NS = (1_000_000, 10_000_000 / 3, 4_000_000, 10_000_000)
"""Linux looks for a thread to run instead at 1000, 300, 250 or 100 Hz."""
_NEAR_NS = 60_000
"""How long before a tick a stretch may begin, and how long after one it may end. In the real files that show
such turns, most of these stretches do so (docs/accuracy.md, "Off the CPU")."""
_SHORTEST_NS, _TIMES_USUAL, _FEWEST = _TICKS_NS[0], 3, 5
"""A stretch is unusual if it lasts `_TIMES_USUAL` times as long as usual for its name, and `_SHORTEST_NS`
longer; a name has a usual length if it has `_FEWEST` stretches. A turn of another thread lasts from one tick
to another, so at least the shortest; the others were chosen by eye: work of one name differs by what it works
on, and of fewer stretches the median may be one that was held."""
_LEAST_HITS, _LEAST_SIDE, _LEAST_NAMES = 6, 2, 3
"""How many ticks must be hit at least in all, how many by starts and by ends each, and by events of how many
names. Chosen by eye: one function that runs periodically can keep step with ticks, several names hardly can,
and fewer hits are soon there by chance in short files."""
_CHANCE, _SHARE = 1e-3, 0.8
"""Chance may show as much in one of a thousand files; a side counts alone if this share of its hits is beyond
chance. A phase that is found colours the whole file, so the level is stricter than that of other rules. The
share was chosen by eye: at most one in five such turns may be chance."""


class _Hits(NamedTuple):
    """Which stretches begin just before a tick, which end just after one, and how likely chance does that."""

    begins: Flags
    ends: Flags
    chance: float


def off_cpu(context: Context, found: Found) -> Found:
    """Find stretches of threads in which the system ran another thread instead.

    A busy CPU changes threads at the ticks of its scheduler, which come every 1, 3.3, 4 or 10 ms. Stretches
    count that last three times as long as usual for the open event, and 1 ms longer. If these begin up to
    60 µs before such ticks and end up to 60 µs after them far more often than by chance (with one phase in
    the whole file, in events of several names), the ones that do were held off the CPU, whatever was open.
    Stretches with a known wait are explained already. Where a thread's turns are recorded, none is inferred.
    """
    events = context.events
    lane, start, end, event, usual = _unusual(context, found.waits)
    name = np.append(events.name.codes, -1)[event]
    hits = min((_find_phase(start, end, name, tick) for tick in _TICKS_NS), key=lambda found: found.chance)
    chosen = hits.begins | hits.ends
    if hits.chance > _CHANCE:
        chosen = np.zeros(len(start), dtype=bool)
    held = np.full(len(start), OFF_CPU, dtype=np.int64)
    waits = Waits(lane, start + usual, end, event, held, np.zeros(len(start), dtype=bool))
    return Found(waits=select_rows(waits, chosen))


def _unusual(context: Context, known: Waits) -> tuple[Ints, Ints, Ints, Ints, Ints]:
    """Find stretches far longer than usual for their name: lane, start, end, event and usual length."""
    events, stack = context.events, context.stack
    lasted = stack.piece_end - stack.piece_start
    name = np.append(events.name.codes, -1)[stack.piece_event]
    long = np.flatnonzero(lasted >= _SHORTEST_NS)
    usual = median_by_name(lasted, name, name[long], _FEWEST)
    unusual = lasted[long] >= np.maximum(_TIMES_USUAL * usual, usual + _SHORTEST_NS)
    long, usual = long[unusual], usual[unusual].astype(np.int64)
    stretches = Spans(stack.piece_lane[long], stack.piece_start[long], stack.piece_end[long])
    told = select_rows(known, known.mechanism != UNEXPLAINED)
    free = covered(stretches, Spans(told.lane, told.start, told.end)) == 0
    free &= ~np.isin(stretches.group, context.stated.off_cpu.lane)
    long, usual = long[free], usual[free]
    pieces = stack.piece_lane, stack.piece_start, stack.piece_end, stack.piece_event
    lane, start, end, event = (column[long] for column in pieces)
    return lane, start, end, event, usual


def _find_phase(start: Ints, end: Ints, name: Ints, tick: float) -> _Hits:
    """Find the phase of ticks of one length with which most stretches begin and end, each tick once."""
    origin = int(start.min()) if len(start) else 0
    before, after = np.fmod(start - origin, tick), np.fmod(end - origin, tick)
    phases = np.concatenate([before, after])
    if not len(phases):
        return _Hits(start < 0, end < 0, 1.0)
    order = np.argsort(phases, kind="stable")
    count = _count(before, phases[order] - _NEAR_NS, tick) + _count(after, phases[order], tick)
    phase = phases[order[count == count.max()].min()]
    begins, ends = (phase - before) % tick <= _NEAR_NS, (after - phase) % tick <= _NEAR_NS
    numbers = [np.unique(np.rint((at - origin - phase) / tick)) for at in (start[begins], end[ends])]
    least = min(len(number) for number in numbers)
    total = sum(len(number) for number in numbers)
    expected = len(start) * _NEAR_NS / tick
    enough = total >= _LEAST_HITS and least >= _LEAST_SIDE
    if not enough or len(np.unique(name[begins | ends])) < _LEAST_NAMES:
        return _Hits(begins, ends, 1.0)
    # A stretch that is near a tick at one side only may be there by chance.
    both = begins & ends
    begins &= both | (expected <= (1 - _SHARE) * begins.sum())
    ends &= both | (expected <= (1 - _SHARE) * ends.sum())
    # Chance counts once for each test: 2 * tick / _NEAR_NS phases, of each length of ticks.
    return _Hits(begins, ends, len(_TICKS_NS) * 2 * tick / _NEAR_NS * by_chance(total, 2 * expected))


def _count(moments: Floats, since: Floats, tick: float) -> Ints:
    """Count the moments, given as their phase within a tick, up to 60 µs after each of `since`.

    These are in order, since to look for them in any other takes several times as long.
    """
    moments = np.sort(moments)
    around = np.concatenate([moments - tick, moments, moments + tick])
    first = np.searchsorted(around, since, "left")
    found: Ints = np.searchsorted(around, since + _NEAR_NS, "right") - first
    return found
