"""`python -m benchmarks.speed`: time every stage from a file to a report, and write docs/speed.md."""

import os
import platform
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click
import psutil

from benchmarks.accuracy.markdown import find_block
from benchmarks.speed.describe import Measured, describe
from benchmarks.speed.history import NAMES, History, Ratios, find_ratios, regressions
from benchmarks.speed.inputs import SIZES, Trace, find_traces
from benchmarks.speed.measure import FLOOR, ROOT, measure
from benchmarks.speed.ranks import oracle_option

SHARED = ROOT.parent / "shared"
_KEPT = ROOT / "benchmarks" / "results" / "speed.jsonl"
"""The ratios by commit."""
_LARGE = "10M"
"""The size that is timed only if asked for, and once."""
_PATH = click.Path(path_type=Path)


@click.command()
@click.option(
    "--size",
    "sizes",
    multiple=True,
    type=click.Choice(list(SIZES)),
    help="Events of a trace; may be repeated. Default: 10k, 100k and 1M.",
)
@click.option("--large", is_flag=True, help="10M events, too: one run.")
@click.option(
    "--repeat",
    type=click.IntRange(1),
    default=3,
    show_default=True,
    help="Runs of each stage at 1M events: medians count.",
)
@click.option(
    "--repeat-small",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    help="Runs of each stage with smaller traces.",
)
@click.option(
    "--traces",
    type=_PATH,
    default=SHARED / "traces" / "torch_cpu",
    help="Folder of gpt_10k.json.gz and so on; default: shared/traces/torch_cpu beside the project.",
)
@oracle_option
@click.option("--folder", type=_PATH, help="Keep simulated traces here for the next time.")
@click.option(
    "--document",
    type=_PATH,
    default=ROOT / "docs" / "speed.md",
    help="The document whose block is replaced; default: docs/speed.md.",
)
@click.option(
    "--check",
    is_flag=True,
    help="Write nothing; end with exit code 1 where a ratio is more than 15 % above the one kept last.",
)
def main(
    *,
    sizes: tuple[str, ...],
    large: bool,
    repeat: int,
    repeat_small: int,
    traces: Path,
    oracle: Path,
    folder: Path | None,
    document: Path,
    check: bool,
) -> None:
    """Time every stage from a file to a report, each in a fresh process, and write the tables."""
    block, by_commit = find_block(document, "speed"), find_block(document, "speed by commit")
    history, commit = History(_KEPT), _commit()
    runs = {"10k": repeat_small, "100k": repeat_small, "1M": repeat, _LARGE: 1}
    wanted = [size for size in SIZES if size in sizes or (not sizes and size != _LARGE)]
    if large and _LARGE not in wanted:
        wanted.append(_LARGE)
    with _place(folder) as place:
        found = find_traces(wanted, traces, oracle, place)
        if not found:
            raise click.ClickException("there is no trace to time")
        results: list[tuple[Trace, Measured]] = []
        for trace in found:
            stages = measure(trace, place, runs[trace.size])
            results.append((trace, stages))
            if not check:
                # After each trace, so that an hour's figures are kept if the rest fails.
                block.write(describe(results, runs, machine()))
                history.keep(commit, trace, find_ratios(stages))
                by_commit.write(history.describe())
    if check:
        for trace, stages in results:
            click.echo(f"{trace.name}: its floor took {stages[FLOOR]['drift']:.2f} times as long afterwards")
        _compare([(trace, find_ratios(stages)) for trace, stages in results], history)


def _compare(now: list[tuple[Trace, Ratios]], history: History) -> None:
    """Print today's ratios beside those kept last; exit code 1 where one is worse."""
    for trace, ratios in now:
        kept = history.latest(trace)
        for name, said in NAMES.items():
            before = "not kept" if kept is None else f"{getattr(kept, name):.2f}"
            click.echo(f"{trace.name}: {said} / floors: {getattr(ratios, name):.2f}, before: {before}")
    if worse := list(regressions(now, history)):
        raise click.ClickException("; ".join(worse))


def _commit() -> str:
    """Return the commit that is checked out; with `+` where files differ from it."""
    command = ["git", "describe", "--always", "--dirty=+", "--exclude=*"]
    return subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True).stdout.strip()


@contextmanager
def _place(folder: Path | None) -> Iterator[Path]:
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        yield folder.absolute()
        return
    with tempfile.TemporaryDirectory() as temporary:
        yield Path(temporary)


def machine() -> str:
    """Describe cores and memory, and how busy others keep them: a shared machine inflates wall times."""
    memory = psutil.virtual_memory().total / 1e9
    python, load = platform.python_version(), os.getloadavg()[2]
    cores = f"{os.cpu_count()} cores ({platform.machine()})"
    return f"{cores}, {memory:.0f} GB, Python {python}; load {load:.1f} over the last 15 minutes"


if __name__ == "__main__":
    main()
