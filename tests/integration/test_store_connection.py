"""What a connection lets through, refuses and says when it fails; against the real server."""

from dataclasses import replace

import pytest

from tracegraph.store.connection import ConnectionSettings, Database, connect
from tracegraph.store.errors import InputError, StoreError

WRITES = {
    "create": "CREATE (:Refused)",
    "merge": "MERGE (:Refused)",
    "delete": "MATCH (n) DETACH DELETE n",
    "set": "MATCH (n) SET n.refused = 1",
    "remove": "MATCH (n) REMOVE n:Run",
    "index": "CREATE INDEX refused FOR (n:Refused) ON (n.name)",
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


@pytest.mark.parametrize("kind", WRITES)
def test_read_refuses(kind: str, database: Database) -> None:
    with pytest.raises((InputError, StoreError)):
        database.read(WRITES[kind])
    assert database.read("MATCH (n:Refused) RETURN count(n) AS n")["n"].tolist() == [0]


@pytest.mark.parametrize("address", ADDRESSES)
@pytest.mark.parametrize("access", ["read", "write"])
def test_load_csv_is_refused(access: str, address: str, database: Database) -> None:
    run = database.read if access == "read" else database.write
    with pytest.raises(InputError, match=r"Cannot load from URL|Invalid URL|blocked|not supported"):
        run("LOAD CSV FROM $address AS line RETURN line", {"address": address})


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


def test_the_password_is_not_shown(database: Database) -> None:
    assert database.settings.password
    assert database.settings.password not in repr(database.settings)
