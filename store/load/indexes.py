"""Indexes and constraints in the database: created, waited for, and known to the planner of queries."""

import time

import pandas as pd

from tracegraph.base.errors import StoreError
from tracegraph.base.progress import Progress, silent
from tracegraph.store.connection import Database
from tracegraph.store.schema import ddl

_POLL_S = 0.1
"""The pause between two looks at the state of the indexes."""
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


def ensure_schema(database: Database, progress: Progress = silent) -> None:
    """Create the schema's missing indexes and constraints, and wait until they are online.

    Raises
    ------
    StoreError
        The server could not build one.
    """
    begin_schema(database, progress)
    begin_late_indexes(database)
    finish_schema(database, progress)


def finish_schema(database: Database, progress: Progress = silent) -> None:
    """Wait until what was begun is done.

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
    """Create what a first screen needs of the schema, without waiting while the server builds the indexes."""
    progress("building indexes", 0, 100)
    ensure_constraints(database)
    # Indexes of one transaction are built together, in one pass over the nodes.
    database.write_together(ddl.indexes())


def lacks_late_indexes(database: Database) -> bool:
    """Tell whether the database has all of the schema but the late indexes."""
    return _lacks_late(_indexes(database))


def begin_late_indexes(database: Database) -> None:
    """Create the late indexes, which a first screen does without, and do not wait for them."""
    database.write_together(ddl.late_indexes())


def ensure_constraints(database: Database) -> None:
    """Create the constraints that are missing, without waiting for them."""
    # A server never repeats an index that failed, say on a full disk; an orphan bars its name.
    indexes = _indexes(database)
    for name in _failed(indexes) | set(indexes.loc[indexes["orphaned"].eq(True), "name"]):
        database.write(f"DROP INDEX {name}")
    for statement in ddl.constraints():
        database.write(statement)


def await_indexes(database: Database, progress: Progress = silent) -> bool:
    """Wait until no index is being built, because meanwhile a query scans all nodes of a label.

    An orphaned index, that of a constraint which nobody may finish, is not waited for.

    Returns
    -------
    bool
        What `lacks_late_indexes` tells, without asking for it.
    """
    while len(unfinished := _unfinished(found := _indexes(database))):
        progress("building indexes", int(unfinished["percent"].min()), 100)
        time.sleep(_POLL_S)
    return _lacks_late(found)


def _lacks_late(indexes: pd.DataFrame) -> bool:
    missing = ddl.names() - set(indexes["name"])
    return bool(missing) and missing <= ddl.late_names()


def _unfinished(indexes: pd.DataFrame) -> pd.DataFrame:
    return indexes[indexes["state"].eq("POPULATING") & ~indexes["orphaned"].eq(True)]


def _failed(indexes: pd.DataFrame) -> set[str]:
    """Return the names of the schema's own indexes that the server could not build."""
    return set(indexes.loc[indexes["state"].eq("FAILED"), "name"]) & ddl.names()


def _indexes(database: Database) -> pd.DataFrame:
    # One text for all callers, because a fresh server takes a sixth of a second to plan each text.
    return database.read(_INDEXES, {"unique": ddl.constraint_names()})
