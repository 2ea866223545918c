"""The traces that are timed: real recordings, and simulated ones made on demand."""

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import click

STORED = {"gpt": (2.55, 4.55), "simulated": (1_370_453 / 608_364, 2_573_593 / 608_364)}
"""Nodes and relationships of an event that the version b264111 stored of each kind of trace."""
SIZES = {"10k": 10_000, "100k": 100_000, "1M": 1_000_000, "10M": 10_000_000}


@dataclass(frozen=True)
class Trace:
    """One input; `kind` is `gpt` (recorded on a CPU) or `simulated` (with a GPU)."""

    kind: str
    size: str
    path: Path

    @property
    def name(self) -> str:
        """Its name in the tables."""
        return f"{self.kind} {self.size}"


def kind_of(path: Path) -> str:
    """Tell the kind of a trace that `find_traces` found."""
    return path.name.partition("_")[0]


def find_traces(sizes: list[str], recorded: Path, oracle: Path, place: Path) -> list[Trace]:
    """List the traces of each size that are available; print one line for each that is absent."""
    found = []
    for size in sizes:
        path = recorded / f"gpt_{size}.json.gz"
        if path.exists():
            found.append(Trace("gpt", size, path))
        else:
            click.echo(f"no recorded trace of {size} events: {path} is absent; name its folder with --traces")
        if (oracle / "synth_kineto.py").exists():
            found.append(Trace("simulated", size, simulated(oracle, place, size)))
        else:
            click.echo(
                f"no simulated trace of {size} events: {oracle} has no synth_kineto.py; name it with --oracle"
            )
    return found


def simulated(oracle: Path, place: Path, size: str) -> Path:
    """Make a simulated trace of one rank in a folder, unless it is there, and return its path."""
    made = place / f"simulated_{size}_rank0.json.gz"
    if not made.exists():
        program = oracle / "synth_kineto.py"
        options = ["--events", str(SIZES[size]), "--regime", "mixed", "--gz"]
        command: list[str | Path] = [sys.executable, program, place / f"simulated_{size}", *options]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return made
