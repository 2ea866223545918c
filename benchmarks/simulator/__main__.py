"""`python -m benchmarks.simulator`: judge pipelines and write benchmarks/results/pipelines.md."""

from pathlib import Path

import click

from benchmarks.accuracy.markdown import find_block
from benchmarks.accuracy.options import counted, processes_option, written
from benchmarks.accuracy.verdict import in_processes
from benchmarks.simulator.judge import describe, jobs, judge


@click.command()
@processes_option
@click.option("--seeds", default=3, show_default=True, help="How many uneven jobs of each kind.")
@written("pipelines.md")
def main(*, processes: int, seeds: int, document: Path) -> None:
    """Score what-if of pipelines of every schedule against the simulation with the change."""
    block = find_block(document, "pipelines")
    listed = list(jobs(range(seeds)))
    block.write(describe(list(counted(in_processes(judge, listed, processes), len(listed)))))


if __name__ == "__main__":
    main()
