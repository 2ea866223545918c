"""Time and record DDP with buckets of 0.5, 1, 5 and 25 MiB, over gloo: tests/data/bucket_sweep.

torchrun --standalone --nproc-per-node 2 tests/data/record_bucket_sweep.py ROUNDS FOLDER
"""

import json
import os
import sys
import time
from itertools import pairwise
from pathlib import Path

import torch
import torch.distributed as dist
from timed_steps import Step, record, time_once
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

CAPS = (0.5, 1.0, 5.0, 25.0)
RECORDED = {0.5: 6}
"""Steps that are recorded; of other sizes one of rank 0, which shows what is in each bucket."""
WIDTHS = (128, 256, 512, 512, 256, 1024, 1024, 384, 384, 768, 768, 256)
"""Gradients of 0.1 to 4 MiB a layer: buckets of .5 MiB then have sizes that a fit can use."""
EXAMPLES, CLASSES, PAUSE_S, TIMED = 4, 10, 0.002, 4


class Computed(torch.autograd.Function):
    """What a layer would compute on a device: the cores are as free meanwhile as beside a GPU."""

    @staticmethod
    def forward(_: object, values: Tensor) -> Tensor:
        """Pass the values on."""
        return values.clone()

    @staticmethod
    def backward(_: object, *gradients: Tensor) -> Tensor:
        """Pause, and pass the gradients on."""
        time.sleep(PAUSE_S)
        return gradients[0]


class Layer(nn.Linear):
    """A layer of weights."""

    def forward(self, values: Tensor) -> Tensor:
        """Apply the weights, and compute as a device would."""
        computed: Tensor = Computed.apply(super().forward(values).relu())  # type: ignore[no-untyped-call]
        return computed


def make_step(cap_mb: float) -> Step:
    """Make a training step of a model whose buckets are closed at a size, MiB."""
    layers = [Layer(*pair) for pair in pairwise(WIDTHS)]
    model = DistributedDataParallel(
        nn.Sequential(*layers, nn.Linear(WIDTHS[-1], CLASSES)), bucket_cap_mb=cap_mb
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    batch, labels = torch.randn(EXAMPLES, WIDTHS[0]), torch.randint(CLASSES, (EXAMPLES,))

    def step() -> None:
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(batch), labels).backward()
        optimizer.step()

    return step


def main(rounds: int, folder: Path) -> None:
    """Time all sizes in turns, each round beginning with another one, and record them in the middle."""
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    steps = {cap: make_step(cap) for cap in CAPS}
    for step in steps.values():  # DDP fills its buckets anew, by the order of gradients, after the first step
        for _ in range(3):
            step()
    times: dict[float, list[float]] = {cap: [] for cap in CAPS}
    load = [os.getloadavg()[0]]
    for number in range(rounds):
        if number == rounds // 2:
            for cap, step in steps.items():
                path = folder / f"{cap:g}" / f"rank{dist.get_rank()}.json.gz"
                record(step, path, RECORDED.get(cap, 1))
                if cap not in RECORDED and dist.get_rank():
                    path.unlink()
            load.append(os.getloadavg()[0])
        for place in range(len(CAPS)):
            cap = CAPS[(number + place) % len(CAPS)]
            times[cap].append(time_once(steps[cap], TIMED))
    load.append(os.getloadavg()[0])
    if dist.get_rank() == 0:
        told = {"load": load, "step_ms": {f"{cap:g}": found for cap, found in times.items()}}
        (folder / "times.json").write_text(json.dumps(told), encoding="utf-8")
    dist.destroy_process_group()


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]))
