"""Finds an order in which a replay may go through the segments: causes before their effects."""

import numpy as np

from tracegraph.base.errors import InputError
from tracegraph.ingest.arrays import Ints
from tracegraph.ingest.causal.graph.dependencies import Dependencies, comes_before
from tracegraph.ingest.causal.graph.segments import Segments


def replay_order(segments: Segments, found: Dependencies, chosen: Ints | None = None) -> Ints:
    """Order the segments, or those `chosen`, each after all that it depends on.

    The order by time is such an order, unless segments of no length follow each other, as in a graph that was
    changed, or dependencies were put in by hand against the order of the recording.

    Parameters
    ----------
    chosen
        Positions of segments, the lowest first; None for all of them.

    Raises
    ------
    InputError
        Segments depend on each other in a circle.
    """
    some: slice | Ints = slice(None) if chosen is None else chosen
    begun, begins = segments.start[found.cause], segments.start[found.effect]
    if (begun > begins).any():
        order = np.argsort(_depth(len(segments), found.cause, found.effect)[some], kind="stable")
    else:
        at_once = np.flatnonzero(begun == begins)
        cause, effect = found.cause[at_once], found.effect[at_once]
        keys = [segments.end[some], segments.start[some]]
        if not comes_before(segments, cause, effect).all():
            keys.insert(1, _depth(len(segments), cause, effect)[some])
        order = np.lexsort(keys)
    return order if chosen is None else chosen[order]


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
