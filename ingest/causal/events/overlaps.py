"""Which rows of GPU work that overlap have an order all the same: by noise, or since they start in step."""

import numpy as np

from tracegraph.ingest.arrays import Flags, Ints
from tracegraph.ingest.causal.events.events import Events

NOISE_NS = 1_000
"""By how much two rows may overlap only because their times are noisy."""
_LONGEST_NS = 5_000
"""Rows of one stream overlap by up to some µs if the next kernel begins while the last block ends."""
_STEP, _DEEP_STEP = 0.5, 0.25
"""By how much of the shorter row the later one starts and ends later, where two and where more are deep."""
_ALIKE, _MANY = 0.9, 8
"""From how many overlaps on a stream may run its works in steps, and which share must be alike for that."""
_REST_NS = (300, 2_500)
"""How long a stream rests between two of its works."""


def only_slightly(events: Events, cause: Ints, effect: Ints) -> Flags:
    """Pairs whose rows overlap by no more than an order allows, or not at all.

    Times are noisy, and a kernel may start early beside the last blocks of the one before (programmatic
    launch): an overlap of up to 1 µs, or of less than half of the shorter row and up to 5 µs, leaves the
    order as it is known, if the effect ends last.
    """
    overlap = events.end[cause] - events.start[effect]
    shorter = np.minimum(events.end[cause] - events.start[cause], events.end[effect] - events.start[effect])
    slight = (overlap <= NOISE_NS) | ((2 * overlap < shorter) & (overlap <= _LONGEST_NS))
    last = (events.start[cause] < events.start[effect]) & (events.end[cause] <= events.end[effect])
    ordered: Flags = (overlap <= 0) | (slight & last)
    return ordered


def in_step(events: Events, cause: Ints, effect: Ints, ended: Ints) -> Flags:
    """Pairs of one stream whose rows overlap because the hardware lets the next one start early.

    With programmatic dependent launch a stream's works start and end one after the other, each well after the
    one before. It is believed of a stream where nine of ten overlaps beyond noise are such; where there are
    eight, of rows that overlap by up to three quarters, too. Works of several streams that a tool merged into
    one row end in another order than they start in, or start just after the end of an earlier one, again and
    again, whatever they overlap with. `ended`: for each pair the last of the stream to end before the
    effect's start, -1 for none.
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
    """Whether starts follow the end of an earlier row as a stream's do, while overlaps with others vary."""
    follow = (rests >= _REST_NS[0]) & (rests <= _REST_NS[1])
    if not len(rests) or follow.mean() < _ALIKE:
        return False
    spreads = (float(np.subtract(*np.quantile(values, [0.75, 0.25]))) for values in (rests, overlaps))
    of_rests, of_overlaps = spreads
    return of_overlaps > 2 * of_rests + NOISE_NS / 2
