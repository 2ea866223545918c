"""The record of which of a home's two databases is served, and whether others wrote into it."""

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from tracegraph.base.errors import StoreError
from tracegraph.store.workspace import sync_folder

if TYPE_CHECKING:  # the driver takes half a second, and whoever begins a server does without it
    from tracegraph.store.connection import Database

# A server never forgets the name of a database it once served: two names take turns.
NAMES = ("neo4j", "rebuilt")
_RECORD = "generation.json"
_DATA = ("databases", "transactions")
"""The folders under the home's data in which each database has one of its own."""


@dataclass(frozen=True)
class Generation:
    """The record of a home's database.

    `bookmark` is that of the last transaction if it was tracegraph's own, or None while one of its loads
    runs or after it was cut off. `changed` says that somebody else wrote before that.
    """

    database: str = NAMES[0]
    bookmark: str | None = None
    changed: bool = False


def current(home: Path) -> Generation:
    """Read the record of a home; the default if there is none.

    Raises
    ------
    StoreError
        The record is damaged.
    """
    path = home / _RECORD
    try:
        known = Generation(**json.loads(path.read_text()))
    except FileNotFoundError:
        return Generation()
    except (OSError, ValueError, TypeError) as error:
        raise _damaged(home) from error
    if known.database not in NAMES:
        raise _damaged(home)
    return known


def is_recorded(home: Path) -> bool:
    """Tell whether a home has a record; a new one has none until its database is complete."""
    return (home / _RECORD).exists()


def commit(home: Path, generation: Generation) -> None:
    """Make `generation` the record of a home in one step that is on disk when this returns.

    Raises
    ------
    StoreError
        The record cannot be written.
    """
    path, fresh = home / _RECORD, home / f"{_RECORD}.new"
    try:
        with fresh.open("w") as file:
            json.dump(asdict(generation), file)
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(path)
        sync_folder(home)
    except OSError as error:
        raise StoreError(
            f"cannot write {path}: {error.strerror or error}", "check the free space there"
        ) from error


def unserved(home: Path) -> str:
    """Return the name that the next rebuild may take."""
    return NAMES[1 - NAMES.index(current(home).database)]


def discard_unserved(home: Path) -> None:
    """Remove what an earlier or a cut off rebuild left; the caller knows that no server serves it."""
    for kind in _DATA:
        shutil.rmtree(home / "data" / kind / unserved(home), ignore_errors=True)


def is_changed(home: Path, database: "Database") -> bool:
    """Tell whether somebody else wrote into the database, so that the kept tables lack something."""
    known = current(home)
    return known.changed or known.bookmark not in (None, database.bookmark())


def may_be_changed(home: Path, database: "Database") -> bool:
    """Tell whether `is_changed` may hold: also while one of tracegraph's loads runs or was cut off."""
    known = current(home)
    return known.changed or known.bookmark != database.bookmark()


@contextmanager
def own_writes(home: Path, database: "Database") -> Iterator[None]:
    """Record that the writes of the block are tracegraph's own; the caller holds the ingest lock."""
    loading = replace(current(home), bookmark=None, changed=is_changed(home, database))
    commit(home, loading)
    yield
    commit(home, replace(loading, bookmark=database.bookmark()))


def _damaged(home: Path) -> StoreError:
    return StoreError(f"{home / _RECORD} is damaged", f"remove the folder {home} and ingest again")
