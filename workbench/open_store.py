"""The database of a workbench: opened for each question, or held for a block or a session."""

import atexit
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from functools import partial
from typing import TYPE_CHECKING

from tracegraph.base.errors import InputError, StoreError
from tracegraph.base.progress import Progress, silent
from tracegraph.ingest.options import DEFAULT_OPTIONS, IngestOptions
from tracegraph.ingest.sources.source import AnySource
from tracegraph.queries.answers import Answers
from tracegraph.store.connection import Database, connect
from tracegraph.store.connection_settings import ConnectionSettings
from tracegraph.store.kept_answers import KeptAnswers
from tracegraph.store.managed.rebuild.estimate import Load
from tracegraph.store.managed.server.leftovers import build_missing_indexes, settle_all
from tracegraph.store.read_locks import reading_runs
from tracegraph.store.session import open_database
from tracegraph.store.storing import turn_to_write
from tracegraph.store.workspace import Workspace

# ruff: noqa: PLC0415  (a question about a stored run does not need what stores one)
if TYPE_CHECKING:
    from tracegraph.workbench.methods.stored_run import StoredRun


class OpenStore:
    """A workspace and its database, asked and written by what is built on it."""

    def __init__(
        self, workspace: Workspace, connection: ConnectionSettings, progress: Progress = silent
    ) -> None:
        self.workspace, self.connection, self.progress = workspace, connection, progress
        self._opened = ExitStack()
        self._external: Database | None = None
        self._held: Answers | None = None
        self._shown: Callable[[], AbstractContextManager[Progress]] = lambda: nullcontext(self.progress)
        self._closed = False
        self.limit_s: float | None = None
        """After how many seconds the server ends a question; None: it may take any time."""

    @contextmanager
    def answers(self) -> Iterator[Answers]:
        """Open a connection that answers queries by name; all questions in the block share it.

        Raises
        ------
        StoreError
            The workbench is closed, or the server cannot be reached, installed or started.
        """
        self._refuse_closed()
        if self._held is not None:
            yield self._held
        elif self._external is not None:
            if self._external.given_up:  # an interrupted question cuts its connections
                self._external = self._opened.enter_context(connect(self.connection))
            self._external.limit_s = self.limit_s
            yield self._answering(self._external)
        else:
            with (
                self._showing(),
                open_database(self.workspace, self.connection, self.progress) as database,
                reading_runs(self.workspace),
                self._holding(database) as answers,
            ):
                yield answers

    @contextmanager
    def storing(
        self,
        traces: Sequence[AnySource],
        name: str | None = None,
        options: IngestOptions = DEFAULT_OPTIONS,
        load: Load | None = None,
    ) -> "Iterator[StoredRun]":
        """Store the traces as one run; in the block it can be asked about while its indexes are built."""
        from tracegraph.workbench.methods.stored_run import stored_run

        self._refuse_closed()
        if self._held is not None and load == "bulk":
            raise InputError(
                "a bulk load restarts the server, which this block uses", "end `with bench.answers()` before"
            )
        with ExitStack() as stack:
            stack.enter_context(self._showing())
            run = stack.enter_context(
                stored_run(self.workspace, self.connection, traces, name, self.progress, options, load)
            )
            # A new database has the indexes of a first screen; all others, and a server's at a URI, have all.
            complete = partial(build_missing_indexes, self.workspace, run.database)
            stack.enter_context(
                self._holding(run.database, complete if self.connection.uri is None else list)
            )
            yield run

    @contextmanager
    def _writing(self) -> Iterator[Answers]:
        """Open a connection as `answers` does, and let nobody else write in the block."""
        with turn_to_write(self.workspace, self.progress), self.answers() as answers:
            if self.connection.uri is None:
                settle_all(self.workspace, answers.database)
            yield answers

    def close(self) -> None:
        """Release the server, which stops if nobody else uses it; this happens at exit, too."""
        self._closed = True
        atexit.unregister(self.close)
        self._opened.close()

    def _refuse_closed(self) -> None:
        if self._closed:
            raise StoreError("the workbench is closed", "open another one: Workbench.open()")

    @contextmanager
    def _showing(self) -> Iterator[None]:
        with self._shown() as progress:
            before, self.progress = self.progress, progress
            try:
                yield
            finally:
                self.progress = before

    @contextmanager
    def _holding(self, database: Database, complete: Callable[[], object] = list) -> Iterator[Answers]:
        database.limit_s = self.limit_s
        before, self._held = self._held, self._answering(database, complete)
        try:
            yield self._held
        finally:
            self._held = before
            if before is not None:  # the block inside may have stored a run
                before.forget_runs()

    def _answering(self, database: Database, complete: Callable[[], object] = list) -> Answers:
        kept = KeptAnswers(self.workspace, self.connection, database)
        return Answers(database, kept, self.progress, complete)
