"""Time and record DDP whose backward pass takes 200 ms longer on rank 1, over gloo: tests/data/late_backward.

torchrun --standalone --nproc-per-node 2 tests/data/record_late_backward.py ROUNDS FOLDER
"""

import json
import os
import sys
import time
from pathlib import Path

import torch
import torch.distributed as dist
from timed_steps import Step, record, time_once
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

WIDTH, EXAMPLES, LAYERS, PAUSE_S, LATE_S, LATE_RANK = 64, 8, 3, 0.01, 0.2, 1
TIMED, RECORDED = 2, 4


class Computed(torch.autograd.Function):
    """What a layer would compute on a device, and how long: as its tensor says."""

    @staticmethod
    def forward(context: object, values: Tensor, seconds: float) -> Tensor:
        """Pause, and pass the values on."""
        context.seconds = seconds  # type: ignore[attr-defined]
        time.sleep(PAUSE_S)
        return values.clone()

    @staticmethod
    def backward(context: object, *gradients: Tensor) -> tuple[Tensor, None]:
        """Pause, and pass the gradients on."""
        time.sleep(context.seconds)  # type: ignore[attr-defined]
        return gradients[0], None


class Layer(nn.Linear):
    """A layer of weights, whose backward pass pauses for `seconds`."""

    seconds = PAUSE_S

    def forward(self, values: Tensor) -> Tensor:
        """Apply the weights, and compute as a device would."""
        computed: Tensor = Computed.apply(super().forward(values).relu(), self.seconds)  # type: ignore[no-untyped-call]
        return computed


def make_step(late_s: float) -> Step:
    """Make a training step; on the late rank the middle layer's backward pass takes so much longer, s."""
    layers = [Layer(WIDTH, WIDTH) for _ in range(LAYERS)]
    if dist.get_rank() == LATE_RANK:
        layers[LAYERS // 2].seconds += late_s
    model = DistributedDataParallel(nn.Sequential(*layers, nn.Linear(WIDTH, 10)))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    batch, labels = torch.randn(EXAMPLES, WIDTH), torch.randint(10, (EXAMPLES,))

    def step() -> None:
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(batch), labels).backward()
        optimizer.step()

    return step


def main(rounds: int, folder: Path) -> None:
    """Time the late job and an even one in turns, and record the late one in the middle."""
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    steps = {"late": make_step(LATE_S), "even": make_step(0.0)}
    for step in steps.values():
        step()
        step()
    times: dict[str, list[float]] = {name: [] for name in steps}
    load = os.getloadavg()[0]
    for number in range(rounds):
        if number == rounds // 2:
            record(steps["late"], folder / f"rank{dist.get_rank()}.json.gz", RECORDED)
        for name in sorted(steps, reverse=bool(number % 2)):
            times[name].append(time_once(steps[name], TIMED))
    if dist.get_rank() == 0:
        told = {"load": [load, os.getloadavg()[0]], "step_ms": times}
        (folder / "times.json").write_text(json.dumps(told), encoding="utf-8")
    dist.destroy_process_group()


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]))
