"""Simulated traces with known truth: which there are, and how they are made."""

import importlib.util
import json
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

SCENARIOS = {
    "mixed": "--int-us",
    "gpu": "--regime gpu --int-us",
    "cpu": "--regime cpu --int-us",
    "cpu_nofwd": "--regime cpu --int-us --no-fwd-names",
    "comm": "--regime comm --int-us",
    "loader": "--regime loader --int-us",
    "loader_prefetch": "--regime loader --int-us --prefetch-thread --prefetch-mult 1.5",
    "cpu_stack": "--regime cpu --int-us --stack",
    "cpu_ns": "--regime cpu",
}
"""The single-rank scenarios that count, with the simulator's options."""
RARE_HAND_OVERS = (
    "--regime cpu --int-us --no-comm",
    "--regime loader --int-us --prefetch-thread --prefetch-mult 1",
    "--regime mixed --int-us --prefetch-thread --prefetch-mult 20",
    "--regime cpu --int-us --prefetch-thread --prefetch-mult 12 --no-comm",
)
"""More mixes, in which the path goes from thread to thread more often than in the scenarios."""
JITTER, NO_SYNC_ROWS = "--jitter", "--no-sync-rows"
VARIANTS: tuple[tuple[str, ...], ...] = ((), (NO_SYNC_ROWS,), (JITTER,), (JITTER, NO_SYNC_ROWS))

Row = tuple[int, int, tuple[int, int] | None]
"""A stretch of a path: start and end in ns, and (rank, position in traceEvents) or None for a gap."""


@dataclass(frozen=True)
class OracleSet:
    """One simulated trace: its scenario (or the simulator's options), what varies, and where its files go."""

    scenario: str
    variant: tuple[str, ...]
    seed: int
    events: int
    stem: Path

    @property
    def name(self) -> str:
        """The scenario, the variant and the seed."""
        return " ".join([self.scenario, *self.variant, f"--seed {self.seed}"])

    @property
    def options(self) -> list[str]:
        """What the simulator is called with."""
        scenario = shlex.split(SCENARIOS.get(self.scenario, self.scenario))
        return [*scenario, *self.variant, "--events", str(self.events), "--seed", str(self.seed)]

    @property
    def trace(self) -> Path:
        """The Kineto file."""
        return self.stem.with_name(f"{self.stem.name}_rank0.json")

    @property
    def truth(self) -> Path:
        """The file with the true critical path."""
        return self.stem.with_name(f"{self.stem.name}_truth.json")


@dataclass(frozen=True)
class Scorer:
    """What the oracle's score.py offers: `score(truth, rows, traces)` and `truth_rows(truth)`."""

    score: Callable[[dict[str, Any], list[Row], list[Path]], dict[str, Any]]
    truth_rows: Callable[[dict[str, Any]], list[Row]]


@dataclass(frozen=True)
class Oracle:
    """The simulator and scorer in `folder`; the sets are made in `place`, and stay there if `keep`."""

    folder: Path
    place: Path
    keep: bool

    def matrix(
        self, scenarios: Sequence[str], variants: Sequence[tuple[str, ...]], seeds: Sequence[int], events: int
    ) -> list[OracleSet]:
        """Every scenario with every variant and seed; nothing is made yet."""
        return [
            OracleSet(name, variant, seed, events, self.place / _stem(name, *variant, str(events), str(seed)))
            for name in scenarios
            for variant in variants
            for seed in seeds
        ]

    @contextmanager
    def made(self, one: OracleSet) -> Iterator[OracleSet]:
        """The set with its files."""
        if not one.truth.exists():
            program = self.folder / "synth_kineto.py"
            command: list[str | Path] = [sys.executable, program, one.stem, *one.options]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        yield one
        if not self.keep:
            one.trace.unlink()
            one.truth.unlink()

    def scorer(self) -> Scorer:
        """The functions of the oracle's own score.py."""
        spec = importlib.util.spec_from_file_location("oracle_score", self.folder / "score.py")
        if spec is None or spec.loader is None:
            raise click.ClickException(f"{self.folder / 'score.py'} cannot be imported")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return Scorer(module.score, module.truth_rows)


def find_oracle(folder: Path, place: Path, *, keep: bool) -> Oracle:
    """The oracle in `folder`; ends the command with one line where there is none."""
    for name in ("synth_kineto.py", "score.py"):
        if not (folder / name).exists():
            raise click.ClickException(f"no oracle: {folder} has no {name}; name its folder with --oracle")
    place.mkdir(parents=True, exist_ok=True)
    return Oracle(folder, place, keep)


def _stem(*words: str) -> str:
    return "_".join(word.replace("--", "").replace(" ", "_") for word in words)


def read_json(path: Path) -> dict[str, Any]:
    """The object in a JSON file."""
    document: dict[str, Any] = json.loads(path.read_bytes())
    return document
