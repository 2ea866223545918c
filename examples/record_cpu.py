"""Record small traces of training loops on the CPU, each with a fact measured without the profiler.

python examples/record_cpu.py [SCENARIO ...] [--output DIR]     (needs torch; no scenario: all of them)

Writes the trace DIR/SCENARIO.json.gz (DIR/after/ after a fix) and SCENARIO.facts.json: what the loop takes
without the profiler, as recorded and with its bottleneck removed, in turns so that a busy machine slows both.
"""

import argparse
import gzip
import json
import os
import platform
import statistics
import tempfile
import time
import zlib
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor, nn
from torch._C._profiler import _ExperimentalConfig
from torch.profiler import ProfilerActivity, profile, record_function, schedule

BATCH, WIDTH = 32, 128
"""Examples in a batch, and width of the model."""
WARM_UP, RECORDED = 3, 2
"""Steps in which the profiler warms up, and those that it records."""
RECORDINGS = 30
"""Recordings of which the shortest is kept."""
ROUNDS, STEPS_A_ROUND, STEPS_DROPPED = 61, 12, 2
"""Rounds of timing, steps in each, and the first of them that are not counted."""
Step = Callable[[], object]


@dataclass(frozen=True)
class Scenario:
    """A loop with a known bottleneck: `step` has it, `changed_step` does not."""

    bottleneck: str
    change: str
    step: Step
    changed_step: Step
    with_stack: bool = False


class Trainer:
    """Classify vectors with one small transformer layer and AdamW."""

    def __init__(self) -> None:
        torch.manual_seed(0)
        layers = nn.TransformerEncoderLayer(WIDTH, nhead=4, dim_feedforward=WIDTH, batch_first=True)
        self.model = nn.Sequential(nn.TransformerEncoder(layers, 1), nn.Linear(WIDTH, 10))
        self.optimizer = torch.optim.AdamW(self.model.parameters())
        self.labels = torch.randint(10, (BATCH,))

    def backward(self, batch: Tensor) -> float:
        """Run forward and backward, and return the loss."""
        self.optimizer.zero_grad()
        loss = nn.functional.cross_entropy(self.model(batch), self.labels)
        loss.backward()  # type: ignore[no-untyped-call]
        return loss.item()

    def train(self, batch: Tensor) -> float:
        """Run one whole training step, and return the loss."""
        value = self.backward(batch)
        self.optimizer.step()
        return value


def random_bytes(count: int) -> bytes:
    """Return bytes that compress to about half."""
    return bytes(torch.randint(16, (count,), dtype=torch.uint8).tolist())


def train_small() -> Scenario:
    """Make plain training on a batch at hand."""
    trainer, batch = Trainer(), torch.randn(BATCH, WIDTH)
    return Scenario(
        bottleneck="nothing in particular: forward, backward and AdamW",
        change="without optimizer.step()",
        step=lambda: trainer.train(batch),
        changed_step=lambda: trainer.backward(batch),
    )


def slow_loader() -> Scenario:
    """Make training that decodes each batch in plain Python, on the training thread."""
    trainer, packed = Trainer(), zlib.compress(random_bytes(BATCH * WIDTH * 16))

    def decode() -> Tensor:
        with record_function("decode batch"):
            values = [value / 16 for value in zlib.decompress(packed)]
            return torch.tensor(values).view(16, BATCH, WIDTH).mean(0)

    ready = decode()
    return Scenario(
        bottleneck="decoding on the training thread",
        change="the batch is ready",
        step=lambda: trainer.train(decode()),
        changed_step=lambda: trainer.train(ready),
        with_stack=True,
    )


def fast_loader() -> Scenario:
    """Make slow_loader after a fix: the same batch, decoded by operators instead of a loop in Python."""
    trainer, packed = Trainer(), zlib.compress(random_bytes(BATCH * WIDTH * 16))

    def decode() -> Tensor:
        with record_function("decode batch"):
            raw = torch.frombuffer(bytearray(zlib.decompress(packed)), dtype=torch.uint8)
            return raw.view(16, BATCH, WIDTH).float().div_(16).mean(0)

    ready = decode()
    return Scenario(
        bottleneck="none; the loader's share is known",
        change="the batch is ready",
        step=lambda: trainer.train(decode()),
        changed_step=lambda: trainer.train(ready),
        with_stack=True,
    )


def two_threads() -> Scenario:
    """Make training that waits for batches from one prefetching thread, which is slower than training."""
    trainer, packed = Trainer(), zlib.compress(random_bytes(2 << 20))

    def decode() -> Tensor:
        with record_function("decode batch"):
            raw = bytearray(zlib.decompress(packed))  # zlib releases the GIL
            return torch.frombuffer(raw, dtype=torch.uint8)[: BATCH * WIDTH].view(BATCH, WIDTH) / 16

    ready = decode()

    def prefetching(load: Callable[[], Tensor]) -> Step:
        pool = ThreadPoolExecutor(1, thread_name_prefix="prefetch")
        pending: Future[Tensor] = pool.submit(load)

        def step() -> float:
            nonlocal pending
            with record_function("wait for batch"):
                batch = pending.result()
            pending = pool.submit(load)
            return trainer.train(batch)

        return step

    return Scenario(
        bottleneck="the prefetching thread",
        change="the prefetching thread has its batch ready",
        step=prefetching(decode),
        changed_step=prefetching(lambda: ready),
    )


SCENARIOS: dict[str, Callable[[], Scenario]] = {
    "train_small": train_small,
    "slow_loader": slow_loader,
    "fast_loader": fast_loader,
    "two_threads": two_threads,
}


AFTER_A_FIX = {"fast_loader"}
"""Scenarios whose files are kept apart, because they are not examples of something slow."""


def time_step(step: Step) -> float:
    """Run one step and return its length in ms."""
    start = time.perf_counter_ns()
    step()
    return (time.perf_counter_ns() - start) / 1e6


def time_round(step: Step) -> float:
    """Return the median length of a step in ms, without the first, which the other loop may disturb."""
    lengths = [time_step(step) for _ in range(STEPS_A_ROUND)]
    return statistics.median(lengths[STEPS_DROPPED:])


def record(scenario: Scenario) -> tuple[list[float], bytes]:
    """Profile a few steps; return the length of each in ms, and the trace as JSON text."""
    lengths = []
    with profile(
        activities=[ProfilerActivity.CPU],
        schedule=schedule(wait=0, warmup=WARM_UP, active=RECORDED, repeat=1),
        record_shapes=True,
        with_stack=scenario.with_stack,
        experimental_config=_ExperimentalConfig(profile_all_threads=True),
    ) as profiler:
        for _ in range(WARM_UP + RECORDED):
            lengths.append(time_step(scenario.step))
            profiler.step()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "trace.json")
        profiler.export_chrome_trace(str(path))
        # The exporter writes the full path of its file, which says nothing about the trace.
        return lengths[WARM_UP:], path.read_bytes().replace(os.fsencode(path), os.fsencode(path.name))


def quartiles(values: list[float]) -> list[float]:
    """Return lower quartile, median and upper quartile, to three decimals."""
    return [round(value, 3) for value in statistics.quantiles(values)]


def measure(scenario: Scenario) -> dict[str, object]:
    """Time the loop with and without its bottleneck, in turns.

    The result has the quartiles over the rounds, lengths in ms.
    """
    pairs = [(time_round(scenario.step), time_round(scenario.changed_step)) for _ in range(ROUNDS)]
    return {
        "step_ms": quartiles([step for step, _ in pairs]),
        "changed_step_ms": quartiles([changed for _, changed in pairs]),
        "changed_share": quartiles([changed / step for step, changed in pairs]),
    }


def main() -> None:
    """Record the scenarios named on the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("scenario", nargs="*", default=list(SCENARIOS), help=", ".join(SCENARIOS))
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "traces")
    options = parser.parse_args()
    if unknown := set(options.scenario) - set(SCENARIOS):
        parser.error(f"no such scenario: {', '.join(sorted(unknown))}")
    torch.set_num_threads(1)
    for name in options.scenario:
        scenario = SCENARIOS[name]()
        folder = options.output / ("after" if name in AFTER_A_FIX else ".")
        folder.mkdir(parents=True, exist_ok=True)
        timing = measure(scenario)
        # A busy machine holds threads up inside operators, least of all in the shortest recording.
        recorded, trace = min((record(scenario) for _ in range(RECORDINGS)), key=lambda pair: sum(pair[0]))
        (folder / f"{name}.json.gz").write_bytes(gzip.compress(trace, 9, mtime=0))
        facts = {
            "bottleneck": scenario.bottleneck,
            "change": scenario.change,
            "quartiles": timing,
            "recorded_step_ms": [round(value, 3) for value in recorded],
            "device": "CPU",
            "machine": platform.machine(),
            "cores": os.cpu_count(),
            "torch": torch.__version__,
            "python": platform.python_version(),
        }
        (folder / f"{name}.facts.json").write_text(json.dumps(facts, indent=2) + "\n")
        print(name, json.dumps(timing))


if __name__ == "__main__":
    main()
