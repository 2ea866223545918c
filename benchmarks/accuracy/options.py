"""Options that the commands share, and the objects behind them."""

import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import click

from benchmarks.accuracy.sets import Oracle, find_oracle

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "benchmarks" / "results"
SHARED = ROOT.parent / "shared"
Command = Callable[..., None]
_Item = TypeVar("_Item")
_PATH = click.Path(path_type=Path)
processes_option = click.option(
    "--processes", type=int, default=2, show_default=True, help="How many sets at once."
)


def _read_seeds(context: click.Context, option: click.Parameter, value: str) -> range:
    first, _, last = value.partition("-")
    if not (first.isdigit() and (last or first).isdigit()):
        raise click.BadParameter(f"{value!r} is neither a number nor a range such as 0-4", context, option)
    return range(int(first), int(last or first) + 1)


def written(document: str, *, traces: bool = False) -> Callable[[Command], Command]:
    """Add `--document`, by default one of the results, and with `traces` the folder of real files."""
    options = [
        click.option(
            "--document",
            type=_PATH,
            default=RESULTS / document,
            help=f"The document whose blocks are replaced; default: benchmarks/results/{document}.",
        )
    ]
    if traces:
        where = "Folder of Kineto files; default: shared/traces beside the project."
        options.append(click.option("--traces", type=_PATH, default=SHARED / "traces", help=where))
    return _all_of(options)


def simulated(document: str, *, seeds: str, events: int) -> Callable[[Command], Command]:
    """Add options for the simulated sets, with these defaults, for the oracle, and `--document`."""
    return _all_of(
        [
            click.option(
                "--seeds",
                default=seeds,
                show_default=True,
                callback=_read_seeds,
                help="A seed, or a range as 0-4.",
            ),
            click.option("--events", type=int, default=events, show_default=True, help="Size of a set."),
            click.option(
                "--oracle",
                "oracle_folder",
                type=_PATH,
                default=SHARED / "oracle",
                help="Folder of the simulator and score.py; default: shared/oracle beside the project.",
            ),
            click.option("--folder", type=_PATH, help="Keep the sets in this folder for the next time."),
            written(document),
        ]
    )


def _all_of(options: Iterable[Callable[[Command], Command]]) -> Callable[[Command], Command]:
    def decorate(command: Command) -> Command:
        for option in reversed(list(options)):
            command = option(command)
        return command

    return decorate


@contextmanager
def open_oracle(folder: Path, place: Path | None) -> Iterator[Oracle]:
    """Open the oracle in `folder` with its sets in `place`, or in a folder that is removed at the end."""
    if place is not None:
        yield find_oracle(folder, place, keep=True)
        return
    with tempfile.TemporaryDirectory() as temporary:
        yield find_oracle(folder, Path(temporary), keep=False)


def counted(items: Iterable[_Item], length: int) -> Iterator[_Item]:
    """Yield the items behind a bar that shows how many are done."""
    with click.progressbar(items, length=length) as bar:
        yield from bar
