"""`python -m benchmarks.speed.seconds`: the seconds of a small trace by stage, for docs/speed.md."""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import click
import psutil

from benchmarks.accuracy import markdown
from benchmarks.speed.__main__ import SHARED, machine
from benchmarks.speed.measure import ROOT
from tracegraph.store.session import find_server, stop_server
from tracegraph.store.workspace import Workspace, open_workspace

_COMMAND = [sys.executable, "-c", "from tracegraph.cli.main import main; raise SystemExit(main())"]
_WARM_UPS = 2
"""Reports on the running server before the one that counts."""


@dataclass(frozen=True)
class Stage:
    """A stage of a command: its length, and the CPU seconds of Python and of Java meanwhile."""

    name: str
    wall_s: float
    python_s: float
    java_s: float


@click.command()
@click.argument("trace", type=click.Path(path_type=Path), default=SHARED / "traces/torch_cpu/gpt_10k.json.gz")
@click.option("--document", type=click.Path(path_type=Path), default=ROOT / "docs" / "speed.md")
def main(trace: Path, document: Path) -> None:
    """Time the stages of a report in a new workspace and in one whose server is up, and a question's."""
    block = markdown.find_block(document, "seconds")
    with tempfile.TemporaryDirectory() as folder:
        workspace = open_workspace(Path(folder) / "workspace")
        try:
            fresh = watch(workspace, "report", str(trace), "--run", "fresh")
            for number in range(_WARM_UPS):
                watch(workspace, "report", str(trace), "--run", f"again {number}")
            warm = watch(workspace, "report", str(trace), "--run", "warm")
            asked = [
                watch(workspace, *question)
                for question in (("report",), ("query", "hotspots"), ("cypher", "RETURN 1"))
            ]
        finally:
            stop_server(workspace)
    names = ("`report` stored", "`query hotspots`", "`cypher`")
    questions = ", ".join(f"{name} {total(stages):.2f} s" for name, stages in zip(names, asked, strict=True))
    block.write(
        f"{machine()}. {trace.name}.\n\nA new workspace: {total(fresh):.1f} s.\n\n{table(fresh)}\n\n"
        f"A server that is up and has stored {_WARM_UPS + 1} runs: {total(warm):.1f} s.\n\n{table(warm)}\n\n"
        f"Questions about a stored run, the server up: {questions}."
    )


def watch(workspace: Workspace, *arguments: str) -> list[Stage]:
    """Run a command, and time its stages as it names them."""
    command = [*_COMMAND, "-v", "--workspace", str(workspace.root), *arguments]
    begun, spent = time.perf_counter(), _cpu(workspace, None)
    stages: list[Stage] = []
    name = "Python begins"
    with subprocess.Popen(
        command,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "TRACEGRAPH_LINGER": "10"},
    ) as process:
        for line in _stages(process):
            now, cpu = time.perf_counter(), _cpu(workspace, process.pid)
            stages.append(Stage(name, now - begun, cpu[0] - spent[0], cpu[1] - spent[1]))
            name, begun, spent = line, now, cpu
    if process.returncode:
        raise click.ClickException(f"{' '.join(arguments)} failed")
    return [*stages, Stage(name, time.perf_counter() - begun, 0.0, _cpu(workspace, None)[1] - spent[1])]


def _stages(process: "subprocess.Popen[str]") -> Iterator[str]:
    known = ""
    for line in process.stderr or ():
        name = line.strip().partition(" (")[0]
        if name != known and not name.startswith("Neo4j stays"):
            yield name
        known = name


def _cpu(workspace: Workspace, python: int | None) -> tuple[float, float]:
    """Return the CPU seconds of a process and of the workspace's server so far."""
    server = find_server(workspace)
    spent = []
    for number in (python, server.pid if server else None):
        times = psutil.Process(number).cpu_times() if number is not None else None
        spent.append(times.user + times.system if times else 0.0)
    return spent[0], spent[1]


def total(stages: list[Stage]) -> float:
    """Sum the wall seconds of a command."""
    return sum(stage.wall_s for stage in stages)


def table(stages: list[Stage]) -> str:
    """Write the stages as a table."""
    head = ("stage", "wall, s", "Python's CPU, s", "Java's CPU, s")
    rows = [
        (stage.name, *(f"{value:.2f}" for value in (stage.wall_s, stage.python_s, stage.java_s)))
        for stage in stages
    ]
    return markdown.table(head, rows)


if __name__ == "__main__":
    main()
