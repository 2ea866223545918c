"""Two ranks train with DDP; one of them reads a shard in an older format, decoded in plain Python.

torchrun --standalone --nproc-per-node 2 -m ddp_straggler.train --record FOLDER [--converted]
torchrun --standalone --nproc-per-node 2 -m ddp_straggler.train --time ROUNDS --output FILE
"""

from itertools import cycle

import torch
import torch.distributed as dist
from common.job import Step, run_job
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel
from torch.profiler import record_function

BATCH, WIDTH, CLASSES, BATCHES = 32, 1024, 10, 4
"""Examples in a batch, numbers in an example, classes, and batches in a shard."""
LATE = 1
"""The rank whose shard is still text."""


def binary_shard(generator: torch.Generator) -> list[bytes]:
    """Make batches as they should be stored: float32, one after the other."""
    return [torch.randn(BATCH, WIDTH, generator=generator).numpy().tobytes() for _ in range(BATCHES)]


def text_shard(generator: torch.Generator) -> list[bytes]:
    """Make batches as an older tool wrote them: one line for each example, with numbers as text."""
    shard = []
    for _ in range(BATCHES):
        rows = torch.randn(BATCH, WIDTH, generator=generator).tolist()
        shard.append("\n".join(" ".join(f"{number:.6f}" for number in row) for row in rows).encode())
    return shard


def decode_binary(stored: bytes) -> Tensor:
    """Read a batch from its bytes."""
    with record_function("decode binary"):
        return torch.frombuffer(bytearray(stored), dtype=torch.float32).view(BATCH, WIDTH)


def decode_text(stored: bytes) -> Tensor:
    """Read a batch from its lines, number by number."""
    with record_function("decode text"):
        rows = [[float(word) for word in line.split()] for line in stored.decode().splitlines()]
        return torch.tensor(rows)


def make_step(variant: str) -> Step:
    """Make one training step on the next batch of this rank's shard."""
    rank = dist.get_rank()
    generator = torch.Generator().manual_seed(rank)
    text = rank == LATE and variant == "before"
    shard = cycle(text_shard(generator) if text else binary_shard(generator))
    decode = decode_text if text else decode_binary
    layers = nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, CLASSES))
    model = DistributedDataParallel(layers, bucket_cap_mb=1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    labels = torch.randint(CLASSES, (BATCH,), generator=generator)

    def step() -> None:
        batch = decode(next(shard))
        with record_function("train_step"):
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(batch), labels).backward()
            optimizer.step()

    return step


if __name__ == "__main__":
    run_job(__doc__, {"converted": "every rank reads a binary shard"}, make_step)
