"""Time and record steps of a job of several ranks, for the scripts beside this one."""

import time
from collections.abc import Callable
from pathlib import Path

import torch.distributed as dist
from torch.profiler import ProfilerActivity, profile, schedule

DROPPED = 1
"""Steps before those that are timed."""
Step = Callable[[], None]


def time_once(step: Step, timed: int) -> float:
    """Measure the mean length of some steps, ms."""
    for _ in range(DROPPED):
        step()
    dist.barrier()
    start = time.perf_counter()
    for _ in range(timed):
        step()
    dist.barrier()
    return round(1000 * (time.perf_counter() - start) / timed, 3)


def record(step: Step, path: Path, active: int) -> None:
    """Record some steps of this rank."""
    with profile(
        activities=[ProfilerActivity.CPU],
        schedule=schedule(wait=0, warmup=1, active=active, repeat=1),
        record_shapes=True,
    ) as profiler:
        for _ in range(1 + active):
            step()
            profiler.step()
    path.parent.mkdir(parents=True, exist_ok=True)
    profiler.export_chrome_trace(str(path))
