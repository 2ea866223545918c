"""Finds an order in which a replay may go through the segments: causes before their effects."""

import numpy as np

from tracegraph.base.errors import InputError
from tracegraph.ingest.arrays import Ints
from tracegraph.ingest.causal.graph.dependencies import causal_order, comes_before
from tracegraph.ingest.causal.graph.runs import Links
from tracegraph.ingest.causal.graph.segments import Segments


def replay_order(segments: Segments, cause: Ints, effect: Ints) -> Ints:
    """Order the segments, each after all that it depends on.

    The order by time is such an order, unless segments of no length follow each other, as in a graph that was
    changed, or dependencies were put in by hand against the order of the recording.

    Raises
    ------
    InputError
        Segments depend on each other in a circle.
    """
    if _are_in_order(segments, cause, effect):
        return causal_order(segments)
    begun, begins = segments.start[cause], segments.start[effect]
    if (begun > begins).any():
        return np.argsort(_depth(len(segments), cause, effect), kind="stable")
    at_once = begun == begins
    depth = _depth(len(segments), cause[at_once], effect[at_once])
    return np.lexsort((segments.end, depth, segments.start))


def order_of(chosen: Ints, segments: Segments, links: Links) -> Ints:
    """Put some segments, the lowest first, in the order that `replay_order` finds for all of them."""
    along = segments.in_order[links.follows].all()
    if along and _are_in_order(segments, links.cause, links.effect):
        return chosen[np.lexsort((segments.end[chosen], segments.start[chosen]))]
    is_chosen = np.zeros(len(segments), dtype=bool)
    is_chosen[chosen] = True
    order = replay_order(segments, *links.ends)
    return order[is_chosen[order]]


def _are_in_order(segments: Segments, cause: Ints, effect: Ints) -> bool:
    """Tell whether each cause comes before its effect in `causal_order`."""
    begun, begins = segments.start[cause], segments.start[effect]
    left = np.flatnonzero(begun >= begins)
    at_once = begun[left] == begins[left]
    return bool(at_once.all() and comes_before(segments, cause[left], effect[left]).all())


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
