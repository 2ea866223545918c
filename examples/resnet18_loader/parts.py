"""Whether the profiler slows loading and training alike: their CPU times, recorded and not, in turns.

python parts.py ROUNDS FOLDER

It leaves a recording of each round in FOLDER, of which `tracegraph what-if` can be asked.
"""

import json
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from statistics import quantiles

import torch
from torch.profiler import ProfilerActivity, profile, schedule
from train import DROPPED, RECORDED, WAIT, WARM_UP, Batch, Trainer, batches, free_batches, make_photos


def cpu_times(trainer: Trainer, source: Iterable[Batch], profiler: profile | None) -> list[list[float]]:
    """Measure the CPU time of loading and of training in each step, ms."""
    batch, found = iter(source), []
    while True:
        begun = time.process_time()
        try:
            photos, labels = next(batch)
        except StopIteration:
            return found
        loaded = time.process_time()
        trainer.train_step(photos, labels)
        done = time.process_time()
        found.append([1000 * (loaded - begun), 1000 * (done - loaded)])
        if profiler is not None:
            profiler.step()


def recorded(trainer: Trainer, source: Iterable[Batch], trace: Path) -> list[list[float]]:
    """Measure the same of the steps that the profiler records."""
    with profile(
        activities=[ProfilerActivity.CPU],
        schedule=schedule(wait=WAIT, warmup=WARM_UP, active=RECORDED, repeat=1),
        with_stack=True,
    ) as profiler:
        found = cpu_times(trainer, source, profiler)
    profiler.export_chrome_trace(str(trace))
    return found[WAIT + WARM_UP :]


def main() -> None:
    """Read the command line, take turns, and print quartiles of all steps as JSON."""
    rounds, folder = int(sys.argv[1]), Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)
    trainer = Trainer()
    times: dict[str, list[list[float]]] = {}
    plain, under = DROPPED + RECORDED, WAIT + WARM_UP + RECORDED
    with tempfile.TemporaryDirectory() as name:
        photos = Path(name)
        make_photos(photos)
        for number in range(rounds):
            for kind, source in (("slow", batches(photos, 0, plain)), ("free", free_batches(photos, plain))):
                times.setdefault(kind, []).extend(cpu_times(trainer, source, None)[DROPPED:])
            trace = folder / f"slow{number}.json.gz"
            times.setdefault("slow, recorded", []).extend(recorded(trainer, batches(photos, 0, under), trace))
    said = {kind: [quantiles(part) for part in zip(*steps, strict=True)] for kind, steps in times.items()}
    print(json.dumps(said, indent=1))


if __name__ == "__main__":
    main()
