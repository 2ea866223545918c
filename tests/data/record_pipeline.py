"""Record a pipeline with known work, and what it measures of itself, over gloo: tests/data/pipelines.

PYTHONPATH=examples torchrun --standalone --nproc-per-node STAGES tests/data/record_pipeline.py \\
    SCHEDULE MICRO_BATCHES FOLDER

SCHEDULE is 1f1b or gpipe.
"""

import json
import os
import shutil
import sys
from pathlib import Path

import torch
import torch.distributed as dist
from common.own_times import read_noted, write_noted
from pipeline.own_bubble import own_times
from pipeline.train import make_step
from timed_steps import record

RECORDED, TIMES = 2, 3.0
"""Steps, and how many times as long as in the example a stage computes: the host counts the less."""


def main(schedule: str, micro_batches: int, folder: Path) -> None:
    """Record two steps of all stages."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    step = make_step(schedule, micro_batches, TIMES)
    step()
    load = os.getloadavg()[0]
    record(step, folder / f"rank{rank}.json.gz", RECORDED)
    write_noted(folder / "own", rank)
    dist.barrier()
    if rank == 0:
        steps = [own_times(one) for one in read_noted(folder / "own", RECORDED)]
        told = {
            "load": [load, os.getloadavg()[0]],
            "steps": [{"span_ns": span, "busy_ns": busy} for span, busy in steps],
        }
        (folder / "times.json").write_text(json.dumps(told), encoding="utf-8")
        shutil.rmtree(folder / "own")
    dist.destroy_process_group()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), Path(sys.argv[3]))
