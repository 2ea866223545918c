"""An order in which a replay may go through the segments of a graph: causes before their effects."""

import numpy as np

from tracegraph.ingest.arrays import Ints
from tracegraph.ingest.causal.dependencies import Dependencies, causal_order
from tracegraph.ingest.causal.segments import Segments


def replay_order(segments: Segments, found: Dependencies) -> Ints:
    """Positions of the segments, each after all that it depends on.

    The order by time is one, unless segments of no length follow each other: as in a graph that was changed.
    """
    order = causal_order(segments)
    position = np.empty(len(segments), dtype=np.int64)
    position[order] = np.arange(len(segments))
    if (position[found.cause] < position[found.effect]).all():
        return order
    at_once = segments.start[found.cause] == segments.start[found.effect]
    depth = _depth(len(segments), found.cause[at_once], found.effect[at_once])
    return np.lexsort((segments.end, depth, segments.start))


def _depth(count: int, cause: Ints, effect: Ints) -> Ints:
    """By how many edges each of `count` segments comes after those without a cause."""
    order = np.argsort(cause, kind="stable")
    first = np.searchsorted(cause[order], np.arange(count + 1)).tolist()
    effects, missing = effect[order].tolist(), np.bincount(effect, minlength=count).tolist()
    depth = [0] * count
    ready = [at for at in np.unique(cause).tolist() if not missing[at]]
    while ready:
        at = ready.pop()
        for after in effects[first[at] : first[at + 1]]:
            depth[after] = max(depth[after], depth[at] + 1)
            missing[after] -= 1
            if not missing[after]:
                ready.append(after)
    return np.array(depth, dtype=np.int64)
