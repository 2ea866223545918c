"""Finds overlapping rows of GPU work that still have an order: times are noisy, or they start in step."""

import numpy as np

from tracegraph.ingest.arrays import Flags, Ints
from tracegraph.ingest.causal.events.events import Events

NOISE_NS = 1_000
"""By how much two rows may overlap only because their times are noisy. Files that state whole microseconds
round starts and durations apart, so that a row may reach 1 µs into the next one."""
_LONGEST_NS = 5_000
"""The longest overlap that an early start of the next kernel explains; it must be under half of the shorter
row, too. Chosen by eye: the last blocks of a kernel take microseconds; a longer one would take work that runs
beside other work for work that follows it."""
_STEP, _DEEP_STEP = 0.5, 0.25
"""The share of the shorter row by which the later row must start and end later to be in step; the smaller one
holds if the stream has `_MANY` overlaps and no graph launch holds both rows. Chosen by eye: a few overlaps,
or works of a graph, which has branches, must show more to be believed than many that agree."""
_ALIKE, _MANY = 0.9, 8
"""The share of a stream's overlaps (or of its rests) that must agree, and how many overlaps are many. Chosen
by eye: one in ten may be noise, but of only eight all must agree."""
_REST_NS = (300, 2_500)
"""The shortest and longest rest of a stream between two of its works that run one after the other. In the
recorded files whose times are finer than 1 µs, of Nvidia's GPUs, the median is 1.2 to 2.2 µs and the 5 %
quantile 0.9 to 1.3 µs; the rest of the range was chosen by eye."""


def only_slightly(events: Events, cause: Ints, effect: Ints) -> Flags:
    """Tell which pairs overlap so little, or not at all, that their known order holds.

    Times are noisy, and a kernel may start early beside the last blocks of the one before (programmatic
    launch). So an overlap of up to 1 µs, or of up to 5 µs and less than half of the shorter row, leaves the
    known order as it is if the effect starts and ends last.
    """
    overlap = events.end[cause] - events.start[effect]
    shorter = np.minimum(events.end[cause] - events.start[cause], events.end[effect] - events.start[effect])
    slight = (overlap <= NOISE_NS) | ((2 * overlap < shorter) & (overlap <= _LONGEST_NS))
    last = (events.start[cause] < events.start[effect]) & (events.end[cause] <= events.end[effect])
    ordered: Flags = (overlap <= 0) | (slight & last)
    return ordered


def in_step(events: Events, cause: Ints, effect: Ints, ended: Ints) -> Flags:
    """Tell which pairs of one stream overlap because the hardware lets the next work start early.

    With programmatic dependent launch a stream's works start and end one after the other, each well after the
    one before. A stream is believed to do so if nine of ten of its overlaps beyond noise are such; if it has
    eight of them, rows may overlap by up to three quarters. Works of several streams that a tool merged into
    one row behave differently: they end in another order than they start in, or they start again and again
    just after the end of an earlier work, whatever they overlap with.

    Parameters
    ----------
    ended
        For each pair the last work of the stream to end before the effect's start, -1 for none.
    """
    start, end = events.start, events.end
    overlaps = end[cause] > start[effect] + NOISE_NS
    shorter = np.minimum(end[cause] - start[cause], end[effect] - start[effect])
    ahead = np.minimum(start[effect] - start[cause], end[effect] - end[cause])
    many = int(overlaps.sum()) >= _MANY
    one_graph = (events.correlation[cause] == events.correlation[effect]) & (events.correlation[cause] > 0)
    stepping = overlaps & (ahead >= np.where(many & ~one_graph, _DEEP_STEP, _STEP) * shorter)
    alike = int(stepping.sum()) >= _ALIKE * int(overlaps.sum())
    after = stepping & (ended >= 0)
    rests = start[effect[after]] - end[ended[after]]
    believed = alike and not (many and _are_merged(rests, (end[cause] - start[effect])[after]))
    found: Flags = stepping & believed
    return found


def _are_merged(rests: Ints, overlaps: Ints) -> bool:
    """Tell whether starts follow ends of earlier rows as a stream's do, while overlaps with others vary.

    That is: nine of ten `rests` are as long as a stream's, and the interquartile range of the overlaps is
    more than twice that of the rests plus half of the noise.
    """
    follow = (rests >= _REST_NS[0]) & (rests <= _REST_NS[1])
    if not len(rests) or follow.mean() < _ALIKE:
        return False
    spreads = (float(np.subtract(*np.quantile(values, [0.75, 0.25]))) for values in (rests, overlaps))
    of_rests, of_overlaps = spreads
    return of_overlaps > 2 * of_rests + NOISE_NS / 2
