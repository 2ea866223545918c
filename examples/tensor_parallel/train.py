"""Two ranks share the weights of each layer, as Megatron does; one layer takes longer on one of them.

torchrun --standalone --nproc-per-node 2 -m tensor_parallel.train --record FOLDER [--balanced]
torchrun --standalone --nproc-per-node 2 -m tensor_parallel.train --time ROUNDS --output FILE
"""

import time

import torch
import torch.distributed as dist
from common.job import Step, run_job, world
from common.own_times import STEP, noted
from torch import Tensor, nn
from torch.autograd.function import FunctionCtx
from torch.profiler import record_function

LAYERS, EXAMPLES, WIDTH, HIDDEN = 4, 4096, 512, 128
"""Layers, examples in a batch, and widths outside and inside of a layer: an all-reduce sums up 8 MiB."""
FORWARD_S, BACKWARD_S = 0.02, 0.04
"""How long a layer computes; it pauses, so that the cores are as free for gloo as they are beside a GPU."""
LATE_RANK, LATE_LAYER, LATE_TIMES = 1, 2, 3.0
"""Which layer takes longer on which rank, and how many times as long."""
BEGINS, COMMUNICATES = "begins", "communicates"
"""What the job notes of each layer and phase."""
VARIANTS = {"balanced": "every layer takes as long on every rank"}


def all_reduce(values: Tensor, layer: int, phase: str) -> Tensor:
    """Sum up over the ranks, and note when this rank came and when it was done."""
    with noted(f"{layer} {phase} {COMMUNICATES}"):
        dist.all_reduce(values)
    return values


class Copied(torch.autograd.Function):
    """What a layer takes in: the same on all ranks, so that its gradients are summed up."""

    @staticmethod
    def forward(context: FunctionCtx, values: Tensor, layer: int) -> Tensor:
        """Pass the values on."""
        context.layer = layer  # type: ignore[attr-defined]
        return values.view_as(values)

    @staticmethod
    def backward(context: FunctionCtx, *gradients: Tensor) -> tuple[Tensor, None]:
        """Sum the gradients up."""
        layer: int = context.layer  # type: ignore[attr-defined]
        return all_reduce(gradients[0].clone(), layer, "backward"), None


class Summed(torch.autograd.Function):
    """What a layer gives: each rank has a part of the sum."""

    @staticmethod
    def forward(context: FunctionCtx, values: Tensor, layer: int) -> Tensor:
        """Sum the values up."""
        context.layer = layer  # type: ignore[attr-defined]
        return all_reduce(values.clone(), layer, "forward")

    @staticmethod
    def backward(context: FunctionCtx, *gradients: Tensor) -> tuple[Tensor, None]:
        """Pass the gradients on, the first that the backward pass of a layer does."""
        with noted(f"{context.layer} backward {BEGINS}"):  # type: ignore[attr-defined]
            return gradients[0], None


class Computed(torch.autograd.Function):
    """What a layer would compute on a device; it takes `times` as long as usual."""

    @staticmethod
    def forward(context: FunctionCtx, values: Tensor, times: float) -> Tensor:
        """Pause, and pass the values on."""
        context.times = times  # type: ignore[attr-defined]
        time.sleep(FORWARD_S * times)
        return values.view_as(values)

    @staticmethod
    def backward(context: FunctionCtx, *gradients: Tensor) -> tuple[Tensor, None]:
        """Pause, and pass the gradients on."""
        time.sleep(BACKWARD_S * context.times)  # type: ignore[attr-defined]
        return gradients[0], None


class Layer(nn.Module):
    """A pair of linear maps: the first split by its columns, the second by its rows."""

    def __init__(self, number: int, times: float) -> None:
        super().__init__()
        own = HIDDEN // world()
        self.by_columns, self.by_rows = nn.Linear(WIDTH, own), nn.Linear(own, WIDTH, bias=False)
        self.number, self.times = number, times

    def forward(self, values: Tensor) -> Tensor:
        """Apply this rank's part of the weights, compute as a device would, and sum up over the ranks."""
        with record_function(f"layer {self.number}"):
            with noted(f"{self.number} forward {BEGINS}"):
                taken: Tensor = Copied.apply(values, self.number)  # type: ignore[no-untyped-call]
            inside: Tensor = Computed.apply(self.by_columns(taken).relu(), self.times)  # type: ignore[no-untyped-call]
            given: Tensor = Summed.apply(self.by_rows(inside), self.number)  # type: ignore[no-untyped-call]
            return given


def make_step(variant: str) -> Step:
    """Make a training step."""
    late = LATE_LAYER if variant != "balanced" and dist.get_rank() == LATE_RANK else None
    model = nn.Sequential(*(Layer(number, LATE_TIMES if number == late else 1.0) for number in range(LAYERS)))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    batch = torch.randn(
        EXAMPLES, WIDTH, requires_grad=True
    )  # as what an embedding gives: the first layer returns gradients, too

    def step() -> None:
        with noted(STEP):
            optimizer.zero_grad()
            loss = model(batch).square().mean()
            loss.backward()
            optimizer.step()

    return step


if __name__ == "__main__":
    run_job(__doc__, VARIANTS, make_step, stacks=False, shapes=True)
