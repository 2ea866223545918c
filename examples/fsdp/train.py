"""Two ranks train layers whose parameters are sharded with FSDP (`fully_shard`).

torchrun --standalone --nproc-per-node 2 -m fsdp.train --record FOLDER [--keep]
torchrun --standalone --nproc-per-node 2 -m fsdp.train --time ROUNDS --output FILE
"""

import torch
import torch.distributed as dist
from common.job import Step, run_job, world
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.profiler import record_function

BATCH, WIDTH, CLASSES, LAYERS = 32, 768, 10, 4
"""Examples in a batch, width of the layers, classes, and number of layers."""
VARIANTS = {"keep": "keep the gathered parameters from forward to backward (reshard_after_forward=False)"}


def make_step(variant: str) -> Step:
    """Make one training step; each layer is sharded by itself."""
    mesh = init_device_mesh("cpu", (world(),))
    layers = [nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.ReLU()) for _ in range(LAYERS)]
    model = nn.Sequential(*layers, nn.Linear(WIDTH, CLASSES))
    for layer in layers:
        fully_shard(layer, mesh=mesh, reshard_after_forward=variant != "keep")
    fully_shard(model, mesh=mesh)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    generator = torch.Generator().manual_seed(dist.get_rank())
    batch = torch.randn(BATCH, WIDTH, generator=generator)
    labels = torch.randint(CLASSES, (BATCH,), generator=generator)

    def step() -> None:
        with record_function("train_step"):
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(batch), labels).backward()
            optimizer.step()

    return step


if __name__ == "__main__":
    run_job(__doc__, VARIANTS, make_step, stacks=False)
