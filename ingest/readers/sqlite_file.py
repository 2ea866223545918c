"""Tables of an SQLite database that holds a trace: whole columns as arrays, whatever the cells hold."""

import json
import os
import sqlite3
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote
from weakref import WeakKeyDictionary

import numpy as np

from tracegraph.base.errors import InputError
from tracegraph.ingest.arrays import Ints
from tracegraph.ingest.causal.events.events import NONE
from tracegraph.ingest.integrity_findings import Integrity
from tracegraph.ingest.limits import Limits
from tracegraph.ingest.readers.foreign_json import EXPORT, RECORD
from tracegraph.ingest.readers.growing_columns import GrowingTexts
from tracegraph.ingest.readers.source_file import DATABASE, SourceFile
from tracegraph.ingest.text_columns import TextColumn, text_column

_PIECE = 1 << 16
"""Rows that are taken from the database at a time."""
_ODD = NONE + 1
"""Stands for a cell of a column of numbers that holds something else."""
_TABLES = "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name"


@dataclass(frozen=True)
class Rows:
    """Columns of some rows: numbers (`NONE` where the cell is empty or no integer), and texts."""

    count: int
    numbers: dict[str, Ints]
    texts: dict[str, TextColumn]

    def __getitem__(self, column: str) -> Ints:
        return self.numbers[column]


class Database:
    """A database that is open for reading; its tables and columns are known, its rows have no order."""

    def __init__(self, shown: str, connection: sqlite3.Connection, limits: Limits) -> None:
        self.shown, self.limits = shown, limits
        self.odd: Counter[str] = Counter()
        """How many cells of columns of numbers hold something else, by `table.column`."""
        self._connection = connection
        self.columns = {
            name: [row[1] for row in self.ask(f"PRAGMA table_info({quoted(name)})")]
            for (name,) in self.ask(_TABLES)
        }
        """The names of the columns of each table."""

    def has(self, table: str, *columns: str) -> bool:
        """Tell whether there is a table with these columns."""
        return table in self.columns and set(columns) <= set(self.columns[table])

    def ask(self, query: str, values: Sequence[object] = ()) -> list[Any]:
        """Return the rows of a query; InputError if the database is damaged there."""
        return [row for piece in self._pieces(query, values) for row in piece]

    def read(
        self,
        table: str,
        numbers: Sequence[str],
        texts: Sequence[str],
        where: str = "1",
        blobs: Sequence[str] = (),
    ) -> Rows:
        """Read columns of the rows of a table that fulfil a condition in SQL; absent columns are empty.

        Texts are columns of text, and those in `blobs`, of whose bytes they are the hexadecimal digits.

        Raises
        ------
        InputError
            If the database is damaged there, or has more rows than the limits allow.
        """
        texts = (*texts, *blobs)
        chosen = [name for name in (*numbers, *texts) if self.has(table, name)]
        parts: dict[str, list[Ints]] = {name: [] for name in numbers}
        grown = {name: GrowingTexts() for name in texts}
        count = 0
        longest = self.limits.text
        cells = ", ".join(
            _number(name)
            if name in parts
            else _blob_cell(name, longest)
            if name in blobs
            else text_cell(name, longest)
            for name in chosen
        )
        query = f"SELECT {cells} FROM {quoted(table)} WHERE {where}"
        for piece in self._pieces(query) if chosen else ():
            count += len(piece)
            self.limits.check_events(self.shown, count)
            for name, column in zip(chosen, zip(*piece, strict=True), strict=True):
                if name in parts:
                    parts[name].append(np.fromiter(column, np.int64, len(piece)))
                else:
                    grown[name].extend(column)
        for name in {*numbers, *texts}.difference(chosen):
            if name in parts:
                parts[name].append(np.full(count, NONE))
            else:
                grown[name].extend([None] * count)
        found = {name: self._joined(f"{table}.{name}", parts[name]) for name in numbers}
        return Rows(count, found, {name: one.column() for name, one in grown.items()})

    def look_up(self, table: str, columns: tuple[str, str], ids: Ints) -> TextColumn:
        """Find the texts of ids in a table with a number and a text; None where there is no such text."""
        key, text = columns
        distinct, codes = np.unique(ids, return_inverse=True)
        found: dict[int, str] = {}
        if self.has(table, *columns):
            asked = json.dumps(distinct[distinct != NONE].tolist())
            cells = f"{quoted(key)}, {text_cell(text, self.limits.text)}"
            query = (
                f"SELECT {cells} FROM {quoted(table)} WHERE {quoted(key)} IN (SELECT value FROM json_each(?))"
            )
            found = dict(self.ask(query, (asked,)))
        return text_column(codes.reshape(-1), [found.get(one) for one in distinct.tolist()])

    def _joined(self, name: str, parts: list[Ints]) -> Ints:
        """Join the parts of a column, and count its cells that are no integers."""
        column: Ints = np.concatenate(parts) if parts else np.empty(0, np.int64)
        odd = column == _ODD
        self.odd[name] += int(odd.sum())
        return np.where(odd, NONE, column)

    def _pieces(self, query: str, values: Sequence[object] = ()) -> Iterator[list[Any]]:
        try:
            cursor = self._connection.execute(query, values)
            while piece := cursor.fetchmany(_PIECE):
                yield piece
        except (sqlite3.Error, OverflowError, UnicodeDecodeError) as error:
            raise _damaged(self.shown, error) from None


def quoted(name: str) -> str:
    """Quote the name of a table or column for SQL."""
    return '"' + name.replace('"', '""') + '"'


def _number(name: str) -> str:
    cell = quoted(name)
    # Written as a sum: as one literal the smallest integer would be a float.
    return f"CASE typeof({cell}) WHEN 'integer' THEN {cell} WHEN 'null' THEN {_ODD} - 1 ELSE {_ODD} END"


def text_cell(name: str, longest: int) -> str:
    """Return SQL for a text of which little more is read than the limit allows; a NUL does not end it."""
    cell, most = f"CAST({quoted(name)} AS TEXT)", 4 * longest  # bytes of UTF-8
    return f"CASE WHEN length(CAST({cell} AS BLOB)) > {most} THEN substr({cell}, 1, {most}) ELSE {cell} END"


def _blob_cell(name: str, longest: int) -> str:
    """Return SQL for the digits of the first bytes of a cell, null where it is empty."""
    cell = quoted(name)
    return f"CASE WHEN {cell} IS NOT NULL THEN hex(substr(CAST({cell} AS BLOB), 1, {longest})) END"


def _damaged(shown: str, error: Exception) -> InputError:
    # SQLite's own words name a part of the schema. If that is not text, Python 3.10 leaves the words out.
    cause = "" if isinstance(error, UnicodeDecodeError) else str(error)
    cause = cause or "its schema is not text"
    return InputError(f"{shown} is a damaged SQLite database: {cause}", "export or copy it again")


_OPEN: "WeakKeyDictionary[SourceFile, Database]" = WeakKeyDictionary()


def open_database(source: SourceFile) -> Database:
    """Open the database in a file, once, read-only and without a lock; it stays open as long as its source.

    A copy of a packed file loses its name here, so that nothing of it is left however the process ends.

    Raises
    ------
    InputError
        If it is damaged, or if another program still writes to it: what that has not put into the file yet
        would be missing.
    """
    if source not in _OPEN:
        with _connect(source) as connection:
            # Names in traces are anybody's bytes.
            connection.execute("PRAGMA trusted_schema = OFF")
            connection.text_factory = lambda text: text.decode("utf-8", "replace")
            _OPEN[source] = Database(str(source.path), connection, source.limits)
    return _OPEN[source]


@contextmanager
def _connect(source: SourceFile) -> Iterator[sqlite3.Connection]:
    with source.local_file() as path:
        for ending in ("-wal", "-journal"):
            beside = path.with_name(path.name + ending)
            if beside.exists() and os.path.getsize(beside):
                raise InputError(
                    f"{source.path} is not finished: {beside.name} holds changes that are not in it yet",
                    "wait until the export has ended, or close the program that writes to it",
                )
        try:
            address = f"file:{quote(str(path.absolute()))}?mode=ro&immutable=1"
            yield sqlite3.connect(address, uri=True)
        except sqlite3.Error as error:
            raise _damaged(str(source.path), error) from None


def has_tables(source: SourceFile, *some: str) -> bool:
    """Tell whether a file is a database with at least one of these tables."""
    try:
        return not open_database(source).columns.keys().isdisjoint(some)
    except InputError:
        return False  # `refuse_database` says what is wrong with it


def is_database(head: bytes) -> bool:
    """Tell whether content that begins with `head` is a database."""
    return head.startswith(DATABASE)


def refuse_database(source: SourceFile) -> None:
    """Raise InputError if a file is a database: one that no format knows, or that is damaged."""
    if not is_database(source.head):
        return
    names = list(open_database(source).columns)
    shown = ", ".join(f"{name:.40}" for name in names[:4]) + (", …" if len(names) > 4 else "")
    raise InputError(
        f"{source.path} is an SQLite database without the tables of a trace; it has {shown or 'none'}",
        f"of a report of Nsight Systems make one with `{EXPORT} REPORT.nsys-rep`; else {RECORD}",
    )


def state_odd(database: Database, integrity: Integrity) -> None:
    """Record how many cells of columns of numbers hold something else."""
    odd = {name: count for name, count in database.odd.items() if count}
    shown = ", ".join(f"{name} {count:,}" for name, count in list(odd.items())[:4])
    message = f"cells of columns of numbers hold something else, and are read as empty: {shown}"
    integrity.add("cell_not_number", sum(odd.values()), message)
