"""The workbench: a database with stored runs, their queries as methods."""

import atexit
import os
import warnings
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from tracegraph.base.errors import InputError
from tracegraph.base.suggest import did_you_mean
from tracegraph.ingest.detail import FULL, known_detail
from tracegraph.ingest.limits import DEFAULT_LIMITS, Limits
from tracegraph.ingest.options import IngestOptions
from tracegraph.queries.catalog import find
from tracegraph.queries.runs import fill, ready_run, unknown_run
from tracegraph.store.compacting import compact, is_wasteful
from tracegraph.store.connection import connect
from tracegraph.store.connection_settings import ConnectionSettings
from tracegraph.store.managed.rebuild.estimate import Load
from tracegraph.store.managed.server.linger import linger_s
from tracegraph.store.read_only import check_reads
from tracegraph.store.session import kept_warm
from tracegraph.store.storing import is_used_beside, remove_run, store_and_open
from tracegraph.store.tables import GraphTables
from tracegraph.store.workspace import open_workspace
from tracegraph.vocabulary.kernel_types import read_spellings
from tracegraph.workbench.bench_queries import BenchQueries
from tracegraph.workbench.methods.own_query import with_run
from tracegraph.workbench.methods.remarks import remarking
from tracegraph.workbench.open_store import OpenStore
from tracegraph.workbench.progress_bar import shown_progress

# A question about a stored run needs neither the model nor what draws: they are imported where they are used.
# ruff: noqa: PLC0415
if TYPE_CHECKING:
    from tracegraph.ingest.companions.companion import Told
    from tracegraph.queries.shapes.peak.job import Job
    from tracegraph.workbench.methods.picture_file import Picture
    from tracegraph.workbench.run import Run
    from tracegraph.workbench.verify import Verification

File = str | PathLike[str]
_WORKSPACE = "TRACEGRAPH_WORKSPACE"


class Workbench(OpenStore, BenchQueries):
    """Stored runs and the database that holds them; every query about no run in particular is a method.

    `open` makes one for a session of several questions. One that is made directly is for a single command:
    between its questions the server stays only as long as the workspace says.
    """

    @classmethod
    def open(
        cls,
        uri: str | None = None,
        *,
        workspace: File | None = None,
        username: str = "neo4j",
        password: str = "",
        database: str | None = None,
        progress: bool = True,
    ) -> "Workbench":
        """Open the workspace and its managed server, or the server at `uri`.

        The managed server starts with the first question. It stays until `close`, and then for as long as
        TRACEGRAPH_LINGER says (minutes; by default 10).

        Parameters
        ----------
        workspace
            The folder of the runs; by default that of the command line: TRACEGRAPH_WORKSPACE, or the
            user's data folder.
        progress
            Show the progress of work that takes longer than a moment.

        Raises
        ------
        InputError
            `uri` is not an address, or TRACEGRAPH_LINGER is not a number.
        StoreError
            The server at `uri` cannot be reached, or the workspace cannot be written.
        """
        settings = ConnectionSettings(uri, username, password, database)
        place = workspace or os.environ.get(_WORKSPACE)
        bench = cls(open_workspace(Path(place) if place else None, linger_s()), settings)
        if progress:
            bench._shown = shown_progress
        if uri is None:
            bench._opened.enter_context(kept_warm(bench.workspace))
        else:
            bench._external = bench._opened.enter_context(connect(settings))
        atexit.register(bench.close)
        return bench

    def ingest(
        self,
        trace: File,
        name: str | None = None,
        *,
        cross_thread: str | None = None,
        load: Load | None = None,
        limits: Limits = DEFAULT_LIMITS,
        step_marker: str | None = None,
        kernel_types: File | None = None,
        companions: Sequence[File] = (),
        job: "Job | None" = None,
        detail: str = FULL,
    ) -> "Run":
        """Store a trace as a run, as `tracegraph ingest` does; its help explains the options.

        Parameters
        ----------
        trace
            A file or a URL; for several ranks a folder or a pattern.
        step_marker
            A glob for the annotations that mark steps, such as "train_step*".
        kernel_types
            A file that says which kernels compute, communicate or copy, if their names do not.
        companions
            Files that are not traces but explain the job: logs of NCCL, output of its tests.
        job
            What you say of the job; it is stored with the run, for its reports and queries.
        detail
            "full", or for a job of many ranks "path": most of them in short.

        Raises
        ------
        InputError
            The trace cannot be used, or the name belongs to other content.
        StoreError
            The database or the workspace cannot be used.
        """
        from tracegraph.ingest.sources.expand import find_sources
        from tracegraph.workbench.run import Run

        options = IngestOptions(
            limits=limits,
            cross_thread=cross_thread,
            step_marker=step_marker,
            spellings=() if kernel_types is None else read_spellings(Path(kernel_types)),
            companions=[os.fspath(file) for file in companions],
            job=None if job is None else job.text(),
            detail=known_detail(detail),
        )
        with self.storing(find_sources([trace]), name, options, load) as stored:
            return Run(self, stored.tables.run)

    def run(self, name: str | None = None) -> "Run":
        """Find a stored run, by default the newest.

        Raises
        ------
        InputError
            There is no such run, or it is not complete.
        """
        from tracegraph.workbench.run import Run

        with self.answers() as answers:
            return Run(self, ready_run(answers.of, name))

    def kept_run(self, name: str | None = None) -> "Run":
        """Find a run whose tables this workspace keeps; no server is asked.

        By default it is the newest recorded run, or the newest scenario if nothing else is kept.

        Raises
        ------
        InputError
            This workspace keeps no such run.
        """
        from tracegraph.workbench.run import Run

        if self.connection.uri is None and self.workspace.doubted() is not None:
            with self.answers():  # settles what a killed command left half stored or half deleted
                pass
        manifests = self.workspace.manifests()
        if not manifests:
            raise InputError("no run is stored", "ingest a trace first: tracegraph ingest TRACE")
        kept = [str(manifest["run"]) for manifest in manifests]
        if name is not None and name not in kept:
            listed = "tracegraph runs lists those stored"
            raise InputError(f"this workspace keeps no run named {name!r}", did_you_mean(name, kept, listed))
        recorded = [str(manifest["run"]) for manifest in manifests if "scenario_of" not in manifest]
        return Run(self, name or [*kept, *recorded][-1])

    def verify(self, scenario: str, later: str) -> "Verification":
        """Compare what a scenario predicted with a later run, as `tracegraph verify` does.

        Raises
        ------
        InputError
            This workspace does not keep the runs, the first is not a scenario, or one of the runs has too few
            steps.
        StoreError
            The tables of a run cannot be read.
        """
        from tracegraph.workbench.verify import base_of, verify

        changed, after = (self.workspace.load_run(self.kept_run(name).name) for name in (scenario, later))
        return verify(changed, self.workspace.load_run(self.kept_run(base_of(changed)).name), after)

    def store(self, tables: GraphTables, manifest: Mapping[str, object]) -> None:
        """Store the tables of a run, as `storing` does with those that it makes of traces.

        Raises
        ------
        InputError
            The name belongs to other content.
        StoreError
            The database or the workspace cannot be used.
        """
        self._refuse_closed()
        with (
            self._showing(),
            store_and_open(self.workspace, self.connection, tables, manifest, self.progress),
        ):
            pass

    def attach(self, files: Sequence[File], run: str | None = None) -> Mapping[str, "Told"]:
        """Add what companions of a trace say to a stored run, by default the newest.

        Companions are logs of NCCL and output of its tests. Files of one kind belong together: what others
        of the same kind said before is replaced.

        Returns
        -------
        dict
            What the files hold, by kind.

        Raises
        ------
        InputError
            There is no such run, or a file is no companion.
        StoreError
            The database or the workspace cannot be used.
        """
        from tracegraph.ingest.companion_runs import attach_files
        from tracegraph.store.attaching import attach

        kept = self.kept_run(run).name
        graph, manifest, told = attach_files(
            self.workspace.load_run(kept), self.workspace.manifest(kept) or {}, [os.fspath(f) for f in files]
        )
        with self._showing():
            attach(self.workspace, self.connection, graph, manifest, list(told), self.progress)
        if self._held is not None:
            self._held.forget_runs()
        return told

    def ingest_companions(self, files: Sequence[File], name: str | None = None) -> "Run":
        """Store companions as a run of their own, which has no lanes: logs of NCCL, output of its tests.

        Raises
        ------
        InputError
            A file is no companion, or the name belongs to other content.
        StoreError
            The database or the workspace cannot be used.
        """
        from tracegraph.ingest.companion_runs import run_of_files
        from tracegraph.workbench.run import Run

        graph, manifest, _ = run_of_files([os.fspath(file) for file in files], name)
        self.store(graph, manifest)
        return Run(self, graph.run)

    def load_ranks(self, ranks: Sequence[int], run: str | None = None) -> "Run":
        """Store a run again, by default the newest, with more of its ranks in full; it keeps its name.

        It is made of its own files and as it was made first, as `tracegraph runs load` does.

        Raises
        ------
        InputError
            There is no such run, it lacks one of the ranks or already has it in full, or one of its files
            is gone or has changed.
        StoreError
            The database or the workspace cannot be used.
        """
        from tracegraph.workbench.methods.loaded_ranks import options_of, sources_of
        from tracegraph.workbench.run import Run

        kept = self.kept_run(run)
        manifest = self.workspace.manifest(kept.name) or {}
        policy = str(self.workspace.load_run(kept.name).nodes["Run"]["cross_thread"][0].as_py())
        options = options_of(manifest, policy, ranks)
        with self.storing(sources_of(manifest), kept.name, options) as stored:
            return Run(self, stored.tables.run)

    def delete(self, name: str) -> None:
        """Delete a run from the database and the workspace.

        If more of the database is then dead than alive, it is made anew, which gives the space back.

        Raises
        ------
        InputError
            There is no such run.
        """
        with self._writing() as answers:
            kept = any(manifest.get("run") == name for manifest in self.workspace.manifests())
            if answers.of("run_details", {"run": name}).empty and not kept:
                raise unknown_run(answers.of, name)
            remove_run(self.workspace, self.connection, answers.database, name)
            wasteful = is_wasteful(self.workspace, self.connection, answers.database)
        if wasteful and not is_used_beside(self.workspace):
            compact(self.workspace, self.progress)

    def cypher(self, query: str, run: str | None = None, /, **parameters: object) -> pd.DataFrame:
        """Return the rows of a Cypher query of your own, which may not write.

        If the query uses `$run` and no parameter sets it, it is `run`, by default the newest run. The query
        may also neither end what others do nor ask for the server's settings: see `store.read_only`. Warns of
        what the server remarks about it, such as a label that no node has.

        Raises
        ------
        InputError
            The query is wrong or does more than read, there is no such run, or `run` is given to a query that
            does not use `$run`.
        StoreError
            The server failed.
        """
        with self.answers() as answers:
            values = with_run(answers.of, query, run, parameters)
            check_reads(answers.database, query, values)
            with remarking(answers.database) as heard:
                return answers.database.read(query, values, heard)

    def change(
        self, query: str, run: str | None = None, /, **parameters: object
    ) -> tuple[pd.DataFrame, dict[str, int]]:
        """Ask as `cypher` does, with a query that may write.

        Returns
        -------
        tuple
            The rows, and counts of what changed, such as `nodes_created`.
        """
        # Changes during the load of a run would be taken for part of it and be lost by a later rebuild.
        with self._writing() as answers:
            values = with_run(answers.of, query, run, parameters)
            with remarking(answers.database) as heard:
                return answers.database.change(query, values, heard)

    def picture(self, query: str, run: str | None = None, /, **parameters: object) -> "Picture":
        """Draw what a Cypher query of your own returns; it is asked as `cypher` asks it.

        Raises
        ------
        InputError
            The query is refused as by `cypher`, or there is nothing to draw.
        StoreError
            The server failed.
        """
        from tracegraph.workbench.methods.picture import query_picture

        with self.answers() as answers:
            values = with_run(answers.of, query, run, parameters)
            return query_picture(answers, query, values)

    def ask(self, query: str, /, **values: Any) -> pd.DataFrame:
        """Return the rows of a named query.

        A value of None counts as not given: it becomes the newest run, the window of the run, or the default.
        Warns if a list that should be complete ends at its limit.

        Raises
        ------
        InputError
            There is no such query, or a value is missing, unknown or not allowed.
        StoreError
            The server failed.
        """
        given = {name: value for name, value in values.items() if value is not None}
        with self.answers() as answers:
            rows = answers.of(query, fill(answers.of, find(query), given))
        limit = find(query).cut_at(given, len(rows))
        if limit is not None:
            warnings.warn(f"{query}: cut after {limit:,} rows; a larger limit gives more", stacklevel=3)
        return rows

    def __enter__(self) -> "Workbench":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Workbench {self.connection.uri or self.workspace.root}>"
