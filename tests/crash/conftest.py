"""Workspaces that the crash tests copy, what must be in them, and how many crashes are tried."""

from pathlib import Path

import pytest
from crash_check import Truth
from crash_ways import Prepared


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.integration)
            item.add_marker(pytest.mark.exhaustive)


@pytest.fixture(scope="session")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    """Workspaces to copy."""
    return Prepared(tmp_path_factory.mktemp("prepared"))


@pytest.fixture(scope="session")
def truth(prepared: Prepared, tmp_path_factory: pytest.TempPathFactory) -> Truth:
    """What the runs in them are."""
    return Truth.of(prepared, tmp_path_factory.mktemp("truth") / "workspace")
