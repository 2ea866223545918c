"""A failure of Neo4j under a low limit of the shell's is told with the limit."""

import resource
from pathlib import Path

import pytest

from tracegraph.base.errors import StoreError
from tracegraph.store.managed.java.java import AdminError
from tracegraph.store.managed.server.failure_causes import explained
from tracegraph.store.managed.server.server import EndedError
from tracegraph.store.workspace import open_workspace

PLENTY = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)


@pytest.mark.parametrize(
    ("files", "memory", "said"),
    [
        (256, PLENTY[1], r"only 256 files may be open at once; raise that: ulimit -n 4096"),
        (PLENTY[1], 3 << 30, r"only 3,072 MiB of addresses; raise that: ulimit -v unlimited"),
        (4096, PLENTY[1], "^it ended$"),
        (PLENTY[1], PLENTY[1], "^it ended$"),
    ],
)
@pytest.mark.parametrize("error", [AdminError("it ended"), EndedError("it ended")])
def test_a_low_limit_is_named(
    files: int, memory: int, said: str, error: StoreError, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits = {resource.RLIMIT_NOFILE: files, resource.RLIMIT_AS: memory}
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (0, limits[kind]))
    with pytest.raises(StoreError, match=said), explained(open_workspace(tmp_path)):
        raise error


def test_what_is_no_failure_of_neo4j_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (0, 256))
    with pytest.raises(StoreError, match="the login"), explained(open_workspace(tmp_path)):
        raise StoreError("the login is refused")
