"""Record FSDP with an explicit prefetch of 0, 1 and 2 layers, over gloo: tests/data/fsdp_prefetch_N.

torchrun --standalone --nproc-per-node 2 tests/data/record_fsdp_prefetch.py N FOLDER
"""

import sys
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.profiler import ProfilerActivity, profile, schedule

LAYERS, WIDTH, EXAMPLES = 5, 256, 16


def make_model(ahead: int) -> nn.Module:
    """Shard each layer; each gathers the next `ahead` before it computes, in forward and in backward.

    Backward passes gather one layer ahead by themselves where nothing is asked for.
    """
    mesh = init_device_mesh("cpu", (2,))
    layers = [nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.ReLU()) for _ in range(LAYERS)]
    model = nn.Sequential(*layers, nn.Linear(WIDTH, 10))
    sharded = [fully_shard(layer, mesh=mesh) for layer in layers]
    fully_shard(model, mesh=mesh)
    for place, layer in enumerate(sharded if ahead else []):
        layer.set_modules_to_forward_prefetch(sharded[place + 1 : place + 1 + ahead])
        layer.set_modules_to_backward_prefetch(sharded[max(0, place - ahead) : place][::-1])
    return model


def main(ahead: int, folder: Path) -> None:
    """Record two steps of each rank."""
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    model = make_model(ahead)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    batch = torch.randn(EXAMPLES, WIDTH)
    with profile(
        activities=[ProfilerActivity.CPU], schedule=schedule(wait=1, warmup=1, active=2)
    ) as profiler:
        for _ in range(4):
            optimizer.zero_grad()
            model(batch).square().mean().backward()
            optimizer.step()
            profiler.step()
    folder.mkdir(parents=True, exist_ok=True)
    profiler.export_chrome_trace(str(folder / f"rank{dist.get_rank()}.json.gz"))
    dist.destroy_process_group()


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]))
