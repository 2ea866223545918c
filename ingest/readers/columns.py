"""Columns that grow batch by batch and become Arrow arrays."""

import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
_NUMBER = re.compile(r"(?:stream )?(-?\d{1,18})", re.ASCII)
_DIGITS = re.compile(r"-?\d{1,18}", re.ASCII)
_INT64 = range(-(2**63), 2**63)


class _Codes(dict[object, int]):
    """Gives each new value the next code."""

    def __missing__(self, value: object) -> int:
        code = self[value] = len(self)
        return code


class TextColumn:
    """Values kept once each; numbers and None become text: 7 and "7" are the same value."""

    def __init__(self) -> None:
        self._codes = _Codes()
        self._parts: list[npt.NDArray[np.int32]] = []

    def extend(self, values: Sequence[object]) -> None:
        """Append values: text, numbers or None."""
        self._parts.append(self._encoded(values))

    def extend_sparse(self, length: int, groups: Iterable[tuple[Ints, Sequence[object]]]) -> None:
        """Append `length` rows; each group gives (rows, values), the rest is absent."""
        part = np.full(length, self._codes[None], dtype=np.int32)
        for rows, values in groups:
            part[rows] = self._encoded(values)
        self._parts.append(part)

    def _encoded(self, values: Sequence[object]) -> npt.NDArray[np.int32]:
        return np.fromiter(map(self._codes.__getitem__, values), np.int32, len(values))

    def texts(self) -> "Texts":
        """The column as it stands."""
        distinct: dict[str | None, int] = {}
        codes = np.array(
            [
                distinct.setdefault(None if value is None else str(value), len(distinct))
                for value in self._codes
            ],
            dtype=np.int32,
        )
        rows = np.concatenate(self._parts) if self._parts else np.empty(0, np.int32)
        return Texts(codes[rows], list(distinct))


class Texts:
    """Text rows as codes into the distinct texts."""

    def __init__(self, codes: npt.NDArray[np.int32], distinct: list[str | None]) -> None:
        self.codes = codes
        self.distinct = distinct

    def among(self, texts: Iterable[str | None]) -> Flags:
        """Which rows hold one of `texts`."""
        wanted = set(texts)
        flags: Flags = np.array([text in wanted for text in self.distinct], dtype=bool)[self.codes]
        return flags

    def renamed(self, names: dict[str, str]) -> "Texts":
        """The rows with each text in `names` replaced."""
        distinct: dict[str | None, int] = {}
        codes = [
            distinct.setdefault(None if text is None else names.get(text, text), len(distinct))
            for text in self.distinct
        ]
        return Texts(np.array(codes, dtype=np.int32)[self.codes], list(distinct))

    def filled(self, text: str) -> "Texts":
        """The rows with `text` where there is none."""
        distinct = {known: k for k, known in enumerate(self.distinct)}
        if None not in distinct:
            return self
        absent = distinct[None]
        if text not in distinct:
            return Texts(self.codes, [text if known is None else known for known in self.distinct])
        return Texts(np.where(self.codes == absent, np.int32(distinct[text]), self.codes), self.distinct)

    def cut(self, length: int) -> tuple["Texts", Flags]:
        """The rows with no text longer than `length` characters, and which were cut."""
        long = np.array([text is not None and len(text) > length for text in self.distinct], dtype=bool)
        if not long.any():
            return self, np.zeros(len(self.codes), dtype=bool)
        cuts = {text: text[:length] for text in self.distinct if text is not None and len(text) > length}
        return self.renamed(cuts), long[self.codes]

    def numbers(self) -> tuple[Ints, Flags]:
        """Rows read as numbers (`7`, `stream 7`), and which can be."""
        found = [_NUMBER.fullmatch(text or "") for text in self.distinct]
        values = np.array([int(match[1]) if match else 0 for match in found], dtype=np.int64)
        known = np.array([match is not None for match in found], dtype=bool)
        return values[self.codes], known[self.codes]

    def take(self, rows: Ints) -> "pa.DictionaryArray[Any, Any]":
        """Arrow column of `rows`; the dictionary holds the texts in use, in order of their first code."""
        codes = self.codes[rows]
        used = np.bincount(codes, minlength=len(self.distinct)) > 0
        absent = np.array([text is None for text in self.distinct], dtype=bool)
        moved = (np.cumsum(used & ~absent) - 1).astype(np.int32)
        indices = pa.array(moved[codes], mask=absent[codes] if absent.any() else None)
        kept = [
            text for text, is_used in zip(self.distinct, used, strict=True) if is_used and text is not None
        ]
        return pa.DictionaryArray.from_arrays(indices, pa.array(kept, pa.string()))


class SparseColumn:
    """int64 column in which only some rows have a value."""

    def __init__(self) -> None:
        self._rows: list[Ints] = []
        self._values: list[Ints] = []

    def extend(self, rows: Ints, values: Sequence[object]) -> None:
        """Set `values` at `rows`; what is no integer of 64 bits is left null."""
        try:
            array = pa.array(values, pa.int64())
        except (pa.ArrowException, TypeError, OverflowError):
            array = pa.array([_integer(value) for value in values], pa.int64())
        known = array.is_valid().to_numpy(zero_copy_only=False)
        self._rows.append(rows[known])
        self._values.append(array.drop_null().to_numpy())

    def dense(self, length: int) -> tuple[Ints, Flags]:
        """Values (0 where there is none) and which rows have one."""
        values = np.zeros(length, np.int64)
        known = np.zeros(length, np.bool_)
        for rows, part in zip(self._rows, self._values, strict=True):
            values[rows] = part
            known[rows] = True
        return values, known


def _integer(value: object) -> int | None:
    """The value as an integer of 64 bits, digits in quotes included; None if it is none."""
    if isinstance(value, str) and _DIGITS.fullmatch(value):
        return int(value)
    return value if isinstance(value, int) and value in _INT64 else None
