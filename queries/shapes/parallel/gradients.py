"""The gradients of DDP's backward passes: how large they are, and when each is ready."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
import pandas as pd

from tracegraph.base.gradient_buckets import Sized, begins, choose_gradients


@dataclass(frozen=True)
class Pass:
    """A backward pass: its recorded buckets, and its gradients by time: bytes, and when each is ready."""

    step: Any
    sizes: list[float]
    ready: list[float]
    gradients: Sized
    is_recorded: bool


def passes_of(buckets: pd.DataFrame, gradients: pd.DataFrame) -> Iterator[Pass]:
    """Yield the backward passes of a rank, by time."""
    last = 0.0
    for _, own in buckets.groupby(["step", "pass"], sort=True):
        step: Any = own["step"].iat[0]
        sizes = [float(size) for size in own["bytes"]]
        handed, start, end = (own[name].to_numpy(np.float64) for name in ("ready_ns", "start_ns", "end_ns"))
        ready = begins(handed, start, end)
        each = float(own["bytes"].sum() / own["elements"].sum()) if own["elements"].notna().all() else None
        found = _recorded(gradients[gradients["step"].eq(step)], last, float(handed[-1]), each)
        last = float(handed[-1])
        yield Pass(step, sizes, ready, *choose_gradients(found, sizes, handed, ready))


def _recorded(gradients: pd.DataFrame, after: float, until: float, each: float | None) -> Sized:
    """Return the gradients that autograd had in a stretch, by their shapes; none where these are missing.

    A bucket is handed over in the hook that follows its last gradient.
    """
    found: Sized = []
    for times, shapes in gradients[["ends_ns", "shapes"]].itertuples(index=False):
        for at, shape in zip(times, shapes, strict=True):
            if after < at <= until:
                if each is None or not shape.startswith("[["):
                    return []
                found.append((prod(json.loads(shape)[0]) * each, float(at)))
    return found
