"""Runs in the database: load, replace, delete. A run is visible as soon as its state is `ready`."""

import time

import pandas as pd
import pyarrow as pa

from tracegraph.base.errors import StoreError
from tracegraph.base.progress import Progress, silent
from tracegraph.store.connection import Database
from tracegraph.store.load.bolt import load_nodes, load_relationships
from tracegraph.store.schema import ddl, labels, schema
from tracegraph.store.tables import GraphTables

_POLL_S = 0.1
"""The pause between two looks at the state of the indexes."""
_DELETE_ROWS = 10_000
"""Nodes that one transaction deletes."""
_SAMPLING_S = 60
"""The longest time that the server may sample its indexes before queries are planned anew."""
_INDEXES = (
    "SHOW INDEXES YIELD name, state, populationPercent, owningConstraint "
    "RETURN name, state, populationPercent AS percent, "
    "name IN $unique AND owningConstraint IS NULL AS orphaned"
)
"""All indexes of the database with their states.

An index is orphaned if a client was killed while it made the constraint: nobody finishes it.
"""


def load_run(database: Database, tables: GraphTables, progress: Progress = silent) -> None:
    """Load a run over Bolt, replacing a run of the same name, and make it visible."""
    tables = tables.completed()
    load_hidden(database, tables, progress)
    make_ready(database, tables)


def load_hidden(database: Database, tables: GraphTables, progress: Progress = silent) -> None:
    """Load a run as `load_run` does, but leave it in state `loading`."""
    _ensure_constraints(database)
    delete_run(database, tables.run, progress)
    _load(database, tables, progress)
    ensure_schema(database, progress)


def load_first(database: Database, tables: GraphTables, progress: Progress = silent) -> None:
    """Load a run as `load_hidden` does into a database that never held one, without waiting for indexes."""
    _ensure_constraints(database)
    _load(database, tables, progress)
    # Last, because nodes are stored faster without indexes.
    progress("building indexes", 0, 100)
    database.write_together(ddl.indexes())


def _load(database: Database, tables: GraphTables, progress: Progress) -> None:
    ids = load_nodes(database, as_loading(tables), progress)
    load_relationships(database, tables, ids, progress)


def has_runs(database: Database) -> bool:
    """Tell whether the database holds a run, visible or not: its Run node comes first and goes last."""
    return not database.read("MATCH (r:Run) RETURN r.name AS name LIMIT 1").empty


def has_indexes(database: Database) -> bool:
    """Tell whether the database has the schema's indexes, including those that are still being built."""
    return ddl.names() <= set(_indexes(database)["name"])


def plan_anew(database: Database, loaded: int, *, sampled: bool = False) -> None:
    """Have queries planned anew if the `loaded` nodes are most of what is stored.

    A plan outlives the small database for which it was made, and would scan an index for each row of a large
    one. `sampled` says that the indexes were built after the nodes were stored, and so know them.
    """
    if sampled:
        database.write("CALL db.clearQueryCaches() YIELD value RETURN value")
    elif 2 * loaded >= int(database.read("RETURN COUNT { () } AS nodes")["nodes"][0]):
        database.write(f"CALL db.prepareForReplanning({_SAMPLING_S})")


def make_ready(database: Database, tables: GraphTables) -> None:
    """Make a completely loaded run visible, with all that its node says."""
    (row,) = tables.nodes["Run"].drop_columns(["id", "labels"]).to_pylist()
    values = {"name": tables.run, "properties": {**row, "state": "ready"}}
    database.write("MATCH (r:Run {name: $name}) SET r = $properties", values)


def contents(database: Database, name: str) -> list[str]:
    """List what a visible run was made from, sorted; empty if there is no such run.

    These are the SHA-256 of its files and, for a scenario, also its change.
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


def delete_run(database: Database, name: str, progress: Progress = silent) -> None:
    """Delete a run, completely or half loaded; do nothing if there is none.

    It turns invisible first and its Run node goes last, so an interrupted deletion can be repeated.
    """
    hidden = database.write(
        "MATCH (r:Run {name: $name}) SET r.state = 'loading' RETURN count(r) AS runs", {"name": name}
    )
    if not hidden["runs"].sum():
        return
    others = [kind.label for kind in schema.NODES if kind is not labels.RUN]
    for done, label in enumerate(others):
        progress("removing the old run", done, len(others))
        database.write(
            f"{ddl.match_nodes(label)} "
            f"CALL {{ WITH n DETACH DELETE n }} IN TRANSACTIONS OF {_DELETE_ROWS} ROWS",
            {"run": name},
        )
    database.write("MATCH (r:Run {name: $name}) DETACH DELETE r", {"name": name})


def delete_half_loaded(database: Database, progress: Progress = silent) -> None:
    """Delete every run that is not ready; the caller knows that nobody is loading one."""
    for name in database.read("MATCH (r:Run) WHERE r.state <> 'ready' RETURN r.name AS name")["name"]:
        delete_run(database, name, progress)


def ensure_schema(database: Database, progress: Progress = silent) -> None:
    """Create the schema's missing indexes and constraints, and wait until they are online.

    Raises
    ------
    StoreError
        The server could not build one.
    """
    begin_schema(database, progress)
    finish_schema(database, progress)


def finish_schema(database: Database, progress: Progress = silent) -> None:
    """Wait until what `begin_schema` began is done.

    Raises
    ------
    StoreError
        The server could not build an index.
    """
    await_indexes(database, progress)
    if failed := _failed(_indexes(database)):
        raise StoreError(
            f"Neo4j could not build the index {', '.join(sorted(failed))}",
            "free some space, then ingest the run again",
        )


def begin_schema(database: Database, progress: Progress = silent) -> None:
    """Create what `ensure_schema` does, but do not wait while the server builds the indexes."""
    progress("building indexes", 0, 100)
    _ensure_constraints(database)
    # Indexes of one transaction are built together, in one pass over the nodes.
    database.write_together(ddl.indexes())


def _ensure_constraints(database: Database) -> None:
    # A server never repeats an index that failed, say on a full disk; an orphan bars its name.
    indexes = _indexes(database)
    for name in _failed(indexes) | set(indexes.loc[indexes["orphaned"].eq(True), "name"]):
        database.write(f"DROP INDEX {name}")
    for statement in ddl.constraints():
        database.write(statement)


def await_indexes(database: Database, progress: Progress = silent) -> None:
    """Wait until no index is being built, because meanwhile a query scans all nodes of a label.

    An orphaned index, that of a constraint which nobody may finish, is not waited for.
    """
    while len(unfinished := _unfinished(_indexes(database))):
        progress("building indexes", int(unfinished["percent"].min()), 100)
        time.sleep(_POLL_S)


def _unfinished(indexes: pd.DataFrame) -> pd.DataFrame:
    return indexes[indexes["state"].eq("POPULATING") & ~indexes["orphaned"].eq(True)]


def _failed(indexes: pd.DataFrame) -> set[str]:
    """Return the names of the schema's own indexes that the server could not build."""
    return set(indexes.loc[indexes["state"].eq("FAILED"), "name"]) & ddl.names()


def _indexes(database: Database) -> pd.DataFrame:
    # One text for all callers, because a fresh server takes a sixth of a second to plan each text.
    return database.read(_INDEXES, {"unique": ddl.constraint_names()})
