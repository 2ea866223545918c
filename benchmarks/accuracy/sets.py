"""Simulated traces with known truth: which there are, and how they are made."""

import importlib.util
import json
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click

from benchmarks.accuracy.damages import OWN, damage_files

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

At = tuple[int, int]
"""An event: its rank, and its position in the `traceEvents` of that rank."""
Row = tuple[int, int, At | None]
"""A stretch of a path: start and end in ns, and (rank, position in traceEvents) or None for a gap."""


@dataclass(frozen=True)
class OracleSet:
    """One simulated trace: its scenario (or the simulator's options), its variant, and its files' place.

    `damage` names what vary.py, or `damages`, did to it, one name after the other with commas between; it is
    empty for nothing.
    """

    scenario: str
    variant: tuple[str, ...]
    seed: int
    events: int
    stem: Path
    damage: str = ""

    @property
    def name(self) -> str:
        """The scenario, the variant, the seed and the damage."""
        words = [self.scenario, *self.variant, f"--seed {self.seed}", self.damage]
        return " ".join(word for word in words if word)

    @property
    def options(self) -> list[str]:
        """The options of the simulator."""
        scenario = shlex.split(SCENARIOS.get(self.scenario, self.scenario))
        return [*scenario, *self.variant, "--events", str(self.events), "--seed", str(self.seed)]

    @property
    def files(self) -> Path:
        """The beginning of the paths of its two files."""
        return self.stem.with_name(f"{self.stem.name}__{self.damage}") if self.damage else self.stem

    @property
    def trace(self) -> Path:
        """The Kineto file."""
        return self.files.with_name(f"{self.files.name}_rank0.json")

    @property
    def truth(self) -> Path:
        """The file with the true critical path, and the true cause of every start."""
        return self.files.with_name(f"{self.files.name}_truth.json")

    @property
    def undamaged(self) -> "OracleSet":
        """The same set as it was simulated."""
        return self.damaged("")

    def damaged(self, damage: str) -> "OracleSet":
        """Return the same set with this damage."""
        return replace(self, damage=damage)


@dataclass(frozen=True)
class Scorer:
    """The functions of the oracle's score.py.

    These are `score(truth, rows, traces)`, `truth_rows(truth)`, and `trace_facts(traces)`, which gives the
    category of each event by (rank, position), and for the kernels of one operation of several ranks the one
    of the first rank.
    """

    score: Callable[[dict[str, Any], list[Row], list[Path]], dict[str, Any]]
    truth_rows: Callable[[dict[str, Any]], list[Row]]
    trace_facts: Callable[[list[Path]], tuple[dict[At, str], dict[At, At]]]


@dataclass(frozen=True)
class Oracle:
    """The simulator and scorer in `folder`; the sets are made in `place`, and stay there if `keep`."""

    folder: Path
    place: Path
    keep: bool

    def matrix(
        self, scenarios: Sequence[str], variants: Sequence[tuple[str, ...]], seeds: Sequence[int], events: int
    ) -> list[OracleSet]:
        """List every scenario with every variant and seed; nothing is made yet."""
        return [
            OracleSet(name, variant, seed, events, self.place / _stem(name, *variant, str(events), str(seed)))
            for name in scenarios
            for variant in variants
            for seed in seeds
        ]

    @contextmanager
    def made(self, one: OracleSet) -> Iterator[OracleSet]:
        """Make the files of the set; a damaged one is made from the one without the last damage."""
        fresh = not one.truth.exists()
        if fresh and one.damage:
            before, _, last = one.damage.rpartition(",")
            with self.made(replace(one, damage=before)) as source:
                if last in OWN:
                    damage_files(last, source.files, one.files, one.seed)
                else:
                    self.run("vary.py", last, source.files, one.files, "--seed", str(one.seed))
        elif fresh:
            self.run("synth_kineto.py", one.stem, *one.options, "--all-edges")
        yield one
        if fresh and not self.keep:
            one.trace.unlink()
            one.truth.unlink()

    def run(self, program: str, *words: str | Path) -> str:
        """Run a program of the oracle and return what it prints."""
        command = [sys.executable, self.folder / program, *words]
        return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout

    def scorer(self) -> Scorer:
        """Load the functions of the oracle's own score.py."""
        spec = importlib.util.spec_from_file_location("oracle_score", self.folder / "score.py")
        if spec is None or spec.loader is None:
            raise click.ClickException(f"{self.folder / 'score.py'} cannot be imported")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return Scorer(module.score, module.truth_rows, module.trace_facts)


def find_oracle(folder: Path, place: Path, *, keep: bool) -> Oracle:
    """Find the oracle in `folder`; end the command with one line if it is not there."""
    for name in ("synth_kineto.py", "score.py", "vary.py"):
        if not (folder / name).exists():
            raise click.ClickException(f"no oracle: {folder} has no {name}; name its folder with --oracle")
    place.mkdir(parents=True, exist_ok=True)
    return Oracle(folder, place, keep)


def _stem(*words: str) -> str:
    return "_".join(word.replace("--", "").replace(" ", "_") for word in words if word)


def read_json(path: Path) -> dict[str, Any]:
    """Read the object in a JSON file."""
    document: dict[str, Any] = json.loads(path.read_bytes())
    return document
