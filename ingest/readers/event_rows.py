"""Rows of all tables of a database as one table of events, in the same order however they were stored."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from tracegraph.ingest.arrays import Flags, Ints
from tracegraph.ingest.causal.events.events import NONE
from tracegraph.ingest.integrity_findings import Integrity
from tracegraph.ingest.readers.usable_rows import LARGEST_NS, find_unusable
from tracegraph.ingest.text_columns import TextColumn, text_column
from tracegraph.ingest.trace import EVENT_NUMBERS, EVENT_SCHEMA, table_in

_SECOND = 10**9
_OF_ROWS = ("source_index", "start_ns", "end_ns")
_NUMBERS = tuple(name for name in EVENT_NUMBERS if name not in _OF_ROWS)


@dataclass(frozen=True)
class EventRows:
    """Events of one category. Times in ns as written, `NONE` where a cell is empty.

    Attributes
    ----------
    outer, inner
        Process and thread, or device and stream.
    numbers, texts
        Further columns of EVENT_SCHEMA.
    open_end
        Whether a row without an end goes on to the end of the recording.
    """

    category: str
    name: TextColumn
    start: Ints
    end: Ints
    outer: Ints
    inner: Ints
    numbers: dict[str, Ints] = field(default_factory=dict)
    texts: dict[str, TextColumn] = field(default_factory=dict)
    open_end: bool = False

    def __len__(self) -> int:
        return len(self.start)

    def take(self, chosen: Flags | Ints) -> "EventRows":
        """Keep some rows, by flags or positions."""
        return replace(
            self,
            name=self.name.take(chosen),
            **{name: getattr(self, name)[chosen] for name in ("start", "end", "outer", "inner")},
            numbers={name: column[chosen] for name, column in self.numbers.items()},
            texts={name: column.take(chosen) for name, column in self.texts.items()},
        )


def join_texts(parts: Sequence[TextColumn]) -> TextColumn:
    """Append text columns to each other."""
    texts: list[str | None] = []
    codes = []
    for part in parts:
        codes.append(part.codes.astype(np.int64) + len(texts))
        texts += part.values.tolist()
    return text_column(np.concatenate(codes), texts) if codes else text_column(np.empty(0, np.int64), [])


def number_texts(numbers: Ints) -> TextColumn:
    """Make a column of the digits of numbers."""
    distinct, codes = np.unique(numbers, return_inverse=True)
    return text_column(codes.reshape(-1), [str(number) for number in distinct.tolist()])


def copy_rates(start: Ints, end: Ints, size: Ints) -> Ints:
    """Calculate bytes a second, as Kineto states them; `NONE` where size (bytes) or time (ns) is unknown."""
    length = (end - start).astype(np.float64)
    known = (start != NONE) & (end > start) & (size >= 0)
    rates = np.where(known, size * float(_SECOND) / np.where(known, length, 1.0), 0.0)
    known &= rates < np.float64(1 << 62)
    return np.where(known, rates.astype(np.int64), NONE)


def build_events(parts: Sequence[EventRows], integrity: Integrity, first: int = 0) -> pa.Table:
    """Make a table in EVENT_SCHEMA of the usable rows of all parts, by their start; others are counted.

    `first`: the source index of the first row.
    """
    parts = [part for part in parts if len(part)]
    if not parts:
        return EVENT_SCHEMA.empty_table()
    start, end = _times(parts, integrity)
    outer, inner = (np.concatenate([getattr(part, side) for part in parts]) for side in ("outer", "inner"))
    name, is_cut = join_texts([part.name for part in parts]).filled("").cut(integrity.limits.text)
    integrity.add(
        "text_truncated",
        int(is_cut.sum()),
        f"events have a text of over {integrity.limits.text:,} characters, which is cut there",
    )
    integrity.add("name_missing", int(name.among("").sum()), "events have no name and are kept without one")
    category = join_texts([text_column(np.zeros(len(part), np.int64), [part.category]) for part in parts])
    rows = np.flatnonzero(_usable(start, end, inner, integrity))
    place = category, outer, inner, _numbers(parts, "correlation")
    order = rows[_in_time(start, end, name, place, rows)]
    columns: dict[str, pa.Array[Any]] = {
        "source_index": pa.array(np.arange(first, first + len(order))),
        "name": _by_appearance(name.take(order)).arrow(),
        "category": _by_appearance(category.take(order)).arrow(),
        "pid": number_texts(outer[order]).arrow(),
        "tid": number_texts(inner[order]).arrow(),
        "start_ns": pa.array(start[order]),
        "end_ns": pa.array(end[order]),
        **{column: _nullable(parts, column, order) for column in _NUMBERS},
        **{column: _texts(parts, column, order) for column in {key for part in parts for key in part.texts}},
    }
    return table_in(EVENT_SCHEMA, columns)


def _times(parts: Sequence[EventRows], integrity: Integrity) -> tuple[Ints, Ints]:
    """Join the times of all parts, and close what was open when the recording ended."""
    last = max(int(max(part.start.max(), part.end.max())) for part in parts)
    ends, opened = [], 0
    for part in parts:
        left_open = (part.end == NONE) & (part.start != NONE) & part.open_end
        opened += int(left_open.sum())
        ends.append(np.where(left_open, last, part.end))
    message = "ranges of annotations were open when the recording ended: they end there"
    integrity.add("range_not_closed", opened, message)
    return np.concatenate([part.start for part in parts]), np.concatenate(ends)


def _usable(start: Ints, end: Ints, inner: Ints, integrity: Integrity) -> Flags:
    """Flag the rows that can be placed in time, and count the others by reason."""
    has_start, has_end = start != NONE, end != NONE
    begin = np.where(has_start, start, 0).clip(-LARGEST_NS, LARGEST_NS)
    length = np.where(has_start & has_end, end.clip(-LARGEST_NS, LARGEST_NS) - begin, 0)
    keep = np.ones(len(start), dtype=bool)
    for found in find_unusable((begin, has_start), (length, has_end), inner != NONE, keep):
        integrity.add(found.code, int(found.rows.sum()), found.what, found.share)
        keep = keep & ~found.rows
    return keep


def _in_time(
    start: Ints, end: Ints, name: TextColumn, place: tuple[TextColumn, Ints, Ints, Ints], rows: Ints
) -> Ints:
    """Order rows by start, longer ones first; what else they hold decides between simultaneous ones.

    Calls are numbered as they are made: their correlation is the last to decide.
    """
    category, outer, inner, correlation = place
    named = [correlation[rows], _ranked(name)[rows], _ranked(category)[rows]]
    return np.lexsort([*named, inner[rows], outer[rows], -end[rows], start[rows]])


def _by_appearance(column: TextColumn) -> TextColumn:
    """Give codes to texts in the order of their first rows, so that rows alone decide a graph's numbers."""
    codes, kept = pd.factorize(column.codes)
    return text_column(np.asarray(codes, dtype=np.int64), column.values[kept].tolist())


def _ranked(column: TextColumn) -> Ints:
    """Give each row the place of its text among the sorted texts."""
    place = np.empty(len(column.values), dtype=np.int64)
    place[np.argsort(column.values.astype(str), kind="stable")] = np.arange(len(place))
    ranked: Ints = place[column.codes]
    return ranked


def _nullable(parts: Sequence[EventRows], column: str, order: Ints) -> "pa.Array[Any]":
    if not any(column in part.numbers for part in parts):
        return pa.nulls(len(order), pa.int64())
    values = _numbers(parts, column)[order]
    return pa.array(values, mask=values == NONE)


def _numbers(parts: Sequence[EventRows], column: str) -> Ints:
    """Join the numbers of a column, `NONE` where a part has none."""
    return np.concatenate([part.numbers.get(column, np.full(len(part), NONE)) for part in parts])


def _texts(parts: Sequence[EventRows], column: str, order: Ints) -> "pa.Array[Any]":
    absent = [part.texts.get(column, text_column(np.zeros(len(part), np.int64), [None])) for part in parts]
    return join_texts(absent).take(order).arrow()
