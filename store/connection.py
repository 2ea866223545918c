"""A connection to Neo4j: queries in, tables out. Every other module reaches the database through it."""

import logging
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Any

import pandas as pd

from tracegraph.base.errors import InputError, StoreError
from tracegraph.store.connection_settings import ConnectionSettings
from tracegraph.store.failures import translated

if TYPE_CHECKING:  # the driver is imported when it is used: a command may read traces before
    import neo4j

_READ, _WRITE = "READ", "WRITE"
"""What the driver calls the kinds of access."""
_FETCH_ROWS = 20_000
"""Rows that the driver fetches at once."""
_OLDEST_MAJOR = 5
"""The oldest major version of Neo4j that is accepted."""
_CONNECT_LIMIT_S = 15.0
"""How long to try to connect, and to try again what a cut connection ended."""
_AGAIN_S = 0.2
"""The pause before a write that failed is tried again."""
_COUNTERS = (
    *("nodes_created", "nodes_deleted", "relationships_created", "relationships_deleted"),
    *("properties_set", "labels_added", "labels_removed", "indexes_added", "indexes_removed"),
    *("constraints_added", "constraints_removed"),
)

# The driver logs each failure besides raising it: without logging of their own, users would see it twice.
logging.getLogger("neo4j").addHandler(logging.NullHandler())

Parameters = Mapping[str, object] | None
Heard = Callable[[Mapping[str, Any]], None] | None
"""Called with each notification of the server about a query: its `title`, `description` and `severity`."""


class Database:
    """An open connection to one database of a Neo4j server."""

    def __init__(self, driver: "neo4j.Driver", settings: ConnectionSettings) -> None:
        self.driver = driver
        self.settings = settings
        self.given_up = False
        self.has_ended: Callable[[], bool] = lambda: False
        """Whether the server's process is gone for certain: then nothing that failed is tried again."""
        self.limit_s: float | None = None
        """Seconds after which the server ends a query that `read` asks; None: no limit."""

    def read(self, query: str, parameters: Parameters = None, heard: Heard = None) -> pd.DataFrame:
        """Run a query in a session that refuses every write.

        Parameters
        ----------
        query
            One Cypher query.
        parameters
            Its parameters by name.
        heard
            Hears what the server remarks about the query; without it the server is not asked to.

        Returns
        -------
        pd.DataFrame
            Its columns in the query's order, also if there are no rows. Whole numbers stay exact: they are
            int64, or nullable Int64 if some are null.

        Raises
        ------
        InputError
            The query is wrong or writes.
        StoreError
            The server cannot be reached or failed.
        """
        return self._run(query, parameters, _READ, heard)

    def write(self, query: str, parameters: Parameters = None) -> pd.DataFrame:
        """Run a query that may write, in a transaction of its own or in those that it opens itself."""
        return self._run(query, parameters, _WRITE)

    def change(
        self, query: str, parameters: Parameters = None, heard: Heard = None
    ) -> tuple[pd.DataFrame, dict[str, int]]:
        """Run a query as `write` does, and count its changes by name, as `nodes_created`, without zeros."""
        with translated(self._uri), self.session(_WRITE, remarks=heard is not None) as session:
            result = session.run(query, dict(parameters or {}))
            rows = _frame(list(result.keys()), result.values())
            summary = result.consume()
        _let_hear(summary, heard)
        counters = vars(summary.counters)
        changed = {name: counters.get(name, 0) for name in _COUNTERS}
        return rows, {name: count for name, count in changed.items() if count}

    def write_together(self, queries: Iterable[str]) -> None:
        """Run several queries that return no rows in one transaction."""
        self.write_all((query, None) for query in queries)

    def write_all(self, queries: Iterable[tuple[str, Parameters]]) -> None:
        """Do the same with queries that have parameters."""
        with translated(self._uri), self.session() as session, session.begin_transaction() as transaction:
            for query, parameters in queries:
                transaction.run(query, dict(parameters or {})).consume()
            transaction.commit()

    def explain(self, query: str, parameters: Parameters = None) -> dict[str, object]:
        """Return the plan of a query without running it.

        Each level of the plan has `operatorType`, `args`, `identifiers` and `children`.
        """
        with translated(self._uri), self.session(_READ) as session:
            plan = session.run("EXPLAIN " + query, dict(parameters or {})).consume().plan
        return dict(plan or {})

    @contextmanager
    def session(self, access: str = _WRITE, *, remarks: bool = False) -> "Iterator[neo4j.Session]":
        """Open a driver session on the chosen database, for uses whose result is not a table.

        With `remarks` the server notifies about queries that are valid, but hardly meant.
        """
        import neo4j  # noqa: PLC0415

        severity = neo4j.NotificationMinimumSeverity
        session = self.driver.session(
            database=self.settings.database,
            default_access_mode=access,
            fetch_size=_FETCH_ROWS,
            notifications_min_severity=severity.INFORMATION if remarks else severity.OFF,
        )
        try:
            yield session
        except KeyboardInterrupt:
            self.give_up()
            raise
        finally:
            if not self.given_up:
                session.close()

    def bookmark(self) -> str:
        """Return the name of the last transaction in the database, by whomever; comparable, else opaque."""
        with translated(self._uri), self.session(_READ) as session:
            session.run("RETURN 1").consume()
            return " ".join(sorted(session.last_bookmarks().raw_values))

    def write_again(self, query: str, parameters: Parameters = None) -> list[list[object]]:
        """Return the rows of a query that writes; repeat it for some seconds if the connection is cut.

        What is repeated was rolled back before. The call does not wait for a server that has ended.

        Raises
        ------
        StoreError
            The server cannot be reached or failed, or `give_up` was called.
        """
        from neo4j import exceptions  # noqa: PLC0415

        limit = time.monotonic() + _CONNECT_LIMIT_S
        with translated(self._uri):
            while True:
                if self.given_up:
                    raise StoreError("the load was interrupted", "run the command again")
                try:
                    return self._write_once(query, parameters)
                except (exceptions.DriverError, exceptions.Neo4jError) as error:
                    if not error.is_retryable() or time.monotonic() > limit or self.has_ended():
                        raise
                time.sleep(_AGAIN_S)

    def _write_once(self, query: str, parameters: Parameters) -> list[list[object]]:
        with self.session() as session, session.begin_transaction() as transaction:
            rows = transaction.run(query, dict(parameters or {})).values()
            transaction.commit()
            return rows

    def give_up(self) -> None:
        """Cut all connections, whatever runs over them: the server undoes it, and nobody waits for that."""
        self.given_up = True
        self.driver.close()

    def close(self) -> None:
        """Close the connection."""
        self.driver.close()

    def __enter__(self) -> "Database":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def _uri(self) -> str:
        return str(self.settings.uri)

    def _run(self, query: str, parameters: Parameters, access: str, heard: Heard = None) -> pd.DataFrame:
        import neo4j  # noqa: PLC0415

        with translated(self._uri), self.session(access, remarks=heard is not None) as session:
            limit_s = self.limit_s if access == _READ else None
            result = session.run(neo4j.Query(query, timeout=limit_s), dict(parameters or {}))
            rows = _frame(list(result.keys()), result.values())
            if heard is None:
                return rows
            summary = result.consume()
        _let_hear(summary, heard)
        return rows


def _let_hear(summary: "neo4j.ResultSummary", heard: Heard) -> None:
    if heard is None:
        return
    with warnings.catch_warnings():
        # Version 6 of the driver deprecates them for status objects, which version 5 calls a preview.
        warnings.simplefilter("ignore")
        notifications = summary.notifications or ()
    for notification in notifications:
        heard(notification)


def connect(settings: ConnectionSettings) -> Database:
    """Connect to the server that the settings name and check that it answers.

    Raises
    ------
    InputError
        The address is not one of a Neo4j server.
    StoreError
        There is no server, it refuses the login, lacks the database, or is older than Neo4j 5.
    """
    uri = str(settings.uri)
    driver = _driver(settings)
    try:
        with translated(uri):
            agent = driver.get_server_info().agent
            if _major(agent) < _OLDEST_MAJOR:
                raise StoreError(
                    f"the server at {uri} is {agent}; tracegraph needs Neo4j {_OLDEST_MAJOR} or newer",
                    "give --uri of another one, or leave it out to use the managed server",
                )
            with driver.session(database=settings.database) as session:
                session.run("RETURN 1").consume()
    except BaseException:
        driver.close()
        raise
    return Database(driver, settings)


def _driver(settings: ConnectionSettings) -> "neo4j.Driver":
    import neo4j  # noqa: PLC0415
    from neo4j import exceptions  # noqa: PLC0415

    try:
        return neo4j.GraphDatabase.driver(
            str(settings.uri),
            auth=(settings.username, settings.password),
            connection_timeout=_CONNECT_LIMIT_S,
            connection_acquisition_timeout=_CONNECT_LIMIT_S,  # a program that listens but never answers
            max_transaction_retry_time=_CONNECT_LIMIT_S,
            notifications_min_severity=neo4j.NotificationMinimumSeverity.OFF,
            warn_notification_severity=neo4j.NotificationMinimumSeverity.OFF,
        )
    except (exceptions.ConfigurationError, ValueError) as error:
        raise InputError(
            f"{settings.uri!r} is not the address of a Neo4j server: {str(error).split('. ', 1)[0]}",
            "give one like bolt://localhost:7687",
        ) from error


def answers(settings: ConnectionSettings) -> bool:
    """Tell whether the server takes queries yet; a refused login is raised as StoreError."""
    from neo4j import exceptions  # noqa: PLC0415

    try:
        connect(settings).close()
    except StoreError as error:
        if isinstance(error.__cause__, exceptions.AuthError):
            raise
        return False
    return True


def why_closed(settings: ConnectionSettings) -> str:
    """Return what the server says of a database that it failed to open; "" if it may still open it."""
    from neo4j import exceptions  # noqa: PLC0415

    query = "SHOW DATABASE $name YIELD statusMessage"
    try:
        with _driver(settings) as driver, driver.session(database="system") as session:
            return " ".join(session.run(query, name=settings.database).value())
    except (exceptions.DriverError, exceptions.Neo4jError, OSError):
        return ""


def _major(agent: str) -> int:
    number = agent.rpartition("/")[2].lstrip("v").split(".", 1)[0]
    return int(number) if number.isdecimal() else 0


def _frame(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> pd.DataFrame:
    frame = pd.DataFrame(rows, columns=list(columns), dtype=object)
    for name in columns:
        kinds = set(map(type, frame[name]))
        # pandas makes floats of whole numbers beside nulls, which rounds nanoseconds.
        if kinds == {int, type(None)}:
            frame[name] = frame[name].astype("Int64")
        elif kinds == {bool, type(None)}:
            frame[name] = frame[name].astype("boolean")
        elif kinds == {float, type(None)}:
            frame[name] = frame[name].astype("float64")
        else:
            frame[name] = frame[name].infer_objects()
    return frame
