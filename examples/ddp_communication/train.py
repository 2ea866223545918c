"""Two ranks train with DDP and send their gradients in many small buckets, after every micro-batch.

torchrun --standalone --nproc-per-node 2 -m ddp_communication.train --record FOLDER [--large | --accumulate]
torchrun --standalone --nproc-per-node 2 -m ddp_communication.train --time ROUNDS --output FILE
"""

import time
from contextlib import nullcontext
from itertools import pairwise

import torch
import torch.distributed as dist
from common.job import Step, run_job
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel
from torch.profiler import record_function

BATCH, WIDTHS, CLASSES = 4, (512, 512, 512, 512, 512, 1536, 512, 512), 10
"""Examples in a micro-batch, widths of the layers, and classes that they are sorted into."""
FORWARD_S, BACKWARD_S = 0.0005, 0.001
"""How long a layer computes forward and backward.

It pauses instead of computing, so that the cores are as free for gloo as they are beside a GPU.
"""
MICRO_BATCHES = 4
"""Micro-batches for each optimizer step."""
SMALL_MB, LARGE_MB = 0.5, 25.0
"""The sizes of DDP's buckets in the original job and in the variant."""
VARIANTS = {
    "large": f"buckets of {LARGE_MB:.0f} MB instead of {SMALL_MB} MB",
    "accumulate": "gradients are sent after the last micro-batch only",
}


class Computed(torch.autograd.Function):
    """What a layer would compute on a device."""

    @staticmethod
    def forward(_: object, values: Tensor) -> Tensor:
        """Pause, and pass the values on."""
        time.sleep(FORWARD_S)
        return values.clone()

    @staticmethod
    def backward(_: object, *gradients: Tensor) -> Tensor:
        """Pause, and pass the gradients on."""
        time.sleep(BACKWARD_S)
        return gradients[0]


class Layer(nn.Linear):
    """A layer of weights."""

    def forward(self, values: Tensor) -> Tensor:
        """Apply the weights, and compute as a device would."""
        computed: Tensor = Computed.apply(super().forward(values).relu())  # type: ignore[no-untyped-call]
        return computed


def make_step(variant: str) -> Step:
    """Make one optimizer step over several micro-batches."""
    layers = [Layer(*pair) for pair in pairwise(WIDTHS)]
    model = DistributedDataParallel(
        nn.Sequential(*layers, nn.Linear(WIDTHS[-1], CLASSES)),
        bucket_cap_mb=LARGE_MB if variant == "large" else SMALL_MB,
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    generator = torch.Generator().manual_seed(dist.get_rank())
    batch = torch.randn(BATCH, WIDTHS[0], generator=generator)
    labels = torch.randint(CLASSES, (BATCH,), generator=generator)

    def step() -> None:
        optimizer.zero_grad()
        for number in range(MICRO_BATCHES):
            quiet = variant == "accumulate" and number < MICRO_BATCHES - 1
            with record_function("micro-batch"), model.no_sync() if quiet else nullcontext():
                nn.functional.cross_entropy(model(batch), labels).backward()
        optimizer.step()

    return step


if __name__ == "__main__":
    run_job(__doc__, VARIANTS, make_step, stacks=False, shapes=True)
