"""The command is killed or interrupted while it stores a run: what was finished stays, nothing half shows."""

import json
import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from commands import Command, run
from export import from_database, from_tables
from storing_runs import store_run

from tracegraph.base.progress import silent
from tracegraph.ingest.pipeline import ingest_run
from tracegraph.store.connection import Database
from tracegraph.store.connection_settings import ConnectionSettings
from tracegraph.store.managed.server import served_database
from tracegraph.store.session import find_server, open_database, start_server, stop_server
from tracegraph.store.tables import GraphTables
from tracegraph.store.workspace import Workspace, open_workspace

pytestmark = pytest.mark.exhaustive
TRACES = Path(__file__).parents[2] / "examples" / "traces"
FIRST = TRACES / "simulated_gpu.json.gz"
MANAGED = ConnectionSettings()
SEED = random.randrange(1_000_000)
STAGES = {
    "bolt": ["storing nodes", "storing relationships", "building indexes"],
    "bulk": ["importing into Neo4j", "starting Neo4j"],
}
LATEST_S = {"bolt": 0.6, "bulk": 2.0}
"""A kill comes up to so long after its stage began, which also reaches the stages after it."""
EVENTS = 5_000


@pytest.fixture(scope="module")
def second(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A trace large enough that storing it takes a while."""
    path = tmp_path_factory.mktemp("trace") / "second.json"
    event = {"ph": "X", "cat": "cpu_op", "pid": 1}
    events = [
        {**event, "name": f"operator {i % 97}", "tid": i % 3, "ts": 10 * i, "dur": 25} for i in range(EVENTS)
    ]
    path.write_text(json.dumps({"traceEvents": events}))
    return path


@pytest.fixture(scope="module")
def clean(second: Path) -> GraphTables:
    """What an undisturbed ingest makes of the second trace."""
    tables, _ = ingest_run([second], "second", silent)
    return tables


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    """A workspace that holds the run `first`."""
    workspace = open_workspace(tmp_path_factory.mktemp("faults"))
    store_run(workspace, MANAGED, *ingest_run([FIRST], "first", silent))
    yield workspace
    stop_server(workspace)


def check_whole(workspace: Workspace, clean: GraphTables, expected: set[str] | None = None) -> None:
    """Every visible run is as its kept tables say, and those are as a clean ingest makes them."""
    with open_database(workspace, MANAGED) as database:
        assert set(database.read("SHOW INDEXES YIELD state RETURN state")["state"]) == {"ONLINE"}
        visible = set(database.read("MATCH (r:Run {state: 'ready'}) RETURN r.name AS name")["name"])
        assert visible in ([expected] if expected else [{"first"}, {"first", "second"}])
        for name in visible:
            _check_run(database, workspace, name)
    if "second" in visible:
        kept = workspace.load_run("second")
        for name in set(clean.nodes) - {"Run"}:
            assert kept.nodes[name].equals(clean.nodes[name])
        for name, table in clean.relationships.items():
            assert kept.relationships[name].equals(table)


def _check_run(database: Database, workspace: Workspace, name: str) -> None:
    assert from_database(database, name) == from_tables(workspace.load_run(name))


@pytest.mark.parametrize("load", STAGES)
def test_a_killed_ingest_shows_nothing_half(
    load: str, own: Workspace, second: Path, clean: GraphTables
) -> None:
    chance = random.Random(SEED)
    start_server(own)  # which stays, as it does when only the command dies
    for stage in STAGES[load]:
        after_s = chance.uniform(0, LATEST_S[load])
        print(f"seed {SEED}: killed {after_s:.2f} s after {stage!r}")
        command = Command(own.root, "ingest", second, "--run", "second", "--load", load)
        command.wait_for(stage, after_s)
        command.kill()
        check_whole(own, clean)
    assert run(own.root, "ingest", second, "--run", "second", "--load", load)[0] == 0
    check_whole(own, clean, {"first", "second"})
    assert run(own.root, "runs", "delete", "second")[0] == 0
    check_whole(own, clean, {"first"})
    stop_server(own)


@pytest.mark.parametrize(
    ("load", "stage"),
    [("bulk", "building indexes"), ("bolt", "storing relationships")],
)
def test_a_killed_first_ingest_starts_anew(
    load: str, stage: str, tmp_path: Path, second: Path, clean: GraphTables
) -> None:
    command = Command(tmp_path, "ingest", second, "--run", "second", "--load", load)
    command.wait_for(stage, random.Random(SEED).uniform(0, 0.2))
    command.kill()
    assert run(tmp_path, "ingest", second, "--run", "second")[0] == 0
    check_whole(open_workspace(tmp_path), clean, {"second"})
    assert find_server(open_workspace(tmp_path)) is None


@pytest.mark.parametrize(
    ("load", "stage"), [("bolt", "storing relationships"), ("bulk", "importing into Neo4j")]
)
def test_an_interrupt_ends_within_two_seconds(
    load: str, stage: str, own: Workspace, second: Path, clean: GraphTables
) -> None:
    command = Command(own.root, "ingest", second, "--run", "second", "--load", load)
    command.wait_for(stage, 0.2)
    seconds = command.interrupt()
    print(f"ended after {seconds:.1f} s")
    assert command.end()[0] == 130
    assert find_server(own) is None
    check_whole(own, clean, {"first"})


def test_two_ingests_at_once_both_complete(own: Workspace, second: Path, clean: GraphTables) -> None:
    commands = [
        Command(own.root, "ingest", second, "--run", "second"),
        Command(own.root, "ingest", FIRST, "--run", "third"),
    ]
    assert [command.end()[0] for command in commands] == [0, 0]
    check_whole(own, clean, {"first", "second", "third"})
    assert find_server(own) is None


def test_writers_wait_for_a_rebuild_and_lose_nothing(
    own: Workspace, second: Path, clean: GraphTables
) -> None:
    rebuild = Command(own.root, "ingest", second, "--run", "second", "--load", "bulk")
    rebuild.wait_for("importing into Neo4j")
    writers = [
        Command(own.root, "runs", "delete", "third"),
        Command(own.root, "cypher", "--write", "MATCH (n:Run {name: 'first'}) SET n.note = 'mine'"),
    ]
    assert [command.end()[0] for command in (rebuild, *writers)] == [0, 0, 0]
    with open_database(own, MANAGED) as database:
        assert served_database.is_changed(own.neo4j_home, database)
        database.write("MATCH (n:Run {note: 'mine'}) REMOVE n.note")
    check_whole(own, clean, {"first", "second"})
