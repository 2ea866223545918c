"""Space of what was deleted comes back, and nothing that lives is lost."""

import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from commands import Command, run
from export import from_database, from_tables
from storing_runs import store_small_run

from tracegraph.base.errors import StoreError
from tracegraph.store import compacting
from tracegraph.store.compacting import compact
from tracegraph.store.connection_settings import ConnectionSettings
from tracegraph.store.managed.server import served_database
from tracegraph.store.session import find_server, kept_warm, open_database, stop_server
from tracegraph.store.workspace import Workspace, open_workspace
from tracegraph.workbench import Workbench

pytestmark = pytest.mark.exhaustive
MANAGED = ConnectionSettings()


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with two runs, to copy."""
    workspace = open_workspace(tmp_path_factory.mktemp("prepared"))
    with kept_warm(workspace):
        for name in ("first", "second"):
            store_small_run(workspace, name)
    stop_server(workspace)
    return workspace.root


@pytest.fixture
def own(prepared: Path, tmp_path: Path) -> Iterator[Workspace]:
    workspace = open_workspace(shutil.copytree(prepared, tmp_path, dirs_exist_ok=True))
    yield workspace
    stop_server(workspace)


def check_runs(workspace: Workspace, *names: str) -> None:
    with open_database(workspace, MANAGED) as database:
        stored = database.read("MATCH (r:Run) RETURN r.name AS name ORDER BY name")["name"]
        assert stored.tolist() == sorted(names)
        for name in names:
            assert from_database(database, name) == from_tables(workspace.load_run(name))


def test_a_database_that_is_mostly_dead_is_made_anew(own: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compacting, "_LEAST_DEAD_BYTES", 0)
    monkeypatch.setattr(compacting, "_NODES_A_PAGE", 10_000)  # a page holds more than these runs have
    bench = Workbench.open(workspace=own.root)
    bench.delete("second")
    assert served_database.current(own.neo4j_home).database == served_database.NAMES[1]
    check_runs(own, "first")
    bench.delete("first")
    assert not own.neo4j_home.exists()
    check_runs(own)
    store_small_run(own, "third")
    check_runs(own, "third")


def test_what_somebody_wrote_is_not_lost(own: Workspace) -> None:
    with open_database(own, MANAGED) as database:
        database.write("CREATE (:Mine)")
    with pytest.raises(StoreError, match="changes of your own") as raised:
        compact(own)
    assert "nothing was changed" in raised.value.hint
    check_runs(own, "first", "second")


@pytest.mark.parametrize("stage", ["writing import files", "importing into Neo4j", "starting Neo4j"])
def test_a_kill_leaves_the_database_as_it_was(stage: str, own: Workspace) -> None:
    command = Command(own.root, "db", "compact")
    command.wait_for("starting Neo4j")
    if stage != "starting Neo4j":
        command.wait_for(stage)
    command.kill()
    check_runs(own, "first", "second")
    left = {path.name for path in own.neo4j_home.rglob("*")} & {"import", "rebuilt"}
    assert left == set()


def test_the_command_says_how_much(own: Workspace) -> None:
    begun = time.monotonic()
    code, line = run(own.root, "db", "compact")
    assert code == 0, line
    assert find_server(own) is None
    check_runs(own, "first", "second")
    assert served_database.current(own.neo4j_home).database == served_database.NAMES[1]
    assert time.monotonic() - begun < 120
