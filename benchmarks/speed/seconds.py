"""`python -m benchmarks.speed.seconds`: the seconds of a small trace by stage, for docs/speed.md."""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from queue import Queue
from threading import Thread
from typing import IO

import click
import psutil

from benchmarks.accuracy import markdown
from benchmarks.speed.__main__ import SHARED, machine
from benchmarks.speed.measure import ROOT
from tracegraph.store.session import find_server, stop_server
from tracegraph.store.workspace import Workspace, open_workspace

_PROGRAM = """
from contextlib import contextmanager
from tracegraph.cli.context import Context
from tracegraph.cli.main import main
from tracegraph.workbench.progress_bar import line_progress

Context.progress = contextmanager(lambda self: (yield line_progress(self.console)))
raise SystemExit(main())
"""
"""The command with a line for each stage, as with -v, which would also ask for every section."""
_ANSWERED = "after the answer"
"""The stage that begins with the first line of the answer."""
# An installed package is compiled: the first command, which does not count, compiles this one.
_ENVIRONMENT = {
    **{name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"},
    "TRACEGRAPH_LINGER": "10",
}
_WARM_UPS = 2
"""Reports on the running server before the one that counts."""
_QUESTIONS = (("report",), ("query", "hotspots"), ("cypher", "RETURN 1"))
"""Questions about a stored run, each asked twice: at first the server has to plan what it never saw."""


@dataclass(frozen=True)
class Stage:
    """A stage of a command: its length, and the CPU seconds of Python and of Java meanwhile."""

    name: str
    wall_s: float
    python_s: float
    java_s: float


@click.command()
@click.argument("trace", type=click.Path(path_type=Path), default=SHARED / "traces/torch_cpu/gpt_10k.json.gz")
@click.option(
    "--large",
    type=click.Path(path_type=Path),
    default=SHARED / "traces/o1_bytedance_straggler/trace-AR.parquet",
    help="A trace that is stored into the same workspace after that.",
)
@click.option("--document", type=click.Path(path_type=Path), default=ROOT / "docs" / "speed.md")
def main(trace: Path, large: Path, document: Path) -> None:
    """Time the stages of a report in a new workspace and in one whose server is up, and a question's."""
    block = markdown.find_block(document, "seconds")
    with tempfile.TemporaryDirectory() as folder:
        workspace = open_workspace(Path(folder) / "workspace")
        try:
            compiling = [sys.executable, "-c", _PROGRAM, "report", "--help"]
            subprocess.run(compiling, env=_ENVIRONMENT, stdout=subprocess.DEVNULL, check=True)
            fresh = watch(workspace, "report", str(trace), "--run", "fresh")
            for number in range(_WARM_UPS):
                watch(workspace, "report", str(trace), "--run", f"again {number}")
            warm = watch(workspace, "report", str(trace), "--run", "warm")
            asked = [[watch(workspace, *question) for _ in range(2)] for question in _QUESTIONS]
            added = watch(workspace, "report", str(large), "--run", "large")
            beside = _beside(workspace)
        finally:
            stop_server(workspace)
    questions = ", ".join(
        f"`{' '.join(question)}` {total(first):.2f} s, again {total(second):.2f} s"
        for question, (first, second) in zip(_QUESTIONS, asked, strict=True)
    )
    parts = (
        f"{machine()}. {trace.name}.",
        _said("A new workspace", fresh),
        _said(f"A server that is up and has stored {_WARM_UPS + 1} runs", warm),
        f"Questions about a stored run, the server up: {questions}.",
        f"Beside them on this machine: {beside}.",
        _said(f"{large.name} into the same workspace", added),
    )
    block.write("\n\n".join(parts))


def _beside(workspace: Workspace) -> str:
    """Time what any command of Python and any server takes; the fastest of three."""
    ours = ("-c", _PROGRAM, "--workspace", str(workspace.root))
    commands = {
        "`python -c pass`": ("-c", "pass"),
        "`import pandas`": ("-c", "import pandas"),
        "a report on a file that is not there": (*ours, "report", "no_such_file.json"),
    }
    times = {name: min(_seconds(*command) for _ in range(3)) for name, command in commands.items()}
    stop_server(workspace)
    times["the start of a server alone"] = _seconds(*ours, "db", "start")
    return ", ".join(f"{name} {seconds:.2f} s" for name, seconds in times.items())


def _seconds(*arguments: str) -> float:
    begun = time.perf_counter()
    command = [sys.executable, *arguments]
    subprocess.run(command, env=_ENVIRONMENT, capture_output=True, check=False)
    return time.perf_counter() - begun


def _said(what: str, stages: list[Stage]) -> str:
    names = [stage.name for stage in stages]
    answered = total(stages[: names.index(_ANSWERED)])
    return f"{what}: {answered:.1f} s until the answer.\n\n{table(stages)}"


def watch(workspace: Workspace, *arguments: str) -> list[Stage]:
    """Run a command, and time its stages as it names them."""
    command = [sys.executable, "-c", _PROGRAM, "--workspace", str(workspace.root), *arguments]
    clock = _Clock(workspace)
    stages: list[Stage] = []
    name = "Python begins"
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=_ENVIRONMENT,
    ) as process:
        clock.python = psutil.Process(process.pid)
        for line in _stages(process):
            stages.append(Stage(name, *clock.lap()))
            name = line
    if process.returncode:
        raise click.ClickException(f"{' '.join(arguments)} failed")
    return [*stages, Stage(name, *clock.lap())]


def _stages(process: "subprocess.Popen[str]") -> Iterator[str]:
    """Yield the name of each stage as soon as it begins."""
    heard: Queue[str | None] = Queue()

    def listen(pipe: "IO[str] | None", said: str | None) -> None:
        for line in pipe or ():
            heard.put(said or line.strip().partition(" (")[0])
        heard.put(None)

    for pipe, said in ((process.stderr, None), (process.stdout, _ANSWERED)):
        Thread(target=listen, args=(pipe, said), daemon=True).start()
    name, silent = "", 0
    while silent < 2:  # both pipes have ended
        line = heard.get()
        if line is None:
            silent += 1
        elif line != name and not line.startswith("Neo4j stays"):
            yield line
            name = line


class _Clock:
    """Measures laps: seconds, and the CPU seconds of Python and of Java meanwhile."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self.python: psutil.Process | None = None
        self._python_s = self._imports_s = 0.0
        self._servers: dict[int, float] = {}
        self._last = self._now()

    def lap(self) -> tuple[float, float, float]:
        before, self._last = self._last, self._now()
        wall, python, java = (now - then for now, then in zip(self._last, before, strict=True))
        return wall, python, java

    def _now(self) -> tuple[float, float, float]:
        # What has ended keeps its last value: a rebuild ends the server and starts another one.
        with suppress(psutil.NoSuchProcess):
            if self.python is not None:
                spent = self.python.cpu_times()
                self._python_s = spent.user + spent.system
                self._imports_s = spent.children_user + spent.children_system  # those that have ended
            if server := find_server(self._workspace):
                spent = psutil.Process(server.pid).cpu_times()
                self._servers[server.pid] = spent.user + spent.system
        return time.perf_counter(), self._python_s, self._imports_s + sum(self._servers.values())


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
