"""Which rows of GPU work that overlap have an order all the same."""

import numpy as np

from tracegraph.ingest.arrays import Flags, Ints
from tracegraph.ingest.causal.events import Events

NOISE_NS = 1_000
"""By how much two rows may overlap only because their times are noisy."""
_LONGEST_NS = 5_000


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
