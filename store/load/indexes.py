"""Indexes and constraints in the database: created, waited for, and known to the planner of queries."""

import time
from collections.abc import Sequence

import pandas as pd

from tracegraph.base.errors import StoreError
from tracegraph.base.progress import Progress, silent
from tracegraph.store.connection import Database
from tracegraph.store.schema import ddl
from tracegraph.store.schema.properties import Need

_POLL_S = 0.1
"""The shortest pause between two looks at the state of the indexes."""
_POLL_SHARE = 0.1
"""The pause as a share of the time waited so far."""
_AFTERWARDS: tuple[Need, ...] = ("path", "late")
"""What may be built after the first screen."""
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
    begin_indexes(database, "late")
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


def begin_schema(
    database: Database, progress: Progress = silent, needed: Sequence[Need] = ("first", "path")
) -> None:
    """Create what is needed of the schema, without waiting while the server builds the indexes."""
    progress("building indexes", 0, 100)
    ensure_constraints(database)
    begin_indexes(database, *needed)


def begin_indexes(database: Database, *needed: Need) -> None:
    """Create the indexes that are needed then, and do not wait for them."""
    # Those of one transaction are built together, in one pass over the nodes.
    database.write_together(ddl.indexes(*needed))


def lacking(database: Database) -> list[Need]:
    """Tell which indexes the database lacks, if it has those of a first screen: for what they are needed.

    An index that is still being built is not lacking.
    """
    return _lacking(_indexes(database))


def ensure_constraints(database: Database) -> None:
    """Create the constraints that are missing, without waiting for them."""
    # A server never repeats an index that failed, say on a full disk; an orphan bars its name.
    indexes = _indexes(database)
    for name in _failed(indexes) | set(indexes.loc[indexes["orphaned"].eq(True), "name"]):
        database.write(f"DROP INDEX {name}")
    for statement in ddl.constraints():
        database.write(statement)


def await_indexes(database: Database, progress: Progress = silent) -> list[Need]:
    """Wait until no index is being built, because meanwhile a query scans all nodes of a label.

    An orphaned index, that of a constraint which nobody may finish, is not waited for.

    Returns
    -------
    list[Need]
        What `lacking` tells, without asking for it.
    """
    begun = time.monotonic()
    while len(unfinished := _unfinished(found := _indexes(database))):
        progress("building indexes", int(unfinished["percent"].min()), 100)
        # To be asked takes the server a part of the time that it would build in.
        time.sleep(max(_POLL_S, _POLL_SHARE * (time.monotonic() - begun)))
    return _lacking(found)


def _lacking(indexes: pd.DataFrame) -> list[Need]:
    missing = ddl.names() - set(indexes["name"])
    if not missing <= ddl.names_needed(*_AFTERWARDS):
        return []  # a database that never had the schema, or lost it
    return [needed for needed in _AFTERWARDS if missing & ddl.names_needed(needed)]


def _unfinished(indexes: pd.DataFrame) -> pd.DataFrame:
    return indexes[indexes["state"].eq("POPULATING") & ~indexes["orphaned"].eq(True)]


def _failed(indexes: pd.DataFrame) -> set[str]:
    """Return the names of the schema's own indexes that the server could not build."""
    return set(indexes.loc[indexes["state"].eq("FAILED"), "name"]) & ddl.names()


def _indexes(database: Database) -> pd.DataFrame:
    # One text for all callers, because a fresh server takes a sixth of a second to plan each text.
    return database.read(_INDEXES, {"unique": ddl.constraint_names()})
