"""Records the memory of a small training on the CPU: a timeline and a trace, of which each class is known.

    python train.py FOLDER [--checkpoint] [--half]

writes memory.raw.json.gz and trace.json.gz into FOLDER. Eight equal blocks work on one batch; what
parameters, their gradients and the state of the optimizer hold follows from the sizes below. With
--checkpoint each block runs again in backward, and keeps only its input; with --half the batch
has half as many rows.
"""

import sys
from pathlib import Path

import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile
from torch.utils.checkpoint import checkpoint

WIDTH, WIDER, BLOCKS, BATCH = 64, 256, 8, 512
PARAMETERS = BLOCKS * (2 * WIDTH * WIDER + WIDER + WIDTH)
"""Weights and biases of all blocks; as many gradients, and twice as many numbers of Adam's state."""


class Block(nn.Module):
    """Two products with a sigmoid between, beside the input."""

    def __init__(self) -> None:
        super().__init__()
        self.widen, self.narrow = nn.Linear(WIDTH, WIDER), nn.Linear(WIDER, WIDTH)

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        """Return the rows and what the two products make of them."""
        return rows + self.narrow(torch.sigmoid(self.widen(rows)))


class Model(nn.Module):
    """The blocks one after the other."""

    def __init__(self, again: bool) -> None:
        super().__init__()
        self.again = again
        self.blocks = nn.ModuleList(Block() for _ in range(BLOCKS))

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        """Run all blocks."""
        for block in self.blocks:
            rows = checkpoint(block, rows, use_reentrant=False) if self.again else block(rows)
        return rows


def train(folder: Path, again: bool, batch: int) -> None:
    """Train three steps and record the last two."""
    torch.manual_seed(0)
    model = Model(again)
    optimizer = torch.optim.Adam(model.parameters())
    rows = torch.randn(batch, WIDTH)

    def step() -> None:
        optimizer.zero_grad()
        model(rows).square().mean().backward()
        optimizer.step()

    step()
    with profile(
        activities=[ProfilerActivity.CPU], record_shapes=True, profile_memory=True, with_stack=True
    ) as recorded:
        for _ in range(2):
            step()
    recorded.export_memory_timeline(str(folder / "memory.raw.json.gz"), device="cpu")
    recorded.export_chrome_trace(str(folder / "trace.json.gz"))


if __name__ == "__main__":
    train(Path(sys.argv[1]), "--checkpoint" in sys.argv, BATCH // 2 if "--half" in sys.argv else BATCH)
