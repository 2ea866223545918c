"""Two ranks train with DeepSpeed ZeRO on the CPU: stage 2, or stage 3, which also shards parameters.

torchrun --standalone --nproc-per-node 2 -m deepspeed_zero.train --record FOLDER [--stage3]
torchrun --standalone --nproc-per-node 2 -m deepspeed_zero.train --time ROUNDS --output FILE
"""

import deepspeed
import torch
import torch.distributed as dist
from common.job import Step, run_job
from torch import nn
from torch.profiler import record_function

BATCH, WIDTH, CLASSES, LAYERS = 32, 512, 10, 4
"""Examples in a batch, width of the layers, classes, and number of layers."""
SHARED_MEMORY = "deepspeed_shm_comm"
"""An extension for inference that DeepSpeed would compile first, for a minute or two."""
VARIANTS = {"stage3": "ZeRO stage 3 instead of 2: parameters are sharded, too"}


def settings(stage: int) -> dict[str, object]:
    """Return DeepSpeed's settings: plain float32, so that it needs no compiled extension."""
    return {
        "train_micro_batch_size_per_gpu": BATCH,
        "zero_allow_untested_optimizer": True,
        "zero_optimization": {"stage": stage},
    }


def make_step(variant: str) -> Step:
    """Make one training step of DeepSpeed's engine."""
    layers = [layer for _ in range(LAYERS) for layer in (nn.Linear(WIDTH, WIDTH), nn.ReLU())]
    model = nn.Sequential(*layers, nn.Linear(WIDTH, CLASSES))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    deepspeed.ops.__compatible_ops__[SHARED_MEMORY] = False
    stage = 3 if variant == "stage3" else 2
    engine, *_ = deepspeed.initialize(model=model, optimizer=optimizer, config=settings(stage))
    generator = torch.Generator().manual_seed(dist.get_rank())
    batch = torch.randn(BATCH, WIDTH, generator=generator)
    labels = torch.randint(CLASSES, (BATCH,), generator=generator)

    def step() -> None:
        with record_function("train_step"):
            engine.backward(nn.functional.cross_entropy(engine(batch), labels))
            engine.step()

    return step


if __name__ == "__main__":
    run_job(__doc__, VARIANTS, make_step, stacks=False)
