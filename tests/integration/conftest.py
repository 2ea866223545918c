"""One real managed Neo4j for all integration tests; each test stores runs under names of its own."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tracegraph.store.connection import ConnectionSettings, Database
from tracegraph.store.session import open_database
from tracegraph.store.workspace import Workspace, open_workspace


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.integration)


@pytest.fixture(scope="session")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """The workspace of the shared server."""
    return open_workspace(tmp_path_factory.mktemp("workspace"))


@pytest.fixture(scope="session")
def database(workspace: Workspace) -> Iterator[Database]:
    """A connection to the shared managed server, stopped when the tests end."""
    with open_database(workspace, ConnectionSettings()) as connection:
        yield connection
