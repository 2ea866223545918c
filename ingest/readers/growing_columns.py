"""Columns that grow batch by batch."""

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tracegraph.ingest.arrays import Flags, Ints
from tracegraph.ingest.text_columns import TextColumn

_DIGITS = re.compile(r"-?\d{1,18}", re.ASCII)
_INT64 = range(-(2**63), 2**63)


class _Codes(dict[object, int]):
    """Gives each new value the next code."""

    def __missing__(self, value: object) -> int:
        code = self[value] = len(self)
        return code


class GrowingTexts:
    """Keeps each distinct value once; numbers and None become text: 7 and "7" are the same value."""

    def __init__(self) -> None:
        self._codes = _Codes()
        self._parts: list[npt.NDArray[np.int32]] = []

    def extend(self, values: Sequence[object]) -> None:
        """Append values: text, numbers or None."""
        self._parts.append(self._encoded(values))

    def extend_sparse(self, length: int, groups: Iterable[tuple[Ints, Sequence[object]]]) -> None:
        """Append `length` rows; each group gives (rows, values), and all other rows are absent."""
        part = np.full(length, self._codes[None], dtype=np.int32)
        for rows, values in groups:
            part[rows] = self._encoded(values)
        self._parts.append(part)

    def last_among(self, chosen: Callable[[Any], bool]) -> Ints:
        """Find the rows of the last part whose values are chosen."""
        flags = np.array([chosen(value) for value in self._codes], dtype=bool)
        return np.flatnonzero(flags[self._parts[-1]])

    def append(self, other: "GrowingTexts") -> None:
        """Append the rows of another column."""
        codes = self._encoded(list(other._codes))
        self._parts += [codes[part] for part in other._parts]

    def _encoded(self, values: Sequence[object]) -> npt.NDArray[np.int32]:
        return np.fromiter(map(self._codes.__getitem__, values), np.int32, len(values))

    def column(self) -> TextColumn:
        """Build the column of all rows so far."""
        distinct: dict[str | None, int] = {}
        codes = np.array(
            [
                distinct.setdefault(None if value is None else str(value), len(distinct))
                for value in self._codes
            ],
            dtype=np.int32,
        )
        rows = np.concatenate(self._parts) if self._parts else np.empty(0, np.int32)
        return TextColumn(codes[rows], np.array(list(distinct), dtype=object))


class GrowingNumbers:
    """An int64 column in which only some rows have a value."""

    def __init__(self) -> None:
        self._rows: list[Ints] = []
        self._values: list[Ints] = []

    def extend(self, rows: Ints, values: Sequence[object]) -> None:
        """Set `values` at `rows`; a value that is not an integer of 64 bits is left null."""
        try:
            array = pa.array(values, pa.int64())
        except (pa.ArrowException, TypeError, OverflowError):
            array = pa.array([_integer(value) for value in values], pa.int64())
        known = array.is_valid().to_numpy(zero_copy_only=False)
        self._rows.append(rows[known])
        self._values.append(array.drop_null().to_numpy())

    def append(self, other: "GrowingNumbers", first: int) -> None:
        """Set the values of another column, whose rows are counted from `first`."""
        self._rows += [rows + first for rows in other._rows]
        self._values += other._values

    def dense(self, length: int) -> tuple[Ints, Flags]:
        """Return the values (0 for rows without one), and flag the rows that have one."""
        values = np.zeros(length, np.int64)
        known = np.zeros(length, np.bool_)
        for rows, part in zip(self._rows, self._values, strict=True):
            values[rows] = part
            known[rows] = True
        return values, known


def _integer(value: object) -> int | None:
    """Convert a value, or digits in quotes, to an integer of 64 bits; None if it is not one."""
    if isinstance(value, str) and _DIGITS.fullmatch(value):
        return int(value)
    return value if isinstance(value, int) and value in _INT64 else None
