"""What a connection lets through, refuses and says when it fails; against the real server."""

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace

import pytest

from tracegraph.base.errors import InputError, StoreError
from tracegraph.store import connection
from tracegraph.store.connection import Database, connect
from tracegraph.store.connection_settings import ConnectionSettings
from tracegraph.store.read_only import check_reads

WRITES = {
    "create": "CREATE (:Refused)",
    "merge": "MERGE (:Refused)",
    "delete": "MATCH (n:Kept) DETACH DELETE n",
    "set": "MATCH (n:Kept) SET n.refused = 1",
    "label": "MATCH (n:Kept) SET n:Refused",
    "remove": "MATCH (n:Kept) REMOVE n.name",
    "index": "CREATE INDEX refused FOR (n:Refused) ON (n.name)",
    "drop": "DROP INDEX kept",
    "constraint": "CREATE CONSTRAINT refused FOR (n:Refused) REQUIRE n.name IS UNIQUE",
    "procedure": "CALL db.createLabel('Refused')",
    "transactions": "UNWIND [1] AS x CALL (x) { CREATE (:Refused) } IN TRANSACTIONS",
    "user": "CREATE USER refused SET PASSWORD 'long-enough'",
}
ADDRESSES = [
    "file:///etc/hostname",
    "http://127.0.0.1:9/x.csv",
    "https://127.0.0.1:9/x.csv",
    "ftp://127.0.0.1:9/x.csv",
]


@pytest.fixture(scope="module")
def kept(database: Database) -> Iterator[None]:
    """A node and an index that writes may try to change."""
    database.write("CREATE INDEX kept FOR (n:Kept) ON (n.name)")
    database.write("CREATE (:Kept {run: 'kept', name: 'as it was'})")
    yield
    database.write("MATCH (n:Kept) DELETE n")
    database.write("DROP INDEX kept")


@pytest.mark.usefixtures("kept")
@pytest.mark.parametrize("kind", WRITES)
def test_read_refuses(kind: str, database: Database) -> None:
    with pytest.raises((InputError, StoreError)):
        database.read(WRITES[kind])
    assert database.read("MATCH (n:Refused) RETURN n").empty
    kept = database.read("MATCH (n:Kept) RETURN labels(n) AS labels, properties(n) AS properties")
    assert kept.to_dict("records") == [
        {"labels": ["Kept"], "properties": {"run": "kept", "name": "as it was"}}
    ]
    assert {"refused", "kept"} & set(database.read("SHOW INDEXES YIELD name")["name"]) == {"kept"}
    assert "Refused" not in database.read("CALL db.labels() YIELD label")["label"].tolist()


@pytest.mark.parametrize("address", ADDRESSES)
@pytest.mark.parametrize("access", ["read", "write"])
def test_load_csv_is_refused(access: str, address: str, database: Database) -> None:
    run = database.read if access == "read" else database.write
    with pytest.raises(InputError, match=r"Cannot load from URL|Invalid URL|blocked|not supported"):
        run("LOAD CSV FROM $address AS line RETURN line", {"address": address})


MORE_THAN_READING = {
    "TERMINATE TRANSACTION 'neo4j-transaction-1'": "TERMINATE",
    "SHOW TRANSACTIONS YIELD transactionId AS t TERMINATE TRANSACTIONS t YIELD message": "TERMINATE",
    "CALL dbms.killConnection('bolt-1')": "dbms.killConnection",
    "CALL db.clearQueryCaches()": "db.clearQueryCaches",
    "CALL `db`.`resampleOutdatedIndexes`()": "db.resampleOutdatedIndexes",
    "/* CALL */ cAlL\ndb . prepareForReplanning()": "db.prepareForReplanning",
    "MATCH (n) CALL dbms.queryJmx('*:*') YIELD name RETURN name": "dbms.queryJmx",
    "CALL () { CALL dbms.listConfig() YIELD name RETURN name } RETURN name": "dbms.listConfig",
    "PROFILE CALL db.stats.collect('QUERIES')": "db.stats.collect",
    "CYPHER runtime=slotted /* PROFILE */ PROFILE CALL db.stats.clear('QUERIES')": "db.stats.clear",
    "SHOW SETTINGS": "SHOW SETTINGS",
    "SHOW USERS": "administration",
}
READING = [
    "CALL db.labels() YIELD label RETURN label",
    "CALL db.schema.visualization()",
    "PROFILE MATCH (n) RETURN count(n) AS nodes",
    "EXPLAIN CALL db.labels()",
    "SHOW INDEXES",
    "UNWIND [1, 2] AS x CALL (x) { RETURN x + 1 AS y } RETURN 'CALL db.clearQueryCaches()' AS text, y",
]


@pytest.mark.parametrize("query", MORE_THAN_READING)
def test_what_does_more_than_read_is_refused_before_it_runs(query: str, database: Database) -> None:
    with pytest.raises(InputError, match=MORE_THAN_READING[query]):
        check_reads(database, query, {})


@pytest.mark.parametrize("query", READING)
def test_what_reads_is_let_through(query: str, database: Database) -> None:
    check_reads(database, query, {})
    database.read(query)


def test_a_query_ends_at_its_limit_of_time(database: Database) -> None:
    begun = time.monotonic()
    database.limit_s = 0.5
    try:
        with pytest.raises(StoreError, match="took longer than it may") as raised:
            database.read("UNWIND range(1, 100000000000) AS i RETURN sum(i) AS sum")
    finally:
        database.limit_s = None
    assert "--timeout" in str(raised.value.hint)
    assert time.monotonic() - begun < 15


def test_columns_keep_their_order_without_rows(database: Database) -> None:
    frame = database.read("UNWIND [] AS x RETURN x AS z, 1 AS a, 'text' AS m")
    assert (list(frame.columns), len(frame)) == (["z", "a", "m"], 0)


def test_nanoseconds_beside_nulls_stay_exact(database: Database) -> None:
    frame = database.read("UNWIND [1720000000000000001, null] AS t RETURN t")
    assert frame["t"].tolist()[0] == 1720000000000000001
    assert str(frame["t"].dtype) == "Int64"


@pytest.mark.parametrize(
    ("query", "words"),
    [("RETRUN 1", "RETRUN"), ("RETURN $missing", "missing"), ("RETURN 1 / 0 AS x", "by zero")],
)
def test_a_wrong_query_is_the_users(query: str, words: str, database: Database) -> None:
    with pytest.raises(InputError, match=words):
        database.read(query)


def test_a_query_that_needs_too_much_memory_is_told(database: Database) -> None:
    many = "UNWIND range(1, 20000) AS one WITH collect({one: one}) AS many UNWIND range(0, 19999) AS at"
    with pytest.raises(StoreError, match="too little memory for the query") as raised:
        database.read(f"{many} WITH many[at].one AS one ORDER BY one DESC LIMIT 20000 RETURN sum(one) AS sum")
    assert "smaller window" in str(raised.value.hint)


def test_explain_runs_nothing(database: Database) -> None:
    plan = database.explain("CREATE (:Refused {name: $name})", {"name": "x"})
    assert "operatorType" in plan
    assert database.read("MATCH (n:Refused) RETURN n").empty


def test_a_wrong_password_is_refused(database: Database) -> None:
    with pytest.raises(StoreError, match="refuses the login"):
        connect(replace(database.settings, password="wrong-password"))


def test_an_unknown_database_is_named(database: Database) -> None:
    with pytest.raises(StoreError, match="absent"):
        connect(replace(database.settings, database="absent"))


@pytest.mark.parametrize(
    ("uri", "kind", "words"),
    [
        ("bolt://127.0.0.1:9", StoreError, "cannot be reached"),
        ("bolt://no-such-host.invalid:7687", StoreError, "cannot be reached"),
        ("gopher://localhost", InputError, "not the address"),
        ("localhost:7687", InputError, "not the address"),
    ],
)
def test_a_wrong_address_is_named(uri: str, kind: type[Exception], words: str) -> None:
    with pytest.raises(kind, match=words):
        connect(ConnectionSettings(uri, "neo4j", "secret-secret"))


@pytest.mark.parametrize("answer", [None, b"HTTP/1.1 400 Bad Request\r\n\r\n"])
def test_a_port_of_another_program_is_named(answer: bytes | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "_CONNECT_LIMIT_S", 1.0)
    with closing(socket.create_server(("127.0.0.1", 0))) as listener:
        if answer is not None:
            threading.Thread(target=_answer, args=(listener, answer), daemon=True).start()
        uri = f"bolt://127.0.0.1:{listener.getsockname()[1]}"
        with pytest.raises(StoreError, match=f"{uri} cannot be reached"):
            connect(ConnectionSettings(uri, "neo4j", "secret"))


def _answer(listener: socket.socket, words: bytes) -> None:
    while True:
        try:
            peer, _ = listener.accept()
        except OSError:
            return
        with peer:
            peer.recv(100)
            peer.sendall(words)


def test_the_password_is_not_shown(database: Database) -> None:
    assert database.settings.password
    assert database.settings.password not in repr(database.settings)
