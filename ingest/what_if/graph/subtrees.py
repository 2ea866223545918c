"""What runs inside something: below its frames, and what other threads were handed while it was open."""

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from tracegraph.ingest.arrays import Flags, Ints
from tracegraph.ingest.causal.graph.stack_frames import Frames
from tracegraph.ingest.what_if.graph.graph import ReplayGraph
from tracegraph.ingest.what_if.graph.hand_overs import HandedOver


def nearest_above(frames: Frames, chosen: Flags) -> Ints:
    """Find for each frame the innermost of the `chosen` frames at or above it, -1 for none."""
    nearest = np.where(chosen, np.arange(len(frames)), -1)
    for depth in range(1, int(frames.depth.max(initial=0)) + 1):
        level = np.flatnonzero((frames.depth == depth) & (nearest < 0))
        nearest[level] = nearest[frames.parent[level]]
    return nearest


@dataclass(frozen=True)
class Spots:
    """Where segments are that run inside the same: of one frame, and handed over at once.

    Whatever holds one segment of a spot holds all of them, and a run has far fewer spots than segments.

    Attributes
    ----------
    frame
        The frame of each.
    handed
        What was handed over, between spots.
    of_segment
        The spot of each segment.
    """

    frame: Ints
    handed: HandedOver
    of_segment: Ints

    def held_by(self, frames: Frames, chosen: Flags) -> Flags:
        """Tell which spots any of the `chosen` frames holds."""
        held: Flags = self.handed.spread(nearest_above(frames, chosen)[self.frame]) >= 0
        return held


def find_spots(graph: ReplayGraph) -> Spots:
    """Find the spots of a graph."""
    frame, handed = graph.frames.of_segment, graph.handed_over
    if not len(handed):
        nowhere = np.full(len(graph.frames), -1, dtype=np.int64)
        return Spots(np.arange(len(graph.frames)), replace(handed, of_segment=nowhere), frame)
    count = len(handed) + 1
    of_segment, both = pd.factorize(frame * count + handed.of_segment + 1)
    between = replace(
        handed,
        giver=of_segment[handed.giver],
        after=of_segment[handed.after],
        of_segment=both % count - 1,
    )
    return Spots(both // count, between, of_segment)


def held_by(graph: ReplayGraph, chosen: Flags, within: Flags | bool = True) -> Ints:
    """Find for each segment the innermost of the `chosen` frames that holds it, -1 for none.

    A frame holds what runs below it, with GPU work launched there, and what another thread was handed while
    it was open, with what that one launched and handed over in turn. Call stacks alone say only the former,
    as in *Where in my code*. `within`: the segments in which frames count, such as those of one step.
    """
    above = nearest_above(graph.frames, chosen)[graph.frames.of_segment]
    return graph.handed_over.spread(np.where(within, above, -1))
