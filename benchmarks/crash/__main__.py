"""`python -m benchmarks.crash`: kill commands at each of their steps; a later call goes on."""

import fnmatch
import os
import subprocess
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import click
from crash_check import Truth
from crash_steps import Trial
from crash_trial import tried_once
from crash_ways import WAYS, Prepared, record

from benchmarks.accuracy.markdown import find_block
from benchmarks.crash.describe import describe
from benchmarks.crash.order import still_to_try
from benchmarks.crash.record import EARLIER, Record, Tried
from benchmarks.speed.__main__ import machine
from benchmarks.speed.measure import ROOT

_PATH = click.Path(path_type=Path)


@click.command()
@click.option(
    "--state",
    type=_PATH,
    required=True,
    help="File of what was tried so far, outside of the project; where there is none, a copy of what "
    "benchmarks/crash/tried.jsonl says.",
)
@click.option(
    "--folder",
    type=_PATH,
    required=True,
    help="Folder for the workspaces, which may be removed between calls; not on a disk that is memory.",
)
@click.option(
    "--hours", type=click.FloatRange(0), default=1.0, show_default=True, help="How long; 0: only the table."
)
@click.option("--kills", type=click.IntRange(1), help="End after so many, too.")
@click.option(
    "--ways", "pattern", default="*", show_default=True, help="Only ways like this, such as 'del*'."
)
@click.option("--site", help="Only kills at a step whose name holds this, such as 'workspace.save_run'.")
@click.option("--relist", is_flag=True, help="List the steps of the ways anew, as after a change of them.")
@click.option(
    "--document",
    type=_PATH,
    help="Document whose block `crash` gets the table, else it is printed; tried.jsonl is written, too.",
)
def main(
    *,
    state: Path,
    folder: Path,
    hours: float,
    kills: int | None,
    pattern: str,
    site: str | None,
    relist: bool,
    document: Path | None,
) -> None:
    """Kill the client, Java or both just before each step of each way to store or remove a run.

    Each site, which is a kind of step of one way, comes once before any comes again. What was tried at
    another commit is not tried again, unless it did harm. Ends with exit code 1 where a kill of this call
    did harm.
    """
    os.environ["TRACEGRAPH_LINGER"] = "0"
    block = None if document is None else find_block(document, "crash")
    kept, harm = Record(state, EARLIER), 0
    ways = [way for way in WAYS if fnmatch.fnmatchcase(way, pattern)]
    if hours:
        for number, tried in enumerate(
            _try(kept, folder.resolve(), ways, hours * 3600, site, relist=relist), 1
        ):
            harm += tried.did_harm
            click.echo(
                f"{number}: {tried.way}: {tried.trial}: {tried.failure or 'ok'} ({tried.seconds:.0f} s)"
            )
            if number == kills:
                break
    text = describe(kept, list(WAYS), machine())
    if block is None:
        click.echo(text)
    else:
        block.write(text)
        kept.keep_tried(EARLIER)
    if harm:
        raise click.ClickException(f"{harm} kills did harm")


def _try(
    kept: Record, folder: Path, ways: Sequence[str], limit_s: float, site: str | None, *, relist: bool
) -> Iterator[Tried]:
    """Try kills that were not tried yet, until the time is over."""
    end, commit = time.monotonic() + limit_s, _commit()
    prepared, root = Prepared(folder / "prepared"), folder / "workspace"
    truth = Truth(prepared, folder / "truth")
    for name in ways:
        if relist or not kept.steps(name):
            kept.add_steps(name, commit, record(WAYS[name], prepared.copy(WAYS[name].before, root)))
            click.echo(f"{name}: {len(kept.steps(name))} steps")
    listed = {name: kept.steps(name) for name in ways}
    for name, trial in still_to_try(listed, kept.tried, commit):
        if site is not None and site not in str(trial):
            continue
        if time.monotonic() > end:
            return
        yield _tried(kept, name, trial, commit, prepared.copy(WAYS[name].before, root), truth)


def _tried(kept: Record, name: str, trial: Trial, commit: str, root: Path, truth: Truth) -> Tried:
    begun = time.monotonic()
    failure = tried_once(WAYS[name], root, trial, truth)
    tried = Tried(name, trial, commit, round(time.monotonic() - begun, 1), failure)
    kept.add(tried)
    return tried


def _commit() -> str:
    """Name the commit that is tried, with a mark if files were changed since."""
    words = ("git", "describe", "--always", "--dirty", "--exclude=*")
    return subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()


if __name__ == "__main__":
    main()
