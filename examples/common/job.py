"""The common part of all ranks: join the group, record a trace of its own, or time steps unprofiled.

The jobs are started by torchrun, with one process for each rank, and talk over gloo, so that no GPU is
needed.
"""

import json
import os
import time
from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import torch
import torch.distributed as dist
from common.own_times import NOTED, write_noted
from torch.profiler import ProfilerActivity, profile, schedule

WAIT, WARM_UP, RECORDED = 2, 1, 10
"""Steps that the profiler skips, those in which it warms up, and those that it records."""
DROPPED, TIMED = 2, 6
"""Steps of a timed round that are not counted, and those that are."""
Step = Callable[[], object]


def read_options(description: str | None, variants: Mapping[str, str]) -> Namespace:
    """Read the command line that all jobs share; `variants` says what each changed job does."""
    parser = ArgumentParser(description=description, formatter_class=RawDescriptionHelpFormatter)
    changed = parser.add_mutually_exclusive_group()
    for name, what in variants.items():
        changed.add_argument(f"--{name}", dest="variant", action="store_const", const=name, help=what)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--record", type=Path, metavar="FOLDER", help="record a trace a rank into FOLDER")
    what.add_argument("--time", type=int, metavar="ROUNDS", help="time all variants in turns, unprofiled")
    parser.add_argument("--output", type=Path, metavar="FILE", help="where the times go, as JSON")
    return parser.parse_args()


@contextmanager
def process_group() -> Iterator[int]:
    """Join the other ranks over gloo, with one thread for each operator; give this process's rank."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    dist.init_process_group("gloo")
    try:
        yield dist.get_rank()
    finally:
        dist.destroy_process_group()


def record(step: Step, folder: Path, stacks: bool, shapes: bool) -> None:
    """Run steps under the profiler; each rank writes its own file, with its number in the name.

    What the job measures of itself meanwhile, if it does, goes into a folder beside it, FOLDER_own.
    """
    with profile(
        activities=[ProfilerActivity.CPU],
        schedule=schedule(wait=WAIT, warmup=WARM_UP, active=RECORDED, repeat=1),
        with_stack=stacks,
        record_shapes=shapes,
    ) as profiler:
        for _ in range(WAIT + WARM_UP + RECORDED):
            step()
            profiler.step()
    folder.mkdir(parents=True, exist_ok=True)
    profiler.export_chrome_trace(str(folder / f"rank{dist.get_rank()}.json.gz"))
    if NOTED:
        write_noted(folder.with_name(f"{folder.name}_own"), dist.get_rank())


def time_in_turns(
    steps: Mapping[str, Step], rounds: int, meet: Callable[[], object] = dist.barrier
) -> dict[str, list[float]]:
    """Measure the mean length of a step in ms by variant and round, in turns.

    A busy machine then slows all variants. `meet` is what all ranks do before and after the steps that count.
    """
    found: dict[str, list[float]] = {name: [] for name in steps}
    for _ in range(rounds):
        for name, step in steps.items():
            for _ in range(DROPPED):
                step()
            meet()
            start = time.perf_counter()
            for _ in range(TIMED):
                step()
            meet()
            found[name].append(1000 * (time.perf_counter() - start) / TIMED)
    return found


def run_job(
    description: str | None,
    variants: Mapping[str, str],
    make: Callable[[str], Step],
    *,
    stacks: bool = True,
    shapes: bool = False,
) -> None:
    """Read the command line, then record one variant or time all; `make` gives a variant's step.

    `stacks` also records Python frames, which gives names for one's own code, but several times as many
    events. `shapes` records the shapes of the inputs of operators and collectives.
    """
    options = read_options(description, variants)
    with process_group() as rank:
        if options.record:
            record(make(options.variant or "before"), options.record, stacks, shapes)
            return
        times = time_in_turns({name: make(name) for name in ("before", *variants)}, options.time)
    if rank == 0:
        options.output.write_text(json.dumps(times), encoding="utf-8")


def world() -> int:
    """Return the number of ranks."""
    return int(os.environ["WORLD_SIZE"])
