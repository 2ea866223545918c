"""Adding nodes to a run that is stored: in the database and among the kept tables, both or none."""

from collections.abc import Collection, Iterator, Mapping
from contextlib import ExitStack

from tracegraph.base.progress import Progress, silent
from tracegraph.store.connection_settings import ConnectionSettings
from tracegraph.store.managed.server import served_database
from tracegraph.store.run_in_doubt import changing, settle
from tracegraph.store.schema import companion_labels, ddl
from tracegraph.store.session import open_database
from tracegraph.store.storing import turn_to_write
from tracegraph.store.tables import GraphTables
from tracegraph.store.workspace import Workspace


def attach(
    workspace: Workspace,
    settings: ConnectionSettings,
    tables: GraphTables,
    manifest: Mapping[str, object],
    kinds: Collection[str],
    progress: Progress = silent,
) -> None:
    """Store the nodes of companions of some `kinds` with a run whose other nodes are stored already.

    Parameters
    ----------
    tables, manifest
        The whole run with these nodes, of which the database gets no others, and what its Run node says.

    Raises
    ------
    StoreError
        The workspace or the database cannot be used.
    """
    with turn_to_write(workspace, progress), ExitStack() as stack:
        database = stack.enter_context(open_database(workspace, settings, progress))
        if settings.uri is None:
            settle(workspace, database)
            stack.enter_context(served_database.own_writes(workspace.neo4j_home, database))
            stack.enter_context(changing(workspace, tables.run))
        # A kill before the transaction ends leaves the tables that belong to the stored run: see `settle`.
        workspace.save_run(tables, manifest)
        database.write_all(_changes(tables, kinds))


def _changes(tables: GraphTables, kinds: Collection[str]) -> Iterator[tuple[str, dict[str, object]]]:
    """Yield the queries that replace the nodes of these kinds and what the Run node says."""
    for label in (one.label for one in companion_labels.LABELS):
        known: dict[str, object] = {"run": tables.run, "kinds": sorted(kinds)}
        yield f"{ddl.match_nodes(label)} AND n.companion IN $kinds DETACH DELETE n", known
        if label in tables.nodes:
            rows = tables.nodes[label].drop_columns(["id", "labels"]).to_pylist()
            new = [row for row in rows if row["companion"] in kinds]
            yield f"UNWIND $rows AS row CREATE (n:{label}) SET n = row", {"rows": new}
    (row,) = tables.nodes["Run"].drop_columns(["id", "labels"]).to_pylist()
    yield "MATCH (r:Run {name: $run}) SET r = $row", {"run": tables.run, "row": row}
