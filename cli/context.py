"""What every command gets: the workspace, the connection, and how to talk to the user."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.progress import Progress as RichProgress

from tracegraph.store.connection import ConnectionSettings
from tracegraph.store.progress import Progress, silent
from tracegraph.store.workspace import Workspace


@dataclass(frozen=True)
class Context:
    """The global options of one call; `console` writes to stderr, results go to stdout."""

    workspace: Workspace
    connection: ConnectionSettings
    console: Console
    quiet: bool
    verbose: int

    @contextmanager
    def progress(self) -> Iterator[Progress]:
        """A Progress for the work in the block: a bar on a terminal, stage lines with -v, else nothing."""
        if self.quiet:
            yield silent
        elif self.console.is_terminal:
            with _bar(self.console) as bar:
                yield _Bar(bar)
        elif self.verbose:
            yield _Lines(self.console)
        else:
            yield silent


pass_context = click.make_pass_decorator(Context)


def _bar(console: Console) -> RichProgress:
    return RichProgress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=console,
        transient=True,
    )


class _Bar:
    """Shows the current stage of a Progress as one bar."""

    def __init__(self, bar: RichProgress) -> None:
        self._bar = bar
        self._stage = ""
        self._task = bar.add_task("", total=None, visible=False)

    def __call__(self, stage: str, done: int, total: int) -> None:
        if stage != self._stage:
            self._stage = stage
            self._bar.reset(self._task, description=stage, total=None, visible=True)
        self._bar.update(self._task, completed=done, total=total or None)


class _Lines:
    """Prints each stage of a Progress once."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._stage = ""

    def __call__(self, stage: str, done: int, total: int) -> None:
        if stage != self._stage:
            self._stage = stage
            self._console.print(stage, markup=False, highlight=False)
