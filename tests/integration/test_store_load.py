"""What arrives in the database equals the tables, on both ways, and a run is visible only when whole."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from export import from_database, from_tables
from hostile import hostile_graph
from stored_traces import take_for_own
from storing_runs import store_run

from tracegraph.base.errors import InputError, StoreError
from tracegraph.base.locks import lock
from tracegraph.queries.module import CypherModule, load, names
from tracegraph.store.connection import Database
from tracegraph.store.connection_settings import ConnectionSettings
from tracegraph.store.load.bolt import relationship_query
from tracegraph.store.load.delete_run import delete_half_loaded, delete_run
from tracegraph.store.load.indexes import await_indexes, begin_indexes, ensure_schema, finish_schema, lacking
from tracegraph.store.load.load_run import as_loading, load_hidden, load_run, make_ready
from tracegraph.store.managed.server import served_database
from tracegraph.store.managed.server.leftovers import build_missing_indexes
from tracegraph.store.schema import ddl
from tracegraph.store.schema.ddl import constraint_names, match_nodes, names_needed
from tracegraph.store.schema.node_labels import RUN
from tracegraph.store.schema.schema import NODES
from tracegraph.store.session import open_database
from tracegraph.store.storing import store_and_open
from tracegraph.store.tables import GraphTables
from tracegraph.store.workspace import Workspace, open_workspace

MANAGED = ConnectionSettings()
STATE = "MATCH (r:Run {name: $run}) RETURN r.state AS state"


@pytest.fixture
def loaded(database: Database) -> Iterator[GraphTables]:
    tables = hostile_graph("hostile-bolt")
    load_run(database, tables)
    yield tables
    delete_run(database, tables.run)


def states(database: Database, run: str) -> list[str]:
    return database.read(STATE, {"run": run})["state"].tolist()


def manifest(run: str, sha256: str = "00") -> dict[str, object]:
    return {"run": run, "created": "2026-01-01", "sources": [{"path": "x", "sha256": sha256, "rank": 0}]}


def test_bolt_load_equals_the_tables(loaded: GraphTables, database: Database) -> None:
    assert from_database(database, loaded.run) == from_tables(loaded)


def test_bulk_load_equals_the_tables(tmp_path: Path) -> None:
    tables = hostile_graph("hostile-bulk")
    workspace = open_workspace(tmp_path / "with space")
    with store_and_open(workspace, MANAGED, tables, manifest(tables.run)) as database:
        assert lacking(database) == ["late"]  # they are built after the answers of the command
        assert from_database(database, tables.run) == from_tables(tables)
        assert from_tables(workspace.load_run(tables.run)) == from_tables(tables)
        assert workspace.manifests() == [manifest(tables.run)]
        # The second run of a workspace goes over Bolt, into the same database.
        other = hostile_graph("second", ["a", "b", "c", "d", "e", "f"])
        store_run(workspace, MANAGED, other, manifest("second"))
        assert not lacking(database)
        assert from_database(database, other.run) == from_tables(other)
        assert from_database(database, tables.run) == from_tables(tables)
        assert not list(workspace.neo4j_home.parent.glob("neo4j.new*"))
        # The name belongs to its file, by the kept tables and, where those are gone, by the database.
        for _ in range(2):
            with pytest.raises(InputError, match="'second' holds another file"):
                store_run(workspace, MANAGED, other, manifest("second", "ff"))
            workspace.delete_run("second")


def test_an_index_that_failed_is_built_anew(database: Database) -> None:
    ensure_schema(database)
    name, states = "tracegraph_event_run", "SHOW INDEXES YIELD name, state RETURN name, state"
    database.write(f"DROP INDEX {name}")
    # A value too long for an index makes it fail, like a disk that is full meanwhile.
    database.write("CREATE (:Event {run: $run})", {"run": "x" * 40_000})
    database.write(f"CREATE INDEX {name} FOR (n:Event) ON (n.run)")
    await_indexes(database)
    with pytest.raises(StoreError, match=f"could not build the index {name}"):
        finish_schema(database)
    database.write("MATCH (n:Event) WHERE size(n.run) = 40000 DELETE n")
    assert "FAILED" in database.read(states)["state"].tolist()
    ensure_schema(database)
    found = database.read(states)
    assert set(found["state"]) == {"ONLINE"}
    assert name in found["name"].tolist()


def drop_later_indexes(database: Database) -> None:
    for name in names_needed("path", "late"):
        database.write(f"DROP INDEX {name}")
    assert lacking(database) == ["path", "late"]


def test_indexes_that_a_killed_command_left_out_are_built_by_the_next(
    database: Database, workspace: Workspace
) -> None:
    take_for_own(database, workspace)
    with served_database.own_writes(workspace.neo4j_home, database):
        drop_later_indexes(database)
    with open_database(workspace, MANAGED) as opened:
        assert not lacking(opened)
        assert not served_database.is_changed(workspace.neo4j_home, opened)


def test_while_another_command_stores_a_run_only_what_questions_need_most_is_built(
    database: Database, workspace: Workspace
) -> None:
    take_for_own(database, workspace)
    with served_database.own_writes(workspace.neo4j_home, database):
        drop_later_indexes(database)
        with lock(workspace.ingest_lock):
            build_missing_indexes(workspace, database)
        assert lacking(database) == ["late"]
        await_indexes(database)
    build_missing_indexes(workspace, database)
    assert not lacking(database)
    finish_schema(database)


def test_a_first_look_reads_each_node_once_without_the_other_indexes(tmp_path: Path) -> None:
    """It asks while the indexes are being built: see `Answers`."""
    workspace, tables = open_workspace(tmp_path), hostile_graph("ahead")
    parameters = {"run": "ahead", "start_ns": 0, "end_ns": 1 << 60, "part": 0.2, "times": 20.0, "limit": 9}
    parameters |= {"least_count": 5, "beginnings": "aten::\nnccl", "kernel_type": "communication"}
    parameters |= {"chain": 0, "least_ns": 0}
    modules = list(map(load, names()))
    ahead = [one for one in modules if not one.needs_index]
    first = [one for one in modules if one.needs_index and not one.needs_all_indexes]
    assert {"run_details", "run_window", "times_about", "long_names"} <= {one.name for one in ahead}
    assert {"path_gaps", "gpu_work_times"} <= {one.name for one in first}
    with store_and_open(workspace, MANAGED, tables, manifest(tables.run)) as database:
        await_indexes(database)
        for statement in ddl.indexes("first", "path", "late"):
            name = statement.split()[2]
            database.write(f"DROP INDEX {name} IF EXISTS")
        assert_read_once(database, ahead, parameters, tables.count_nodes())
        begin_indexes(database, "first")
        await_indexes(database)
        assert_read_once(database, first, parameters, tables.count_nodes())


def assert_read_once(
    database: Database, modules: list[CypherModule], parameters: dict[str, Any], nodes: int
) -> None:
    for module in modules:
        with database.session() as session:
            plan = session.run("PROFILE " + module.body, parameters).consume().profile
        # A few properties of each node; a look-up for each row would visit all nodes again for each.
        assert hits(plan) <= 10 * nodes + 100, module.name


def hits(plan: Any) -> int:
    """Sum up how often an executed plan, with all below it, looked into the store."""
    return int(plan["dbHits"]) + sum(map(hits, plan.get("children", ())))


def test_an_index_that_a_killed_client_left_without_its_constraint_bars_nothing(database: Database) -> None:
    (name,) = constraint_names()
    database.write(f"DROP CONSTRAINT {name}")
    database.write(f"CREATE INDEX {name} FOR (n:Run) ON (n.name)")
    await_indexes(database)
    ensure_schema(database)
    assert database.read("SHOW CONSTRAINTS YIELD name RETURN name")["name"].tolist() == [name]
    owners = "SHOW INDEXES YIELD name, owningConstraint WHERE name = $name RETURN owningConstraint AS owner"
    assert database.read(owners, {"name": name})["owner"].tolist() == [name]


def test_a_run_is_replaced_whole(loaded: GraphTables, database: Database) -> None:
    smaller = hostile_graph(loaded.run, ["a", "b", "c", "d", "e", "f"])
    load_run(database, smaller)
    assert from_database(database, loaded.run) == from_tables(smaller)


def test_other_runs_stay(loaded: GraphTables, database: Database) -> None:
    load_run(database, hostile_graph("neighbour", list("abcdef")))
    delete_run(database, "neighbour")
    assert from_database(database, "neighbour") == ([], [])
    assert from_database(database, loaded.run) == from_tables(loaded)


def test_a_run_is_hidden_until_it_is_whole(database: Database) -> None:
    tables = hostile_graph("hidden", list("abcdef"))
    load_hidden(database, tables)
    assert states(database, "hidden") == ["loading"]
    make_ready(database, tables)
    assert from_database(database, "hidden") == from_tables(tables)
    delete_run(database, "hidden")


@pytest.mark.parametrize("stage", ["storing nodes", "storing relationships"])
def test_a_broken_load_leaves_nothing_visible(stage: str, database: Database) -> None:
    def fail(text: str, done: int, total: int) -> None:
        if text == stage:
            raise KeyboardInterrupt

    tables = hostile_graph("broken", list("abcdef"))
    with pytest.raises(KeyboardInterrupt):
        load_run(database, tables, fail)
    assert states(database, "broken") == ["loading"]
    load_run(database, tables)
    assert from_database(database, "broken") == from_tables(tables)
    delete_run(database, "broken")


def test_half_loaded_runs_are_removed(loaded: GraphTables, database: Database) -> None:
    load_hidden(database, hostile_graph("half", list("abcdef")))
    delete_half_loaded(database)
    assert from_database(database, "half") == ([], [])
    assert states(database, loaded.run) == ["ready"]


@pytest.mark.parametrize("label", [kind.label for kind in NODES if kind is not RUN])
def test_a_deletion_never_looks_at_other_runs(label: str, database: Database) -> None:
    plan = str(database.explain(f"{match_nodes(label)} DETACH DELETE n", {"run": "one"}))
    assert "'operatorType': 'NodeIndexSeek@" in plan
    assert "Scan" not in plan


def test_relationships_find_their_nodes_by_id(database: Database) -> None:
    plan = database.explain(
        relationship_query("SEQUENTIAL", {"lag_ns": "$columns.lag_ns[i]"}),
        {"last": 0, "start": [0], "end": [1], "columns": {"lag_ns": [0]}},
    )
    assert str(plan).count("'operatorType': 'NodeByIdSeek@") == 2
    assert "Scan" not in str(plan)


@pytest.mark.exhaustive
def test_a_broken_import_leaves_no_database(tmp_path: Path) -> None:
    def fail(text: str, done: int, total: int) -> None:
        if text == "importing into Neo4j":
            raise KeyboardInterrupt

    workspace = open_workspace(tmp_path)
    tables = hostile_graph("import", list("abcdef"))
    with pytest.raises(KeyboardInterrupt):
        store_run(workspace, MANAGED, tables, manifest("import"), fail, "bulk")
    assert not workspace.has_database()
    assert workspace.manifests() == []
    with open_database(workspace, MANAGED) as database:
        assert database.read("MATCH (n) RETURN n").empty


def test_loading_changes_the_state_only() -> None:
    tables = hostile_graph("state", list("abcdef"))
    [before], [after] = tables.nodes["Run"].to_pylist(), as_loading(tables).nodes["Run"].to_pylist()
    assert after == {**before, "state": "loading"}
