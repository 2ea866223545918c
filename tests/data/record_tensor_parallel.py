"""Record layers whose weights two ranks share, and what the job measures: tests/data/tensor_parallel.

PYTHONPATH=examples torchrun --standalone --nproc-per-node 2 tests/data/record_tensor_parallel.py FOLDER
"""

import json
import os
import shutil
import sys
from pathlib import Path

import torch
import torch.distributed as dist
from common.own_times import read_noted, write_noted
from tensor_parallel.own_shares import own_times
from tensor_parallel.train import make_step
from timed_steps import record

RECORDED = 3


def main(folder: Path) -> None:
    """Record three steps of both ranks, in which one layer takes longer on one of them."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    dist.init_process_group("gloo")
    step = make_step("before")
    for _ in range(2):
        step()
    record(step, folder / f"rank{dist.get_rank()}.json.gz", RECORDED)
    write_noted(folder / "own", dist.get_rank())
    dist.barrier()
    if dist.get_rank() == 0:
        found = own_times(read_noted(folder / "own", RECORDED))
        parts = [
            {"rank": rank, "layer": layer, "phase": phase, **times}
            for (rank, layer, phase), times in found.items()
        ]
        told = {"load": os.getloadavg()[0], "steps": RECORDED, "parts": parts}
        (folder / "times.json").write_text(json.dumps(told), encoding="utf-8")
        shutil.rmtree(folder / "own")
    dist.destroy_process_group()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
