"""What must hold after a kill: whole runs, the ones that may be there, and nothing that nobody owns."""

import re
from dataclasses import dataclass
from pathlib import Path

from crash_java import runs_java
from crash_ways import FIRST, SECOND, TRACE, Outcome, Prepared, Way
from export import Export, from_database, from_tables

from tracegraph.cli.main import main
from tracegraph.ingest.pipeline import ingest_run
from tracegraph.store.connection import ConnectionSettings, Database
from tracegraph.store.managed import generation
from tracegraph.store.progress import silent
from tracegraph.store.session import kept_warm, open_database, stop_server
from tracegraph.store.tables import GraphTables
from tracegraph.store.workspace import Workspace, open_workspace

_MANAGED = ConnectionSettings()
_OWN = {"neo4j", "runs", "password", "server.json", "workspace.json"}
_OWN |= {f"{name}.lock" for name in ("use", "warm", "server", "ingest")}
_HALF = ("import", "discarded")
_CREATED = re.compile(r'\[(\\?)"created\1", \1"[^"\\]*\1"\], ')
_NOBODYS = "MATCH (n) WHERE NOT coalesce(n.run, n.name) IN $runs RETURN count(n) AS nodes"


@dataclass(frozen=True)
class Truth:
    """What an undisturbed command makes: the run `first` as it was stored, the tables of `second`."""

    first: Export
    second: GraphTables

    @classmethod
    def of(cls, prepared: Prepared, folder: Path) -> "Truth":
        """Made anew."""
        workspace = open_workspace(prepared.copy(frozenset({FIRST}), folder))
        second, _ = ingest_run([TRACE], SECOND, silent)
        return cls(from_tables(workspace.load_run(FIRST)), second)


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
        with kept_warm(workspace):
            visible = _check_runs(workspace, truth, way)
            assert visible in ({way.after} if is_done else way.allowed), f"visible are {sorted(visible)}"
            _check_nothing_left(workspace)
            if way.repeated:
                code = main(["--workspace", str(root), *way.repeated])
                assert code == 0, f"repeated, the command ended with {code}"
                assert _check_runs(workspace, truth, way) == way.before | way.after
                _check_nothing_left(workspace)
    finally:
        stop_server(workspace)
    assert not runs_java(str(root)), "Java runs on"


def _check_runs(workspace: Workspace, truth: Truth, way: Way) -> frozenset[str]:
    """Check that each visible run is whole and nothing else is stored; returns the names of the runs."""
    with open_database(workspace, _MANAGED) as database:
        visible = frozenset(database.read("MATCH (r:Run {state: 'ready'}) RETURN r.name AS name")["name"])
        assert database.read(_NOBODYS, {"runs": list(visible)})["nodes"].tolist() == [0], "half a run is left"
        states = set(database.read("SHOW INDEXES YIELD state RETURN state")["state"])
        assert states <= {"ONLINE"}, states
        for name in visible:
            _check_run(database, workspace, name, truth, timed=not way.exchanges)
    return visible


def _check_run(database: Database, workspace: Workspace, name: str, truth: Truth, *, timed: bool) -> None:
    kept = workspace.load_run(name)
    stored, expected = from_database(database, name), from_tables(kept)
    is_kept = stored == expected if timed else _timeless(stored) == _timeless(expected)
    assert is_kept, f"the run {name} is not what is kept of it"
    if name == FIRST:
        assert stored == truth.first, "the run first is not as it was"
        return
    for kind in set(truth.second.nodes) - {"Run"}:  # which holds when it was stored
        assert kept.nodes[kind].equals(truth.second.nodes[kind]), f"{kind} of {name}"
    for kind, table in truth.second.relationships.items():
        assert kept.relationships[kind].equals(table), f"{kind} of {name}"


def _timeless(export: Export) -> Export:
    """An export without when its run was stored."""
    nodes, edges = ([_CREATED.sub("", line) for line in lines] for lines in export)
    return nodes, edges


def _check_nothing_left(workspace: Workspace) -> None:
    home = workspace.neo4j_home
    left = {path.name for path in workspace.root.iterdir()} - _OWN
    left |= {path.name for path in workspace.runs_dir.iterdir()} - {FIRST, SECOND}
    left |= {name for name in _HALF if (home / name).exists()}
    unserved = generation.unserved(home)
    left |= {
        f"data/{kind}/{unserved}" for kind in generation._DATA if (home / "data" / kind / unserved).exists()
    }
    assert not left, f"left behind: {sorted(left)}"
