"""A write whose server is not there is tried again for a while, unless the server has ended for certain."""

import socket
import time
from collections.abc import Iterator

import pytest

from tracegraph.base.errors import StoreError
from tracegraph.store import connection
from tracegraph.store.connection import Database
from tracegraph.store.connection_settings import ConnectionSettings
from tracegraph.store.failures import is_cut


@pytest.fixture
def nobody() -> Iterator[Database]:
    """A connection to a port on which nobody listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        settings = ConnectionSettings(f"bolt://127.0.0.1:{taken.getsockname()[1]}", password="none")
        with Database(connection._driver(settings), settings) as database:
            yield database


def _seconds_until_it_fails(database: Database) -> float:
    begun = time.monotonic()
    with pytest.raises(StoreError, match="cannot be reached") as raised:
        database.write_again("CREATE (:Refused)")
    assert is_cut(raised.value)
    return time.monotonic() - begun


def test_a_server_that_has_ended_is_not_waited_for(nobody: Database) -> None:
    nobody.has_ended = lambda: True
    assert _seconds_until_it_fails(nobody) < 1.0


def test_one_that_may_come_back_is(nobody: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "_CONNECT_LIMIT_S", 1.0)
    assert 1.0 <= _seconds_until_it_fails(nobody) < 5.0
