"""A stored subgraph for notebooks, through py2neo: `pip install py2neo==2021.2.4`.

py2neo is no longer maintained by its authors. It is pinned, and nothing else in tracegraph uses it.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from tracegraph.base.errors import StoreError
from tracegraph.store.connection_settings import ConnectionSettings

if TYPE_CHECKING:
    from py2neo import Subgraph

PY2NEO = "py2neo==2021.2.4"
"""The version that pip installs for the extra `py2neo`."""


def subgraph(
    settings: ConnectionSettings, query: str, parameters: Mapping[str, object] | None = None
) -> "Subgraph":
    """Return the nodes and relationships that a read-only query finds, as one py2neo `Subgraph`.

    An empty result gives an empty subgraph.

    Raises
    ------
    StoreError
        py2neo is not installed.
    """
    try:
        from py2neo import Graph, Subgraph  # noqa: PLC0415 (an extra: most installations lack it)
    except ImportError as error:
        raise StoreError("py2neo is not installed", f"pip install {PY2NEO}") from error
    graph = Graph(settings.uri, auth=(settings.username, settings.password), name=settings.database)
    found = graph.query(query, dict(parameters or {})).to_subgraph()
    return found if found is not None else Subgraph()
