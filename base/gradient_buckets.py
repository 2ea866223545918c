"""Buckets that gradients fill as in DDP, and when reducing them one after the other ends."""

import json
from collections.abc import Iterable, Iterator
from math import prod

import numpy as np

from tracegraph.base.least_squares import Floats

MIB = 1 << 20
"""The unit of DDP's `bucket_cap_mb`, B."""
FIRST_MB = 1.0
"""The size at which DDP closes the first bucket by default, MiB."""
USUAL_MB = (0.5, 1.0, 2.5, 5.0, 10.0, 25.0, 50.0, 100.0)
"""Sizes of buckets that are tried, MiB."""
ACCUMULATES = "torch::autograd::AccumulateGrad"
"""The operator in which autograd takes over a gradient, whose shape it then states."""
_PIECES = 64
"""Into so many parts a recorded bucket is cut where the times of its gradients are interpolated."""
Sized = list[tuple[float, float]]
"""Gradients or buckets by time: bytes, and when each is ready, ns."""


def fill_buckets(gradients: Sized, first_mb: float, cap_mb: float) -> Sized:
    """Fill buckets as DDP does, until each holds its size, MiB; the first may be closed earlier."""
    found: Sized = []
    held, limit = 0.0, min(first_mb, cap_mb) * MIB
    for place, (size, at) in enumerate(gradients):
        held += size
        if held >= limit or place == len(gradients) - 1:
            found.append((held, at))
            held, limit = 0.0, cap_mb * MIB
    return found


def reduced_at(buckets: Iterable[tuple[float, float]], alpha: float, slope: float) -> Iterator[float]:
    """Yield when each bucket is reduced, ns: after the one before, it takes `alpha + slope * size`."""
    end = -np.inf
    for size, ready in buckets:
        end = max(ready, end) + alpha + slope * size
        yield end


def begins(handed: Floats, start: Floats, end: Floats) -> list[float]:
    """Find when buckets could begin: as much after their hand-over as those that nothing delays, ns."""
    alone = np.append(True, handed[1:] >= np.maximum.accumulate(end)[:-1])
    lag = float(np.median((start - handed)[alone]))
    found: list[float] = np.where(alone, start, np.minimum(start, handed + lag)).tolist()
    return found


def stated_gradients(stated: Iterable[tuple[float, str]], width: float | None) -> Sized:
    """Read gradients from when autograd has each, ns, and its shapes; none where one of them is not stated.

    `width`: the bytes of an element, None where they are not known.
    """
    found: Sized = []
    for at, shapes in stated:
        if width is None or not shapes.startswith("[["):
            return []
        found.append((prod(json.loads(shapes)[0]) * width, at))
    return found


def even_gradients(sizes: list[float], ready: list[float]) -> Sized:
    """Take gradients to come evenly between one recorded bucket and the next; those of the first at once."""
    found = [(sizes[0], ready[0])]
    for size, before, at in zip(sizes[1:], ready[:-1], ready[1:], strict=True):
        found += [(size / _PIECES, before + (at - before) * (k + 1) / _PIECES) for k in range(_PIECES)]
    return found


def choose_gradients(
    recorded: Sized, sizes: list[float], handed: Floats, ready: list[float]
) -> tuple[Sized, bool]:
    """Take recorded gradients if they fill the buckets exactly, else even ones; say which.

    What passes between the hand-over of a bucket and the moment at which it could begin passes after each
    gradient, too.
    """
    if recorded and abs(sum(size for size, _ in recorded) - sum(sizes)) < 1:
        lag = float(np.median(np.subtract(ready, handed)))
        return [(size, at + lag) for size, at in recorded], True
    return even_gradients(sizes, ready), False
