"""Loads a run into the database, over Bolt. A run is visible as soon as its state is `ready`."""

import pyarrow as pa

from tracegraph.base.progress import Progress, silent
from tracegraph.store.connection import Database
from tracegraph.store.load.bolt import load_nodes, load_relationships
from tracegraph.store.load.delete_run import delete_run
from tracegraph.store.load.indexes import begin_indexes, ensure_constraints, ensure_schema
from tracegraph.store.tables import GraphTables


def load_run(database: Database, tables: GraphTables, progress: Progress = silent) -> None:
    """Load a run over Bolt, replacing a run of the same name, and make it visible."""
    tables = tables.completed()
    load_hidden(database, tables, progress)
    make_ready(database, tables)


def load_hidden(database: Database, tables: GraphTables, progress: Progress = silent) -> None:
    """Load a run as `load_run` does, but leave it in state `loading`."""
    ensure_constraints(database)
    delete_run(database, tables.run, progress)
    _load(database, tables, progress)
    ensure_schema(database, progress)


def load_first(database: Database, tables: GraphTables, progress: Progress = silent) -> None:
    """Load a run as `load_hidden` does into a database that never held one, without waiting for indexes."""
    ensure_constraints(database)
    _load(database, tables, progress)
    # Last, because nodes are stored faster without indexes.
    progress("building indexes", 0, 100)
    begin_indexes(database, "first", "path")


def _load(database: Database, tables: GraphTables, progress: Progress) -> None:
    ids = load_nodes(database, as_loading(tables), progress)
    load_relationships(database, tables, ids, progress)


def make_ready(database: Database, tables: GraphTables) -> None:
    """Make a completely loaded run visible, with all that its node says."""
    (row,) = tables.nodes["Run"].drop_columns(["id", "labels"]).to_pylist()
    values = {"name": tables.run, "properties": {**row, "state": "ready"}}
    database.write("MATCH (r:Run {name: $name}) SET r = $properties", values)


def contents(database: Database, name: str) -> list[str]:
    """List in order what a visible run was made from; the list is empty if there is no such run.

    It holds the SHA-256 of its files and, for a scenario, also its change.
    """
    query = (
        "MATCH (r:Run {name: $name, state: 'ready'}) MATCH (t:Trace {run: $name}) "
        "UNWIND [t.sha256, r.change] AS content WITH DISTINCT content WHERE content IS NOT NULL "
        "RETURN content"
    )
    return sorted(database.read(query, {"name": name})["content"])


def as_loading(tables: GraphTables) -> GraphTables:
    """Return the same graph with its Run in state `loading`."""
    run = tables.nodes["Run"].drop_columns(["state"])
    run = run.append_column("state", pa.array(["loading"] * run.num_rows))
    return tables.with_nodes("Run", run)


def has_runs(database: Database) -> bool:
    """Tell whether the database holds a run, visible or not: its Run node comes first and goes last."""
    return not database.read("MATCH (r:Run) RETURN r.name AS name LIMIT 1").empty
