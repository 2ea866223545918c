"""Time and record DDP whose backward pass takes 200 ms longer on rank 1, over gloo: tests/data/late_backward.

torchrun --standalone --nproc-per-node 2 tests/data/record_late_backward.py ROUNDS FOLDER
"""

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel
from torch.profiler import ProfilerActivity, profile, schedule

WIDTH, EXAMPLES, LAYERS, PAUSE_S, LATE_S, LATE_RANK = 64, 8, 3, 0.01, 0.2, 1
DROPPED, TIMED, RECORDED = 1, 2, 4


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


def make_step(late_s: float) -> Callable[[], None]:
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


def time_once(step: Callable[[], None]) -> float:
    """Measure the mean length of some steps, ms."""
    for _ in range(DROPPED):
        step()
    dist.barrier()
    start = time.perf_counter()
    for _ in range(TIMED):
        step()
    dist.barrier()
    return round(1000 * (time.perf_counter() - start) / TIMED, 3)


def record(step: Callable[[], None], path: Path) -> None:
    """Record some steps of this rank."""
    with profile(
        activities=[ProfilerActivity.CPU],
        schedule=schedule(wait=0, warmup=1, active=RECORDED, repeat=1),
        record_shapes=True,
    ) as profiler:
        for _ in range(1 + RECORDED):
            step()
            profiler.step()
    path.parent.mkdir(parents=True, exist_ok=True)
    profiler.export_chrome_trace(str(path))


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
            record(steps["late"], folder / f"rank{dist.get_rank()}.json.gz")
        for name in sorted(steps, reverse=bool(number % 2)):
            times[name].append(time_once(steps[name]))
    if dist.get_rank() == 0:
        told = {"load": [load, os.getloadavg()[0]], "step_ms": times}
        (folder / "times.json").write_text(json.dumps(told), encoding="utf-8")
    dist.destroy_process_group()


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]))
