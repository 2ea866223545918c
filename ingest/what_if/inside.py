"""What runs inside something: which of some frames of the call stacks stands above another."""

import numpy as np

from tracegraph.ingest.arrays import Flags, Ints
from tracegraph.ingest.causal.frames import Frames


def nearest_above(frames: Frames, chosen: Flags) -> Ints:
    """For each frame the innermost of the `chosen` frames at or above it, -1 for none."""
    nearest = np.where(chosen, np.arange(len(frames)), -1)
    for depth in range(1, int(frames.depth.max(initial=0)) + 1):
        level = np.flatnonzero((frames.depth == depth) & (nearest < 0))
        nearest[level] = nearest[frames.parent[level]]
    return nearest
