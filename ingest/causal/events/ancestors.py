"""Walks up a forest that is given as the position of each node's parent, -1 for a root."""

import numpy as np

from tracegraph.ingest.arrays import Flags, Ints


def nearest_above(own: Ints, parent: Ints) -> Ints:
    """Give each node its `own`, else that of its nearest ancestor whose `own` is not -1; else -1.

    Pointer jumping: each round doubles how far a node has looked up, so the rounds grow with the logarithm
    of the depth.
    """
    count = len(own)
    above = np.append(np.where(parent >= 0, parent, count), count)
    found = np.append(own, -1)
    above[:-1][own >= 0] = count
    while (above < count).any():
        found = np.where(found < 0, found[above], found)
        above = np.where(found < 0, above[above], count)
    nearest: Ints = found[:-1]
    return nearest


def levels_upwards(parent: Ints, given: Flags) -> list[Ints]:
    """Split the `given` nodes and all their ancestors, without the roots, by depth: the deepest first."""
    reached = given.copy()
    front = np.flatnonzero(reached)
    while len(front):
        above = np.unique(parent[front])
        front = above[(above >= 0) & ~reached[above]]
        reached[front] = True
    chosen = np.flatnonzero(reached)
    depth = np.zeros(len(chosen), dtype=np.int64)
    at = parent[chosen]
    while (at >= 0).any():
        depth += at >= 0
        at = np.where(at >= 0, parent[at], -1)
    chosen, depth = chosen[depth > 0], depth[depth > 0]
    order = np.argsort(-depth, kind="stable")
    starts = np.flatnonzero(np.diff(depth[order])) + 1
    return np.split(chosen[order], starts) if len(chosen) else []
