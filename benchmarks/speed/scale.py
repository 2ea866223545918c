"""`python -m benchmarks.speed.scale`: reports over jobs of ever more ranks, in full and in short."""

import tempfile
from dataclasses import dataclass
from pathlib import Path

import click

from benchmarks.accuracy.markdown import find_block, table
from benchmarks.speed.__main__ import machine
from benchmarks.speed.measure import ROOT
from benchmarks.speed.ranks import Cost, measure_report, oracle_option, simulate
from tracegraph.ingest.detail import FULL, PATH
from tracegraph.store.connection_settings import ConnectionSettings
from tracegraph.store.workspace import open_workspace
from tracegraph.workbench.bench import Workbench
from tracegraph.workbench.what_if.assumptions import NO_STRAGGLERS

_LATE_US = 3_000
"""How much longer the host of the late rank works in each step, µs."""
_COLUMNS = (
    *("job", "kept", "until the end, s", "CPU, s"),
    *("memory with readers, GB", "of the command, GB", "disk, GB"),
    *("late rank", "by what", "gain without, ms"),
)


@dataclass(frozen=True)
class Job:
    """A simulated job, with how many events of each rank."""

    ranks: int
    events: int

    @property
    def late(self) -> int:
        """The rank that is late: neither the first nor the last."""
        return 2 * self.ranks // 3


@dataclass(frozen=True)
class Found:
    """What a run says: which rank makes others wait longest, by what, and the gain where none is late."""

    rank: int
    cause: str
    gain_ns: int


@click.command()
@click.option("--ranks", multiple=True, type=click.IntRange(2), default=(16, 64, 256), show_default=True)
@click.option("--events", type=click.IntRange(1_000), default=10_000, show_default=True, help="Of a rank.")
@click.option("--large-ranks", type=click.IntRange(0), default=16, show_default=True, help="In short only.")
@click.option("--large-events", type=click.IntRange(1_000), default=1_000_000, show_default=True)
@click.option("--document", type=click.Path(path_type=Path), default=ROOT / "docs" / "scale.md")
@oracle_option
def main(
    *,
    ranks: tuple[int, ...],
    events: int,
    large_ranks: int,
    large_events: int,
    document: Path,
    oracle: Path,
) -> None:
    """Time reports on jobs with a late rank, each into a fresh workspace; write what they cost and say."""
    block, rows = find_block(document, "scale"), []
    jobs = [(Job(count, events), (FULL, PATH)) for count in ranks]
    if large_ranks:
        jobs.append((Job(large_ranks, large_events), (PATH,)))
    for job, details in jobs:
        with tempfile.TemporaryDirectory(prefix="tracegraph_scale_") as name:
            late = ("--straggler", f"{job.late}:{_LATE_US}")
            traces = simulate(oracle, Path(name) / "job", job.ranks, job.events, *late)
            for detail in details:
                rows.append(_row(job, detail, *measured(traces, Path(name) / "workspace", detail)))
                click.echo(" | ".join(rows[-1]), err=True)
                # After each job, so that an hour's figures are kept if the rest fails.
                block.write(f"{machine()}.\n\n{table(_COLUMNS, rows)}")


def measured(traces: Path, workspace: Path, detail: str) -> tuple[Cost, Found]:
    """Measure a report in a level of detail, and ask the run about its late rank afterwards."""
    found: list[Found] = []
    cost = measure_report(
        traces, workspace, "--detail", detail, then=lambda stored: found.append(ask(stored))
    )
    return cost, found[0]


def ask(workspace: Path) -> Found:
    """Ask the only run of a workspace which rank is late, by what, and what is gained where none is."""
    run = Workbench(open_workspace(workspace), ConnectionSettings()).run()
    waits = run.ask("rank_waits").sort_values("caused_ns", ascending=False)
    rank = int(waits["rank"].iloc[0])
    causes = run.ask("late_causes").query("rank == @rank").sort_values("late_ns", ascending=False)
    gain = run.what_if(assume=NO_STRAGGLERS).prediction.corrected.gain_ns
    return Found(rank, "unknown" if causes.empty else str(causes["name"].iloc[0]), gain)


def _row(job: Job, detail: str, cost: Cost, found: Found) -> tuple[str, ...]:
    sizes = (cost.peak, cost.own_peak, cost.disk)
    return (
        f"{job.ranks} × {job.events:,}",
        detail,
        f"{cost.wall_s:.0f}",
        f"{cost.cpu_s:.0f}",
        *(f"{size / 1e9:.2f}" for size in sizes),
        f"{found.rank} (is {job.late})",
        found.cause,
        f"{found.gain_ns / 1e6:.2f}",
    )


if __name__ == "__main__":
    main()
