"""A loop whose host holds it up: statistics in plain Python, and a check whose result is read at once.

python -m host_loop.train [--vectorised | --later] --record FOLDER    record a few steps into FOLDER
python -m host_loop.train --time ROUNDS --output FILE                 ms a step of all variants, unprofiled

It runs on two cores and needs torch, and no GPU: a second thread stands for the device.
"""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import torch
from common.job import RECORDED, WAIT, WARM_UP, read_options, time_in_turns
from torch import Tensor, nn
from torch._C._profiler import _ExperimentalConfig
from torch.futures import Future
from torch.profiler import ProfilerActivity, profile, record_function, schedule

WIDTH, BATCH, BINS, VALUES, CHECKED = 384, 96, 32, 40_000, 700
"""Width of the layers, examples in a batch, bins and values of the statistics, and size of the check."""
VARIANTS = {
    "vectorised": "the statistics are two operators in place of a loop",
    "later": "a check is read after the next step's work, in place of at once",
}


def count_bins(values: list[float]) -> list[int]:
    """Count a histogram of values from 0 to less than 1, one by one."""
    counts = [0] * BINS
    for value in values:
        counts[int(value * BINS)] += 1
    return counts


def count_all_bins(values: Tensor) -> list[int]:
    """Count the same histogram by operators."""
    counts: list[int] = torch.histc(values, BINS, 0.0, 1.0).int().tolist()
    return counts


class Loop:
    """Steps of training, each with statistics of its input and a check of its model on another thread."""

    def __init__(self, variant: str) -> None:
        torch.manual_seed(0)
        self.variant = variant
        self.model = nn.Sequential(*(nn.Linear(WIDTH, WIDTH) for _ in range(4)))
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=1e-3)
        self.batch, self.matrix = torch.rand(BATCH, WIDTH), torch.rand(CHECKED, CHECKED)
        self.values = torch.rand(VALUES)
        self.listed = self.values.tolist()
        self.device = ThreadPoolExecutor(1)
        self.pending: Future[float] | None = None

    def check(self, asked: Future[float]) -> None:
        """Compute the check, beside the loop."""
        with record_function("check"):
            found = float((self.matrix @ self.matrix).trace())
        asked.set_result(found)

    def train(self) -> None:
        """Run forward, backward and optimizer."""
        with record_function("train"):
            self.optimizer.zero_grad()
            self.model(self.batch).square().mean().backward()
            self.optimizer.step()

    def step(self) -> None:
        """Run one step."""
        asked: Future[float] = Future()
        self.device.submit(self.check, asked)
        if self.variant != "later":
            with record_function("read the check"):
                asked.wait()
        with record_function("statistics"):
            if self.variant == "vectorised":
                count_all_bins(self.values)
            else:
                count_bins(self.listed)
        self.train()
        if self.variant == "later":
            if self.pending is not None:
                self.pending.wait()
            self.pending = asked


def record(loop: Loop, folder: Path) -> None:
    """Run steps under the profiler, and write what it recorded.

    It records no stacks, because Python itself is slower while its frames are recorded, but all threads.
    """
    loop.step()  # starts the second thread
    with profile(
        activities=[ProfilerActivity.CPU],
        schedule=schedule(wait=WAIT, warmup=WARM_UP, active=RECORDED, repeat=1),
        experimental_config=_ExperimentalConfig(profile_all_threads=True),
    ) as profiler:
        for _ in range(WAIT + WARM_UP + RECORDED):
            loop.step()
            profiler.step()
    folder.mkdir(parents=True, exist_ok=True)
    profiler.export_chrome_trace(str(folder / "trace.json.gz"))


def main() -> None:
    """Read the command line, then record one variant or time all."""
    options = read_options(__doc__, VARIANTS)
    torch.set_num_threads(1)
    if options.record:
        record(Loop(options.variant or "before"), options.record)
        return
    steps = {name: Loop(name).step for name in ("before", *VARIANTS)}
    times = time_in_turns(steps, options.time, meet=lambda: None)
    options.output.write_text(json.dumps(times), encoding="utf-8")


if __name__ == "__main__":
    main()
