"""Workspaces that the crash tests copy, what must be in them, and how many crashes are tried."""

import pytest
from crash_check import Truth
from crash_ways import Prepared


@pytest.fixture(scope="session")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    """Workspaces to copy."""
    return Prepared(tmp_path_factory.mktemp("prepared"))


@pytest.fixture(scope="session")
def truth(prepared: Prepared, tmp_path_factory: pytest.TempPathFactory) -> Truth:
    """What the runs in them are."""
    return Truth(prepared, tmp_path_factory.mktemp("truth") / "workspace")
