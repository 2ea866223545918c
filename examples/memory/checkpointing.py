"""Records four small models on the CPU, each with and without checkpointing of its blocks; needs torch.

    python checkpointing.py FOLDER
    tracegraph memory FOLDER/attention.json.gz FOLDER/attention_checkpointed.json.gz

The first trace of each model predicts what checkpointing saves, the second one shows it.
"""

import sys
from multiprocessing import get_context
from pathlib import Path

import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile
from torch.utils.checkpoint import checkpoint

WIDTH, WIDER, HEADS, BLOCKS = 64, 256, 4, 6


class Products(nn.Module):
    """Two products, a ReLU after each: what it returns is kept by its own last operator."""

    def __init__(self) -> None:
        super().__init__()
        self.widen, self.narrow = nn.Linear(WIDTH, WIDER), nn.Linear(WIDER, WIDTH)

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        """Return the second product where it is positive."""
        return torch.relu(self.narrow(torch.relu(self.widen(rows))))


class Attention(nn.Module):
    """A block of a transformer that normalises first, its attention written out."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.inward, self.outward = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.widen, self.narrow = nn.Linear(WIDTH, WIDER), nn.Linear(WIDER, WIDTH)

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        """Return the rows with what attention and the two products add."""
        batch, length, width = rows.shape
        parts = self.inward(self.first(rows)).view(batch, length, 3, HEADS, width // HEADS)
        query, key, value = parts.permute(2, 0, 3, 1, 4)
        mixed = torch.softmax(query @ key.transpose(-1, -2) / (width // HEADS) ** 0.5, -1) @ value
        rows = rows + self.outward(mixed.transpose(1, 2).reshape(batch, length, width))
        return rows + self.narrow(nn.functional.gelu(self.widen(self.second(rows))))


class NormalisedLast(nn.Module):
    """Two products beside the input; the normalisation comes last, and allocates after its output."""

    def __init__(self) -> None:
        super().__init__()
        self.widen, self.narrow = nn.Linear(WIDTH, WIDER), nn.Linear(WIDER, WIDTH)
        self.last = nn.LayerNorm(WIDTH)

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        """Return the rows with what the two products add, normalised."""
        return self.last(rows + self.narrow(nn.functional.gelu(self.widen(rows))))


class Convolutions(nn.Module):
    """Two convolutions beside the input."""

    def __init__(self) -> None:
        super().__init__()
        self.one, self.other = (nn.Conv2d(16, 16, 3, padding=1) for _ in range(2))
        self.between = nn.BatchNorm2d(16)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Return the images with what the convolutions add, where that is positive."""
        return torch.relu(images + self.other(torch.relu(self.between(self.one(images)))))


MODELS = {
    "products": (Products, (512, WIDTH)),
    "attention": (Attention, (8, 64, WIDTH)),
    "normalised_last": (NormalisedLast, (512, WIDTH)),
    "convolutions": (Convolutions, (8, 16, 32, 32)),
}
"""The block of each model, and the shape of its input."""


def record(kind: type[nn.Module], shape: tuple[int, ...], again: bool, file: Path) -> None:
    """Train three steps and record the last two."""
    torch.manual_seed(0)
    blocks = nn.ModuleList(kind() for _ in range(BLOCKS))
    optimizer = torch.optim.Adam(blocks.parameters(), fused=True)
    given = torch.randn(shape)

    def step() -> None:
        optimizer.zero_grad()
        rows = given
        for block in blocks:
            rows = checkpoint(block, rows, use_reentrant=False) if again else block(rows)
        rows.square().mean().backward()
        optimizer.step()

    step()
    with profile(
        activities=[ProfilerActivity.CPU], record_shapes=True, profile_memory=True, with_stack=True
    ) as recorded:
        for _ in range(2):
            step()
    recorded.export_chrome_trace(str(file))


if __name__ == "__main__":
    for name, (block, shape) in MODELS.items():
        for again in (False, True):
            file = Path(sys.argv[1]) / f"{name}{'_checkpointed' * again}.json.gz"
            # In one process the totals of the CPU's memory go on from one recording to the next.
            process = get_context("spawn").Process(target=record, args=(block, shape, again, file))
            process.start()
            process.join()
