"""What companions add to a run, and runs of companions alone."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timezone
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pyarrow as pa

from tracegraph.ingest.companions.companion import CompanionFile, Told
from tracegraph.ingest.companions.registry import kinds_of, open_companion, read_companions
from tracegraph.ingest.limits import DEFAULT_LIMITS, Limits
from tracegraph.ingest.tables.companions import lone_run, with_companions
from tracegraph.store.schema.schema import SCHEMA_VERSION
from tracegraph.store.tables import GraphTables

_TOLD = "companions"
"""What a manifest calls the files that were added to a run."""
_Manifest = dict[str, object]


def attach_files(
    graph: GraphTables, manifest: Mapping[str, object], files: Sequence[str], limits: Limits = DEFAULT_LIMITS
) -> tuple[GraphTables, _Manifest, Mapping[str, Told]]:
    """Add what files say to the graph of a run and its manifest, and return what each kind of them says.

    What files of the same kinds said before is replaced, because those of one job belong together.

    Raises
    ------
    InputError
        A file cannot be read, or is of no known kind.
    """
    opened = [open_companion(Path(file), limits) for file in files]
    told = {kind: _with_run(one, graph) for kind, one in read_companions(opened).items()}
    kept = [row for row in _listed(manifest) if told.keys().isdisjoint(row["kinds"])]
    rows = {str(row["path"]): row for row in (*kept, *map(_source, opened))}
    changed = {"created": now(), _TOLD: list(rows.values())}
    return with_companions(graph, told, str(changed["created"])), {**manifest, **changed}, told


def run_of_files(
    files: Sequence[str], name: str | None, limits: Limits = DEFAULT_LIMITS
) -> tuple[GraphTables, _Manifest, Mapping[str, Told]]:
    """Make a run of companions alone: it has no lanes and no window, but what the files say can be asked.

    Returns what `attach_files` does; raises as it does.
    """
    opened = [open_companion(Path(file), limits) for file in files]
    told = read_companions(opened)
    own = sorted(file.sha256 for file in opened)
    sha256 = own[0] if len(own) == 1 else hashlib.sha256("".join(own).encode()).hexdigest()
    run = name or f"{Path(files[0]).name.split('.log')[0]}-{sha256[:8]}"
    created, tool_version = now(), version("tracegraph")
    graph = with_companions(lone_run(run, opened, tool_version), told, created)
    manifest: _Manifest = {
        "run": run,
        "created": created,
        "sources": [
            {"path": file.path, "sha256": file.sha256, "rank": place} for place, file in enumerate(opened)
        ],
        "integrity": [],
        "timings_s": {},
        "tool_version": tool_version,
        "schema_version": SCHEMA_VERSION,
    }
    return graph, manifest, told


def _with_run(told: Told, graph: GraphTables) -> Told:
    """Add the rows that files tell beside the run that they are given with."""
    if told.beside is None:
        return told

    def read(label: str, columns: Sequence[str]) -> pa.Table:
        known = label in list(graph.nodes)
        return graph.read_nodes(label, columns) if known else pa.table({name: [] for name in columns})

    return replace(told, rows={**told.rows, **told.beside(read)}, beside=None)


def now() -> str:
    """Say what time it is, as runs state when they were made."""
    return datetime.now(timezone.utc).isoformat(timespec="microseconds")


def _listed(manifest: Mapping[str, object]) -> Sequence[Mapping[str, Any]]:
    listed = manifest.get(_TOLD, [])
    assert isinstance(listed, list)
    return listed


def _source(file: CompanionFile) -> Mapping[str, object]:
    return {"path": file.path, "sha256": file.sha256, "kinds": [one.name for one in kinds_of(file)]}
