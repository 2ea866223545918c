"""The gradients of DDP's backward passes: how large they are, and when each is ready."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
import pandas as pd

_PIECES = 64
"""Into so many parts a recorded bucket is cut where the times of its gradients are interpolated."""


@dataclass(frozen=True)
class Pass:
    """A backward pass: its recorded buckets, and its gradients by time: bytes, and when each is ready."""

    step: Any
    sizes: list[float]
    ready: list[float]
    gradients: list[tuple[float, float]]
    is_recorded: bool


def passes_of(buckets: pd.DataFrame, gradients: pd.DataFrame) -> Iterator[Pass]:
    """Yield the backward passes of a rank, by time."""
    last = 0.0
    for _, own in buckets.groupby(["step", "pass"], sort=True):
        step: Any = own["step"].iat[0]
        sizes = [float(size) for size in own["bytes"]]
        handed: list[float] = own["ready_ns"].to_numpy(np.float64).tolist()
        ready = _ready(own)
        each = float(own["bytes"].sum() / own["elements"].sum()) if own["elements"].notna().all() else None
        found = _recorded(gradients[gradients["step"].eq(step)], last, handed[-1], each)
        last = handed[-1]
        lag = float(np.median(np.subtract(ready, handed)))
        if found and abs(sum(size for size, _ in found) - sum(sizes)) < 1:
            yield Pass(step, sizes, ready, [(size, at + lag) for size, at in found], True)
        else:
            yield Pass(step, sizes, ready, _between(sizes, ready), False)


def _ready(buckets: pd.DataFrame) -> list[float]:
    """Return when buckets could begin: as much after their hand-over as those that nothing delays."""
    handed, start, end = (buckets[name].to_numpy(np.float64) for name in ("ready_ns", "start_ns", "end_ns"))
    alone = np.append(True, handed[1:] >= np.maximum.accumulate(end)[:-1])
    lag = float(np.median((start - handed)[alone]))
    found: list[float] = np.where(alone, start, np.minimum(start, handed + lag)).tolist()
    return found


def _recorded(
    gradients: pd.DataFrame, after: float, until: float, each: float | None
) -> list[tuple[float, float]]:
    """Return the gradients that autograd had in a stretch, by their shapes; none where these are missing.

    A bucket is handed over in the hook that follows its last gradient.
    """
    found: list[tuple[float, float]] = []
    for times, shapes in gradients[["ends_ns", "shapes"]].itertuples(index=False):
        for at, shape in zip(times, shapes, strict=True):
            if after < at <= until:
                if each is None or not shape.startswith("[["):
                    return []
                found.append((prod(json.loads(shape)[0]) * each, float(at)))
    return found


def _between(sizes: list[float], ready: list[float]) -> list[tuple[float, float]]:
    """Take gradients to come evenly between one recorded bucket and the next; those of the first at once."""
    found = [(sizes[0], ready[0])]
    for size, before, at in zip(sizes[1:], ready[:-1], ready[1:], strict=True):
        found += [(size / _PIECES, before + (at - before) * (k + 1) / _PIECES) for k in range(_PIECES)]
    return found
