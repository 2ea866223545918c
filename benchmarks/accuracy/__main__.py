"""`python -m benchmarks.accuracy COMMAND`: make a table of docs/accuracy.md and write it there."""

import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import click
import pandas as pd

from benchmarks.accuracy.ablation import ablate, describe_ablation
from benchmarks.accuracy.calibration import describe_calibration, judge
from benchmarks.accuracy.files import describe_files, kineto_files, measure
from benchmarks.accuracy.markdown import find_block
from benchmarks.accuracy.paths import one_server, path_in_columns
from benchmarks.accuracy.scores import FindPath, describe_scores, score_all
from benchmarks.accuracy.sets import RARE_HAND_OVERS, SCENARIOS, VARIANTS, Oracle, find_oracle

ROOT = Path(__file__).resolve().parents[2]
SHARED = ROOT.parent / "shared"
THROUGH = {"cli": "as `tracegraph report` wrote it", "columns": "taken from the columns in memory"}
Command = Callable[..., None]
_Item = TypeVar("_Item")
_PATH = click.Path(path_type=Path)


@click.group()
def main() -> None:
    """Make the tables of docs/accuracy.md."""


def _read_seeds(context: click.Context, option: click.Parameter, value: str) -> range:
    first, _, last = value.partition("-")
    if not (first.isdigit() and (last or first).isdigit()):
        raise click.BadParameter(f"{value!r} is neither a number nor a range such as 0-4", context, option)
    return range(int(first), int(last or first) + 1)


def _seeds(default: str) -> Callable[[Command], Command]:
    return click.option(
        "--seeds", default=default, show_default=True, callback=_read_seeds, help="A seed, or a range as 0-4."
    )


_where = click.option(
    "--oracle",
    "oracle_folder",
    type=_PATH,
    default=SHARED / "oracle",
    help="Folder of the simulator and score.py; default: shared/oracle beside the project.",
)
_events = click.option("--events", type=int, default=20_000, show_default=True, help="Size of a set.")
_folder = click.option("--folder", type=_PATH, help="Keep the sets in this folder for the next time.")
_document = click.option(
    "--document",
    type=_PATH,
    default=ROOT / "docs" / "accuracy.md",
    help="The document whose block is replaced; default: docs/accuracy.md.",
)


@main.command()
@_seeds("0-4")
@_events
@click.option(
    "--through",
    type=click.Choice(list(THROUGH)),
    default="cli",
    show_default=True,
    help="The whole way through `tracegraph report` and the database, or the columns alone.",
)
@click.option("--mix", "mixes", multiple=True, help="Options of the simulator, instead of the scenarios.")
@_where
@_folder
@_document
def scores(
    *,
    seeds: range,
    events: int,
    through: str,
    mixes: Sequence[str],
    oracle_folder: Path,
    folder: Path | None,
    document: Path,
) -> None:
    """Score the paths of the simulated scenarios against their known truth."""
    block = find_block(document, "scores")
    with _oracle(oracle_folder, folder) as oracle:
        sets = oracle.matrix(mixes or list(SCENARIOS), VARIANTS, seeds, events)
        with _path_finder(through, oracle.place) as find_path:
            results = list(_counted(score_all(oracle, sets, find_path), len(sets)))
    block.write(describe_scores(results, THROUGH[through]))


@main.command()
@_seeds("1-2")
@_events
@_where
@_folder
@_document
def ablation(*, seeds: range, events: int, oracle_folder: Path, folder: Path | None, document: Path) -> None:
    """Score the same sets with each rule of the causal model left out."""
    block = find_block(document, "ablation")
    with _oracle(oracle_folder, folder) as oracle:
        sets = oracle.matrix(list(SCENARIOS), VARIANTS, seeds, events)
        results = list(_counted(ablate(oracle, sets), len(sets)))
    block.write(describe_ablation(results))


@main.command()
@_seeds("0-9")
@_events
@_where
@_folder
@_document
def calibration(
    *, seeds: range, events: int, oracle_folder: Path, folder: Path | None, document: Path
) -> None:
    """Compare confidence with the share of edges that are true: random lags, no cuda_sync rows."""
    block = find_block(document, "calibration")
    tables = []
    with _oracle(oracle_folder, folder) as oracle:
        sets = oracle.matrix([*SCENARIOS, *RARE_HAND_OVERS], [VARIANTS[-1]], seeds, events)
        for one in _counted(sets, len(sets)):
            with oracle.made(one):
                tables.append(judge(one))
    block.write(describe_calibration(pd.concat(tables)))


@main.command()
@click.option(
    "--traces",
    "folder",
    type=_PATH,
    default=SHARED / "traces",
    help="Folder of Kineto files; default: shared/traces beside the project.",
)
@_document
def files(*, folder: Path, document: Path) -> None:
    """Measure what the path of every real file consists of."""
    block = find_block(document, "files")
    paths = kineto_files(folder)
    if not paths:
        raise click.ClickException(f"{folder} holds no Kineto file; name the folder with --traces")
    measured = list(_counted((measure(folder, path) for path in paths), len(paths)))
    block.write(describe_files(measured))


@contextmanager
def _oracle(folder: Path, place: Path | None) -> Iterator[Oracle]:
    if place is not None:
        yield find_oracle(folder, place, keep=True)
        return
    with tempfile.TemporaryDirectory() as temporary:
        yield find_oracle(folder, Path(temporary), keep=False)


@contextmanager
def _path_finder(through: str, place: Path) -> Iterator[FindPath]:
    if through == "columns":
        yield path_in_columns
        return
    with tempfile.TemporaryDirectory(dir=place) as workspace, one_server(Path(workspace)) as commands:
        yield commands.path


def _counted(items: Iterable[_Item], length: int) -> Iterator[_Item]:
    with click.progressbar(items, length=length) as counted:
        yield from counted


if __name__ == "__main__":
    main()
