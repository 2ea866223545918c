"""Which traces are added to the managed server, so that it can start before they are read."""

from collections.abc import Sequence
from pathlib import Path

from tracegraph.ingest.limits import PACKED
from tracegraph.ingest.sources.source import Source
from tracegraph.store.managed.rebuild.estimate import Load
from tracegraph.store.workspace import Workspace

_SMALL_BYTES = 1_000_000
"""A packed trace of this size has some 40,000 events: a smaller first run is added, a larger one imported."""
_PACKING = 10
"""By which factor packing makes a trace smaller."""


def needs_server(workspace: Workspace, sources: Sequence[Source], load: Load | None = None) -> bool:
    """Tell whether a run of files is added to the managed server, as far as their sizes tell.

    A first large run is imported instead, and one with a URL among its sources may be.
    """
    paths = [Path(source.given) for source in sources if not source.is_remote]
    sizes = [_packed_bytes(path) for path in paths if path.is_file()]
    if len(sizes) < len(sources):
        return False
    imported = load == "bulk" or (load is None and sum(sizes) > _SMALL_BYTES)
    return workspace.has_database() or not imported


def _packed_bytes(trace: Path) -> float:
    return trace.stat().st_size / (1 if trace.suffix == PACKED else _PACKING)
