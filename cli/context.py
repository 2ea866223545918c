"""What every command gets: the workspace, the connection, and how to talk to the user."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import click
from rich.console import Console

from tracegraph.store.connection import ConnectionSettings
from tracegraph.store.progress import Progress, silent
from tracegraph.store.workspace import Workspace
from tracegraph.workbench.bench import Workbench
from tracegraph.workbench.progress_bar import bar_progress, line_progress


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
            with bar_progress(self.console) as progress:
                yield progress
        elif self.verbose:
            yield line_progress(self.console)
        else:
            yield silent

    @contextmanager
    def bench(self) -> Iterator[Workbench]:
        """The workbench of the command, with its progress; nothing may be printed in the block."""
        with self.progress() as progress, Workbench(self.workspace, self.connection, progress) as bench:
            yield bench


pass_context = click.make_pass_decorator(Context)
