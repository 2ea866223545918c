"""`python -m benchmarks.speed.health`: how long `tracegraph health` takes on the files of a job."""

import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import click

from benchmarks.speed.measure import ROOT
from benchmarks.speed.ranks import oracle_option, simulate

_GOAL_S = 10.0
_COMMAND = "from tracegraph.cli.main import main; raise SystemExit(main())"
_JUDGED = (0, 1)
"""The exit codes of a job that was judged: nothing failed, or a check did."""


@click.command()
@click.option("--ranks", type=click.IntRange(2), default=8, show_default=True, help="Ranks of the job.")
@click.option("--events", type=click.IntRange(1_000), default=125_000, show_default=True, help="Of a rank.")
@click.option("--repeat", type=click.IntRange(1), default=3, show_default=True, help="The fastest counts.")
@oracle_option
@click.option("--traces", type=click.Path(path_type=Path), help="A folder of traces to take instead.")
def main(*, ranks: int, events: int, repeat: int, oracle: Path, traces: Path | None) -> None:
    """Time the command from its start to its table; seconds of CPU are those of its readers, too."""
    with tempfile.TemporaryDirectory(prefix="tracegraph_health_") as name:
        folder = traces or simulate(oracle, Path(name) / "job", ranks, events)
        times = [_run(folder, Path(name) / "workspace") for _ in range(repeat)]
    wall_s, cpu_s = min(times)
    said = "met" if wall_s < _GOAL_S else "missed"
    click.echo(f"{folder.name}: {wall_s:.1f} s, {cpu_s:.1f} s of CPU; the goal of {_GOAL_S:g} s is {said}")


def _run(folder: Path, workspace: Path) -> tuple[float, float]:
    command = [
        sys.executable,
        "-c",
        _COMMAND,
        "--workspace",
        str(workspace),
        "--quiet",
        "health",
        str(folder),
    ]
    before, begun = _cpu_s(), time.perf_counter()
    code = subprocess.run(command, stdout=subprocess.DEVNULL, cwd=ROOT, check=False).returncode
    wall_s = time.perf_counter() - begun
    if code not in _JUDGED:
        raise click.ClickException(f"tracegraph health {folder} ended with {code}: its message stands above")
    return wall_s, _cpu_s() - before


def _cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main()
