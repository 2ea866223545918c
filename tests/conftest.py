"""Fixtures that all tests share."""

from collections.abc import Callable
from pathlib import Path

import pytest

SHARED_TRACES = Path(__file__).parents[1].parent / "shared" / "traces"


@pytest.fixture(scope="session")
def shared_trace() -> Callable[[str], Path]:
    """Path of a real trace by its name below shared/traces; the test is skipped where it is absent."""

    def find(name: str) -> Path:
        path = SHARED_TRACES / name
        if not path.exists():
            pytest.skip(f"real trace {name} is not here: {SHARED_TRACES} has none")
        return path

    return find
