"""The gradients of DDP's backward passes: how large they are, and when each is ready."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from tracegraph.base.gradient_buckets import Sized, begins, choose_gradients, stated_gradients


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
        stated = _recorded(gradients[gradients["step"].eq(step)], last, float(handed[-1]))
        found = stated_gradients(stated, each)
        last = float(handed[-1])
        yield Pass(step, sizes, ready, *choose_gradients(found, sizes, handed, ready))


def _recorded(gradients: pd.DataFrame, after: float, until: float) -> Iterator[tuple[float, str]]:
    """Yield when autograd had each gradient in a stretch, and its shapes.

    A bucket is handed over in the hook that follows its last gradient.
    """
    for times, shapes in gradients[["ends_ns", "shapes"]].itertuples(index=False):
        pairs = zip(times, shapes, strict=True)
        yield from ((float(at), shape) for at, shape in pairs if after < at <= until)
