"""`tracegraph attach`: files that are not traces but explain one, added to a stored run."""

import click

from tracegraph.cli.context import Context, pass_context
from tracegraph.cli.options import stored_runs
from tracegraph.cli.reporters.companions import told_lines


@click.command()
@click.argument("run", shell_complete=stored_runs)
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@pass_context
def attach(context: Context, run: str, files: tuple[str, ...]) -> None:
    """Add what FILEs say to the stored RUN: logs of NCCL, output of its tests, snapshots of memory.

    Give the logs of all processes of a job at once: what files of the same kind said before is replaced.
    """
    with context.bench() as bench:
        told = bench.attach(files, run)
    for line in told_lines(told):
        click.echo(line)
