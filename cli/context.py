"""What every command gets: the workspace, the connection, and how to talk to the user."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.console import Console

from tracegraph.base.progress import Progress, silent
from tracegraph.store.connection_settings import ConnectionSettings
from tracegraph.store.managed.server.linger import LINGER
from tracegraph.store.workspace import Workspace, open_workspace
from tracegraph.workbench.progress_bar import bar_progress, line_progress, timed_progress

if TYPE_CHECKING:
    from tracegraph.workbench.bench import Workbench


@dataclass(frozen=True)
class Context:
    """The global options of one call; `console` writes to stderr, results go to stdout."""

    folder: Path | None
    """The workspace's, as asked for; None: that of the user."""
    linger_s: float
    connection: ConnectionSettings
    console: Console
    quiet: bool
    verbose: int

    @cached_property
    def workspace(self) -> Workspace:
        """Open the workspace at its first use: what reads a file only works beside one of another version.

        Raises
        ------
        StoreError
            The folder cannot be written, or another version of the schema made it.
        """
        return open_workspace(self.folder, self.linger_s)

    @contextmanager
    def progress(self) -> Iterator[Progress]:
        """Yield a Progress for the block: a bar on a terminal, else lines, with -v one for each stage."""
        if self.quiet:
            yield silent
        elif self.console.is_terminal:
            with bar_progress(self.console) as progress:
                yield progress
        elif self.verbose:
            yield line_progress(self.console)
        else:
            with timed_progress(self.console) as progress:
                yield progress

    @contextmanager
    def bench(self) -> "Iterator[Workbench]":
        """Open the workbench of the command with its progress; nothing may be printed in the block."""
        # Imported here: `health` and others that need no database must not wait a second for the driver.
        from tracegraph.workbench.bench import Workbench  # noqa: PLC0415

        with (
            self._saying_what_stays(),
            self.progress() as progress,
            Workbench(self.workspace, self.connection, progress) as bench,
        ):
            yield bench

    @contextmanager
    def _saying_what_stays(self) -> Iterator[None]:
        """Tell the user once that a server lingers: the command that started the server does."""
        from tracegraph.store.session import find_server  # noqa: PLC0415  (as above)

        before = find_server(self.workspace)
        try:
            yield
        finally:
            after = find_server(self.workspace)
            began = after if before is None or after is None or before.pid != after.pid else None
            if began is not None and began.linger_s and not self.quiet:
                click.echo(
                    f"Neo4j stays ready for {began.linger_s / 60:g} idle minutes, for the next command to be "
                    f"fast; tracegraph db stop ends it, --linger or {LINGER} changes that",
                    err=True,
                )


pass_context = click.make_pass_decorator(Context)
