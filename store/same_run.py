"""Finds out whether the same run is stored already, so that it need not be stored again."""

from collections.abc import Mapping

import pyarrow as pa

from tracegraph.store.connection import Database
from tracegraph.store.managed.server import served_database
from tracegraph.store.tables import GraphTables
from tracegraph.store.workspace import Workspace

_READY = "MATCH (r:Run {state: 'ready'}) RETURN r.name AS name, r.created AS created"
JOB = "job"
"""The property, and the entry of a manifest, that says what its user said of the job."""
_APART = ("created", JOB)
"""Properties that do not count when two runs are compared: when it was stored, and what was said of it."""


def is_stored(workspace: Workspace, database: Database, tables: GraphTables) -> bool:
    """Tell whether the managed database holds this run, complete and equal but for when it was stored.

    What its user said of the job does not count, either.

    `tables` are complete. If somebody else changed the database, the run may be affected: then it does not
    count.
    """
    manifest = workspace.manifest(tables.run)
    if manifest is None or served_database.is_changed(workspace.neo4j_home, database):
        return False
    ready = database.read(_READY)
    created = ready.loc[ready["name"].eq(tables.run), "created"].tolist()
    return created == [manifest.get("created")] and _same(workspace.load_run(tables.run), tables)


def is_newest(database: Database, name: str) -> bool:
    """Tell whether no ready run was stored after this one."""
    ready = database.read(_READY)
    return bool(ready["created"].max() == ready.loc[ready["name"].eq(name), "created"].max())


def with_job_kept(
    workspace: Workspace, tables: GraphTables, manifest: Mapping[str, object]
) -> tuple[GraphTables, Mapping[str, object]]:
    """Say of a run that is stored anew, without a word on its job, what was said of it before."""
    said = (workspace.manifest(tables.run) or {}).get(JOB)
    if said is None or manifest.get(JOB) is not None:
        return tables, manifest
    run = tables.nodes["Run"]
    columns = {name: run[name] for name in run.column_names} | {JOB: pa.array([said], pa.string())}
    return tables.with_nodes("Run", pa.table(columns)), {**manifest, JOB: said}


def _same(kept: GraphTables, tables: GraphTables) -> bool:
    return all(
        _same_tables(ours, theirs)
        for ours, theirs in (
            (kept.nodes, tables.nodes),
            (kept.relationships, tables.relationships),
            (kept.rows, tables.rows),
        )
    )


def _same_tables(kept: Mapping[str, pa.Table], tables: Mapping[str, pa.Table]) -> bool:
    # The node of the run first: it alone differs between most runs, and each other table takes a while.
    names = sorted(kept, key=lambda name: name != "Run")
    return set(kept) == set(tables) and all(_timeless(kept[n]).equals(_timeless(tables[n])) for n in names)


def _timeless(table: pa.Table) -> pa.Table:
    return table.drop_columns([name for name in _APART if name in table.column_names])
