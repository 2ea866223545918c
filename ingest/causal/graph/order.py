"""Finds an order in which a replay may go through the segments: causes before their effects."""

import numpy as np

from tracegraph.base.errors import InputError
from tracegraph.ingest.arrays import Ints
from tracegraph.ingest.causal.graph.dependencies import Dependencies, causal_order
from tracegraph.ingest.causal.graph.segments import Segments


def replay_order(segments: Segments, found: Dependencies) -> Ints:
    """Order the segments, each after all that it depends on.

    The order by time is such an order, unless segments of no length follow each other, as in a graph that was
    changed, or dependencies were put in by hand against the order of the recording.

    Raises
    ------
    InputError
        Segments depend on each other in a circle.
    """
    order = causal_order(segments)
    position = np.empty(len(segments), dtype=np.int64)
    position[order] = np.arange(len(segments))
    if (position[found.cause] < position[found.effect]).all():
        return order
    begun, begins = segments.start[found.cause], segments.start[found.effect]
    if (begun > begins).any():
        return np.argsort(_depth(len(segments), found.cause, found.effect), kind="stable")
    at_once = begun == begins
    depth = _depth(len(segments), found.cause[at_once], found.effect[at_once])
    return np.lexsort((segments.end, depth, segments.start))


def _depth(count: int, cause: Ints, effect: Ints) -> Ints:
    """Count by how many edges at most each of `count` segments comes after those without a cause."""
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
    if any(missing):
        raise InputError(
            f"{len(missing) - missing.count(0)} segments depend on each other in a circle, or on such",
            "take back a dependency that was added",
        )
    return np.array(depth, dtype=np.int64)
