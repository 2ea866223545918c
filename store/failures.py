"""Translation of the driver's errors into errors that a user can act on."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tracegraph.base.errors import InputError, StoreError

if TYPE_CHECKING:  # the driver is imported when it is used: a command may read traces before
    from neo4j import exceptions

_WRITE_REFUSED = ("Neo.ClientError.Statement.AccessMode", "Neo.ClientError.General.ReadOnly")
_USERS_FAULT = ("Neo.ClientError.Statement.", "Neo.ClientError.Procedure.", "Neo.ClientError.Schema.")
_NO_MEMORY = (
    "Neo.TransientError.General.MemoryPoolOutOfMemoryError",
    "Neo.TransientError.General.TransactionOutOfMemoryError",
)
_TOO_LONG = "Neo.ClientError.Transaction.TransactionTimedOut"
_NO_DATABASE = "Neo.ClientError.Database.DatabaseNotFound"


@contextmanager
def translated(uri: str) -> Iterator[None]:
    """Turn what the driver raises inside the block into InputError or StoreError.

    Raises
    ------
    InputError
        The query or a parameter is wrong.
    StoreError
        The server cannot be reached, refuses the login or failed.
    """
    from neo4j import exceptions  # noqa: PLC0415

    try:
        yield
    except exceptions.Neo4jError as error:
        raise _server_error(error, uri) from error
    except _cut() as error:
        raise StoreError(
            f"the Neo4j server at {uri} cannot be reached: {_line(error)}",
            "check that it runs and the address, or leave --uri out to use the managed server",
        ) from error
    except UnicodeEncodeError as error:
        raise InputError("a name or parameter holds text that is not Unicode", "correct it") from error
    except exceptions.DriverError as error:
        raise StoreError(
            f"the connection to {uri} failed: {_line(error)}", "run the command again"
        ) from error


def is_cut(error: StoreError) -> bool:
    """Tell whether an error of `translated` means that the server was not there or went away."""
    return isinstance(error.__cause__, _cut())


def _cut() -> tuple[type[Exception], ...]:
    from neo4j import exceptions  # noqa: PLC0415

    return exceptions.ServiceUnavailable, exceptions.SessionExpired, OSError


def _server_error(error: "exceptions.Neo4jError", uri: str) -> InputError | StoreError:
    from neo4j import exceptions  # noqa: PLC0415

    code, message = error.code or "", error.message or str(error)
    if isinstance(error, exceptions.AuthError):
        return StoreError(
            f"the Neo4j server at {uri} refuses the login: {_line(message)}",
            "check NEO4J_USERNAME and NEO4J_PASSWORD, or --username and --password",
        )
    if code in _WRITE_REFUSED:
        return InputError(
            "the query writes, and only reading is allowed here",
            "run it with `tracegraph cypher --write` if it should",
        )
    if code.startswith(_USERS_FAULT):
        return InputError(f"the server refuses the query: {message.strip()}", "correct the query")
    if code == _NO_DATABASE:
        return StoreError(
            f"the server at {uri} has no such database: {_line(message)}",
            "check NEO4J_DATABASE or --database",
        )
    return _of_the_server(code, _line(message), uri)


def _of_the_server(code: str, message: str, uri: str) -> StoreError:
    if code in _NO_MEMORY:
        return StoreError(
            f"the server at {uri} has too little memory for the query: {message}",
            "ask about one step, a smaller window or fewer rows",
        )
    if code.startswith(_TOO_LONG):
        return StoreError(
            "the query took longer than it may, and was ended", "ask about less, or give a longer --timeout"
        )
    return StoreError(f"the server at {uri} failed: {message} ({code})", "run the command again")


def _line(error: object) -> str:
    return " ".join(str(error).split())
