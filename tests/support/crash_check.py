"""What must hold after a kill: whole runs, the ones that may be there, and nothing that nobody owns."""

import io
import shutil
from contextlib import redirect_stdout, suppress
from pathlib import Path

import pyarrow as pa
from crash_java import runs_java
from crash_ways import FIRST, JOB, SCENARIO, SECOND, TRACE, Outcome, Prepared, Way, arguments_of, job_of
from export import from_database, from_tables

from tracegraph.base.errors import InputError
from tracegraph.base.progress import silent
from tracegraph.cli.main import main
from tracegraph.ingest.pipeline import ingest_run
from tracegraph.ingest.sources.expand import find_sources
from tracegraph.store.connection import Database
from tracegraph.store.connection_settings import ConnectionSettings
from tracegraph.store.load.indexes import await_indexes
from tracegraph.store.managed.server import served_database
from tracegraph.store.session import kept_warm, open_database, stop_server
from tracegraph.store.tables import GraphTables
from tracegraph.store.workspace import Workspace, open_workspace
from tracegraph.workbench.bench import Workbench

_MANAGED = ConnectionSettings()
_OWN = {"neo4j", "runs", "password", "server.json", "workspace.json"}
_OWN |= {f"{name}.lock" for name in ("use", "warm", "server", "ingest", "read")}
_HALF = ("import", "discarded")
_NOBODYS = "MATCH (n) WHERE NOT coalesce(n.run, n.name) IN $runs RETURN count(n) AS nodes"


class Truth:
    """What undisturbed commands make: `first` as it was stored, and the tables of the other runs of a way."""

    def __init__(self, prepared: Prepared, folder: Path) -> None:
        """The folder is made anew."""
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        self.first = from_tables(_kept(prepared, frozenset({FIRST}), folder, FIRST))
        self._scenario = _kept(prepared, frozenset({FIRST, SECOND, SCENARIO}), folder, SCENARIO)
        self._second = {
            False: ingest_run([TRACE], SECOND, silent)[0],
            True: ingest_run(find_sources([str(job_of(folder / "workspace"))]), SECOND, silent)[0],
        }

    def tables(self, way: Way, name: str) -> GraphTables:
        """The tables of the run SECOND or SCENARIO."""
        return self._scenario if name == SCENARIO else self._second[JOB in way.arguments]


def _kept(prepared: Prepared, runs: frozenset[str], folder: Path, name: str) -> GraphTables:
    root = prepared.copy(runs, folder / f"{len(runs)}")
    return open_workspace(root).load_run(name)


def check_end(outcome: Outcome) -> None:
    """A command that was not killed itself ended well, or with one line that says what it met."""
    assert outcome.code in (0, 3), outcome
    assert len(outcome.said.splitlines()) == (1 if outcome.code else 0), outcome


def check_after(way: Way, root: Path, truth: Truth, *, is_done: bool) -> None:
    """The next command finds whole runs and clears up, and the disturbed command can be repeated.

    `is_done`: it said that it did what it should.
    """
    workspace = open_workspace(root)
    try:
        offered = _offered(workspace)
        with kept_warm(workspace):
            visible = _check_runs(workspace, truth, way)
            assert visible in ({way.after} if is_done else way.allowed), f"visible are {sorted(visible)}"
            assert offered == visible, (
                f"what-if and verify take {sorted(offered)}, visible: {sorted(visible)}"
            )
            _check_nothing_left(workspace, visible)
            if way.repeated:
                with redirect_stdout(io.StringIO()):
                    code = main(["--workspace", str(root), *arguments_of(way.repeated, root)])
                assert code == 0, f"repeated, the command ended with {code}"
                assert _check_runs(workspace, truth, way) == way.before | way.after
                _check_nothing_left(workspace, way.before | way.after)
    finally:
        stop_server(workspace)
    assert not runs_java(str(root)), "Java runs on"


def _offered(workspace: Workspace) -> frozenset[str]:
    """The runs that commands take which ask no database, before any other command clears up."""
    bench, offered = Workbench(workspace, _MANAGED), set()
    for name in (FIRST, SECOND, SCENARIO):
        with suppress(InputError):
            offered.add(bench.kept_run(name).name)
    return frozenset(offered)


def _check_runs(workspace: Workspace, truth: Truth, way: Way) -> frozenset[str]:
    """Check that each visible run is whole and nothing else is stored; returns the names of the runs."""
    with open_database(workspace, _MANAGED) as database:
        visible = frozenset(database.read("MATCH (r:Run {state: 'ready'}) RETURN r.name AS name")["name"])
        assert database.read(_NOBODYS, {"runs": list(visible)})["nodes"].tolist() == [0], "half a run is left"
        await_indexes(database)  # the late ones, which this opening began if the killed command did not
        states = set(database.read("SHOW INDEXES YIELD state RETURN state")["state"])
        assert states <= {"ONLINE"}, states
        for name in visible:
            _check_run(database, workspace, name, truth, way)
    return visible


def _check_run(database: Database, workspace: Workspace, name: str, truth: Truth, way: Way) -> None:
    kept = workspace.load_run(name)
    stored, expected = from_database(database, name), from_tables(kept)
    assert stored == expected, f"the run {name} is not what is kept of it"
    if name == FIRST:
        assert stored == truth.first, "the run first is not as it was"
        return
    true = truth.tables(way, name)
    for kind in set(true.nodes) - {"Run"}:  # which holds when it was stored
        ours, theirs = (_placeless(tables.nodes[kind]) for tables in (kept, true))
        assert ours.equals(theirs), f"{kind} of {name}"
    for kind, table in true.relationships.items():
        assert kept.relationships[kind].equals(table), f"{kind} of {name}"


def _placeless(table: pa.Table) -> pa.Table:
    """A table without where the files lie: the traces of a job are beside each workspace."""
    return table.drop_columns([name for name in ("file",) if name in table.column_names])


def _check_nothing_left(workspace: Workspace, visible: frozenset[str]) -> None:
    home = workspace.neo4j_home
    left = {path.name for path in workspace.root.iterdir()} - _OWN
    kept = {path.name for path in workspace.runs_dir.iterdir()}
    assert kept == visible, f"kept are {sorted(kept)}, visible {sorted(visible)}"
    left |= {name for name in _HALF if (home / name).exists()}
    unserved = served_database.unserved(home)
    left |= {
        f"data/{kind}/{unserved}"
        for kind in served_database._DATA
        if (home / "data" / kind / unserved).exists()
    }
    assert not left, f"left behind: {sorted(left)}"
