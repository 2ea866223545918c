"""Four ranks are the stages of a pipeline: micro-batches go through them forward and backward.

torchrun --standalone --nproc-per-node 4 -m pipeline.train --record FOLDER [--gpipe | --uneven]
torchrun --standalone --nproc-per-node 4 -m pipeline.train --time ROUNDS --output FILE
"""

import time

import torch
import torch.distributed as dist
from common.job import Step, run_job, world
from common.own_times import STEP, noted
from torch import Tensor, nn
from torch.distributed.pipelining import PipelineStage, Schedule1F1B, ScheduleGPipe

MICRO_BATCHES, EXAMPLES, WIDTH = 8, 2, 64
"""Micro-batches of a step, examples in each, and the width of the layers."""
FORWARD_S, BACKWARD_S = 0.08, 0.16
"""How long a stage computes for a micro-batch; it pauses, so that four stages fit on few cores."""
PASS = "pass"
"""What a forward or backward pass of a stage is noted as."""
UNEVEN = 1.5
"""How many times as long the last stage computes in the uneven variant."""
VARIANTS = {
    "gpipe": "all micro-batches forward, then all backward, instead of one forward and one backward in turns",
    "uneven": f"the last stage computes {UNEVEN} times as long",
}


class Computed(torch.autograd.Function):
    """What a stage would compute on a device; it takes `times` as long as usual."""

    @staticmethod
    def forward(context: torch.autograd.function.FunctionCtx, values: Tensor, times: float) -> Tensor:
        """Pause, and pass the values on."""
        context.times = times  # type: ignore[attr-defined]
        with noted(PASS):
            time.sleep(FORWARD_S * times)
        return values.clone()

    @staticmethod
    def backward(context: torch.autograd.function.FunctionCtx, *gradients: Tensor) -> tuple[Tensor, None]:
        """Pause, and pass the gradients on."""
        with noted(PASS):
            time.sleep(BACKWARD_S * context.times)  # type: ignore[attr-defined]
        return gradients[0], None


class Stage(nn.Module):
    """A layer of weights, and the computing of a whole stage."""

    def __init__(self, times: float) -> None:
        super().__init__()
        self.layer, self.times = nn.Linear(WIDTH, WIDTH), times

    def forward(self, values: Tensor) -> Tensor:
        """Apply the weights, and compute as a device would."""
        computed: Tensor = Computed.apply(self.layer(values), self.times)  # type: ignore[no-untyped-call]
        return computed


def make_step(variant: str, micro_batches: int = MICRO_BATCHES, times: float = 1.0) -> Step:
    """Make a step of the pipeline; every rank is a stage, the last one computes the loss.

    Every stage computes `times` as long as usual.
    """
    rank, stages = dist.get_rank(), world()
    module = Stage(times * (UNEVEN if variant == "uneven" and rank == stages - 1 else 1.0))
    stage = PipelineStage(module, rank, stages, torch.device("cpu"))
    kind = ScheduleGPipe if variant == "gpipe" else Schedule1F1B
    schedule = kind(stage, micro_batches, loss_fn=nn.functional.mse_loss)
    optimizer = torch.optim.SGD(module.parameters(), lr=0.01)
    batch = torch.randn(micro_batches * EXAMPLES, WIDTH)

    def step() -> None:
        with noted(STEP):
            optimizer.zero_grad()
            if rank == 0:
                schedule.step(batch)
            elif rank == stages - 1:
                schedule.step(target=batch, losses=[])
            else:
                schedule.step()
            optimizer.step()

    return step


if __name__ == "__main__":
    run_job(__doc__, VARIANTS, make_step, stacks=False, shapes=True)
