"""Deletes runs from the database, complete or half loaded."""

from tracegraph.base.progress import Progress, silent
from tracegraph.store.connection import Database
from tracegraph.store.schema import ddl, node_labels, schema

_DELETE_ROWS = 10_000
"""Nodes that one transaction deletes."""


def delete_run(database: Database, name: str, progress: Progress = silent) -> None:
    """Delete a run, completely or half loaded; do nothing if there is none.

    It turns invisible first and its Run node goes last, so an interrupted deletion can be repeated.
    """
    hidden = database.write(
        "MATCH (r:Run {name: $name}) SET r.state = 'loading' RETURN count(r) AS runs", {"name": name}
    )
    if not hidden["runs"].sum():
        return
    others = [kind.label for kind in schema.NODES if kind is not node_labels.RUN and not kind.besides]
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
