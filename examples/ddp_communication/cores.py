"""Time the variants in turns, with the time for which threads got no core, and record the job in between.

OMP_NUM_THREADS=1 torchrun --standalone --nproc-per-node 2 -m ddp_communication.cores ROUNDS FOLDER [--pin]

Linux only: it reads /proc/self/task. `--pin` gives each rank one core. Rank 0 prints a line for each variant:
step, CPU time and time without a core of all its threads, ms, in the median; and how many times as fast.
"""

import os
import time
from argparse import ArgumentParser
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median, quantiles

import torch.distributed as dist
from common.job import DROPPED, TIMED, Step, process_group, record
from ddp_communication.train import VARIANTS, make_step

Lengths = Mapping[str, Sequence[tuple[float, float, float]]]


def scheduled() -> tuple[int, int]:
    """Sum up for how long this process's threads ran, and for how long they were ready and did not, ns."""
    found = [(path / "schedstat").read_text().split() for path in Path("/proc/self/task").iterdir()]
    return sum(int(ran) for ran, *_ in found), sum(int(waited) for _, waited, _ in found)


def time_steps(step: Step) -> tuple[float, float, float]:
    """Measure the mean length of a step, its CPU time, and its time without a core, ms."""
    for _ in range(DROPPED):
        step()
    dist.barrier()
    before, start = scheduled(), time.perf_counter()
    for _ in range(TIMED):
        step()
    dist.barrier()
    length, after = time.perf_counter() - start, scheduled()
    ran, waited = (1e-6 * (later - earlier) / TIMED for earlier, later in zip(before, after, strict=True))
    return 1000 * length / TIMED, ran, waited


def show(times: Lengths) -> None:
    """Print medians, and how many times as fast each round became."""
    for name, rounds in times.items():
        step, ran, waited = (median(values) for values in zip(*rounds, strict=True))
        ratios = [one[0] / other[0] for one, other in zip(times["before"], rounds, strict=True)]
        low, middle, high = quantiles(ratios)
        spread = f"{middle:.2f} [{low:.2f}–{high:.2f}] times as fast"
        print(f"{name:<10} {step:6.1f} ms, CPU {ran:.1f}, without a core {waited:.1f}: {spread}")


def main() -> None:
    """Read the command line, and take turns."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("rounds", type=int)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--pin", action="store_true")
    options = parser.parse_args()
    if options.pin:
        os.sched_setaffinity(0, {int(os.environ["LOCAL_RANK"])})
    with process_group() as rank:
        steps = {name: make_step(name) for name in ("before", *VARIANTS)}
        times: dict[str, list[tuple[float, float, float]]] = {name: [] for name in steps}
        for number in range(options.rounds):
            for name, step in steps.items():
                times[name].append(time_steps(step))
            record(steps["before"], options.folder / f"before{number}", stacks=False, shapes=True)
            dist.barrier()
        if rank == 0:
            show(times)


if __name__ == "__main__":
    main()
