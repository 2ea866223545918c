"""The py2neo adapter hands out what a query returns."""

import pytest

from tracegraph.queries.notebook import subgraph
from tracegraph.store.connection import Database
from tracegraph.store.managed.server import server
from tracegraph.store.workspace import Workspace

pytest.importorskip("py2neo", reason="the py2neo extra is not installed")


def test_a_subgraph_has_the_nodes_and_relationships_of_the_query(
    database: Database, workspace: Workspace
) -> None:
    database.write("CREATE (:Trace {run: 'notebook'})<-[:OF_TRACE]-(:Lane {run: 'notebook', lane: 0})")
    state = server.running(workspace)
    assert state is not None
    settings = server.settings_of(workspace, state)
    query = "MATCH (n:Lane {run: $run})-[r:OF_TRACE]->(t) RETURN t, r, n"
    found = subgraph(settings, query, {"run": "notebook"})
    assert sorted(str(label) for label in found.labels()) == ["Lane", "Trace"]
    assert [set(found.types()), len(found.relationships)] == [{"OF_TRACE"}, 1]
    assert len(subgraph(settings, query, {"run": "none"}).nodes) == 0
