"""Processes that share the tests keep those of a file together: later ones build on earlier ones."""

import pytest


def test_a_file_is_one_group(request: pytest.FixtureRequest) -> None:
    if not request.config.getoption("loadgroup", False):
        pytest.skip("one process runs all tests")
    # As xdist reads it: without our hook before its own, or with a pytest too new for it, this is missing.
    assert request.node.nodeid.endswith("@test_groups")
