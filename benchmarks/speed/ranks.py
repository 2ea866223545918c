"""`python -m benchmarks.speed.ranks`: a report over many ranks against one over an equally large file."""

import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import click
import psutil

from benchmarks.speed import measure
from benchmarks.speed.measure import ROOT
from tracegraph.store.workspace import Workspace

_PAUSE_S = 0.05
"""The pause between two samples of the memory."""
_MIB = 1 << 20
_TIME_GOAL, _MEMORY_GOAL = 2.0, 1.5
"""The goals: how many times the time and the memory of one file a job may take."""
_COMMAND = "from tracegraph.cli.main import main; raise SystemExit(main())"


@dataclass
class Cost:
    """The cost of a report: seconds, CPU seconds with Java's, and memory in bytes.

    `peak`: the largest memory of the command with its readers at one time; `own_peak`: of the command alone;
    `disk`: what the workspace holds afterwards.
    """

    wall_s: float
    cpu_s: float
    peak: int
    own_peak: int
    disk: int


oracle_option = click.option(
    "--oracle",
    type=click.Path(path_type=Path),
    default=ROOT.parent / "shared" / "oracle",
    help="Folder of the simulator; default: shared/oracle beside the project.",
)


@click.command()
@click.option("--ranks", type=click.IntRange(2), default=8, show_default=True, help="Ranks of the job.")
@click.option("--events", type=click.IntRange(1_000), default=125_000, show_default=True, help="Of a rank.")
@click.option(
    "--many", type=click.IntRange(0), default=64, show_default=True, help="Ranks of a large job; or 0."
)
@click.option(
    "--many-events", type=click.IntRange(1_000), default=10_000, show_default=True, help="Of a rank there."
)
@click.option("--repeat", type=click.IntRange(1), default=3, show_default=True, help="The fastest counts.")
@oracle_option
def main(*, ranks: int, events: int, many: int, many_events: int, repeat: int, oracle: Path) -> None:
    """Time reports from files to the printed page, each into a fresh workspace, and compare them."""
    with tempfile.TemporaryDirectory(prefix="tracegraph_ranks_") as name:
        place = Path(name)
        job = simulate(oracle, place / "job", ranks, events)
        alone = simulate(oracle, place / "alone", 1, ranks * events)
        single = _fastest(alone, place, repeat)
        click.echo(_row(f"1 file of {ranks * events:,} events", single))
        several = _fastest(job, place, repeat)
        click.echo(_row(f"{ranks} ranks of {events:,} events", several))
        click.echo(_ratio("time", several.wall_s / single.wall_s, _TIME_GOAL))
        click.echo(_ratio("memory", several.peak / single.peak, _MEMORY_GOAL))
        if many:
            large = simulate(oracle, place / "many", many, many_events)
            click.echo(_row(f"{many} ranks of {many_events:,} events", measure_report(large, place / "ws")))


def simulate(oracle: Path, folder: Path, ranks: int, events: int, *options: str) -> Path:
    """Make a folder with the traces of a simulated job, with `events` events for each rank."""
    program = oracle / "synth_kineto.py"
    if not program.exists():
        raise click.ClickException(f"{oracle} has no synth_kineto.py; name its folder with --oracle")
    folder.mkdir()
    sizes = ["--events", str(events), "--ranks", str(ranks), "--gz"]
    command: list[str | Path] = [sys.executable, program, folder / "job", *sizes, *options]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    (folder / "job_truth.json").unlink()
    return folder


def measure_report(
    traces: Path,
    workspace: Path,
    *options: str,
    then: Callable[[Path], object] = lambda workspace: None,
) -> Cost:
    """Measure one report on a folder in a fresh workspace; stop the server and remove all afterwards.

    `then` is called with the workspace before that.
    """
    command = [sys.executable, "-c", _COMMAND, "--workspace", str(workspace), "--quiet"]
    begun = time.perf_counter()
    process = subprocess.Popen(
        [*command, "report", str(traces), *options], stdout=subprocess.DEVNULL, cwd=ROOT
    )
    watch = _Watch(psutil.Process(process.pid), workspace)
    code = process.wait()
    wall_s = time.perf_counter() - begun
    watch.stop()
    try:
        if code:
            raise click.ClickException(f"the report on {traces} failed: its message stands above")
        disk = measure.disk_bytes(workspace)
        then(workspace)
    finally:
        subprocess.run([*command, "db", "stop"], check=True, stdout=subprocess.DEVNULL, cwd=ROOT)
        shutil.rmtree(workspace)
    return Cost(wall_s, watch.cpu_s, watch.peak, watch.own_peak, disk)


class _Watch:
    """Samples a process and all that it began: CPU seconds, and memory except for Java's."""

    def __init__(self, process: psutil.Process, workspace: Path) -> None:
        self._process, self.peak, self.own_peak = process, 0, 0
        self._spent: dict[int, float] = {}
        self._java = measure.Watch(Workspace(workspace).neo4j_home)
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End; what was seen is final."""
        self._done.set()
        self._thread.join()

    @property
    def cpu_s(self) -> float:
        """CPU seconds of all of them, and of the server of the workspace."""
        return sum({**self._spent, **self._java.cpu_s}.values())

    def _look(self) -> None:
        while not self._done.wait(_PAUSE_S):
            with suppress(psutil.Error):
                family = [self._process, *self._process.children(recursive=True)]
                self.peak = max(self.peak, sum(map(_memory, family)))
                self.own_peak = max(self.own_peak, _memory(self._process))
                for one in family:
                    self._note(one)
            self._java.look()

    def _note(self, process: psutil.Process) -> None:
        with suppress(psutil.Error):
            times = process.cpu_times()
            self._spent[process.pid] = times.user + times.system


def _memory(process: psutil.Process) -> int:
    with suppress(psutil.Error):
        if process.name() != "java":
            return int(process.memory_info().rss)
    return 0


def _fastest(traces: Path, place: Path, repeat: int) -> Cost:
    costs = [measure_report(traces, place / "ws") for _ in range(repeat)]
    fastest = min(costs, key=lambda cost: cost.wall_s)
    return replace(fastest, peak=max(cost.peak for cost in costs))


def _row(what: str, cost: Cost) -> str:
    return f"{what}: {cost.wall_s:.1f} s, {cost.peak // _MIB:,} MiB"


def _ratio(what: str, ratio: float, goal: float) -> str:
    return f"{what}: {ratio:.2f} times as much; the goal is {goal:g} ({'met' if ratio <= goal else 'missed'})"


if __name__ == "__main__":
    main()
