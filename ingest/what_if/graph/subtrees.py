"""What runs inside something: below its frames, and what other threads were handed while it was open."""

import numpy as np

from tracegraph.ingest.arrays import Flags, Ints
from tracegraph.ingest.causal.graph.stack_frames import Frames
from tracegraph.ingest.what_if.graph.graph import ReplayGraph


def nearest_above(frames: Frames, chosen: Flags) -> Ints:
    """Find for each frame the innermost of the `chosen` frames at or above it, -1 for none."""
    nearest = np.where(chosen, np.arange(len(frames)), -1)
    for depth in range(1, int(frames.depth.max(initial=0)) + 1):
        level = np.flatnonzero((frames.depth == depth) & (nearest < 0))
        nearest[level] = nearest[frames.parent[level]]
    return nearest


def held_by(graph: ReplayGraph, chosen: Flags, within: Flags | bool = True) -> Ints:
    """Find for each segment the innermost of the `chosen` frames that holds it, -1 for none.

    A frame holds what runs below it, with GPU work launched there, and what another thread was handed while
    it was open, with what that one launched and handed over in turn. Call stacks alone say only the former,
    as in *Where in my code*. `within`: the segments in which frames count, such as those of one step.
    """
    above = nearest_above(graph.frames, chosen)[graph.frames.of_segment]
    return graph.handed_over.spread(np.where(within, above, -1))
