"""Text columns as codes into their distinct texts: comparing and grouping never touch rows' texts."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa

from tracegraph.ingest.arrays import Flags, Ints, Texts
from tracegraph.vocabulary.categories import Role, has_role

_FEW = 8
"""Texts that are faster compared one after the other than looked up row by row."""
Codes = npt.NDArray[np.int32] | Ints
_NUMBER = re.compile(r"(?:stream )?(-?\d{1,18})", re.ASCII)


@dataclass(frozen=True)
class TextColumn:
    """One text, or None, for each row. `codes`: positions in `values`, which are the distinct texts."""

    codes: npt.NDArray[np.int32]
    values: Texts

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, rows: Any) -> Any:
        """Return the text of a row, or an array of the texts of several rows (positions or flags)."""
        return self.values[self.codes[rows]]

    def among(self, *texts: str | None) -> Flags:
        """Flag the rows that hold one of `texts`."""
        return self.matching(np.array([value in texts for value in self.values], dtype=bool))

    def matching(self, flags: Flags) -> Flags:
        """Flag the rows whose text is flagged; `flags` has one entry for each of `values`."""
        places = np.flatnonzero(flags).tolist()
        if len(places) > _FEW:
            rows: Flags = flags[self.codes]
            return rows
        rows = np.zeros(len(self.codes), dtype=bool)
        for place in places:
            rows |= self.codes == place
        return rows

    def take(self, rows: Ints | Flags) -> "TextColumn":
        """Keep some rows, by positions or flags."""
        return TextColumn(self.codes[rows], self.values)

    def renamed(self, names: Mapping[str, str]) -> "TextColumn":
        """Replace each text that is a key of `names` in all rows."""
        return self._with_texts([names.get(text, text) for text in self.values])

    def filled(self, text: str) -> "TextColumn":
        """Put `text` in the rows that have none."""
        known = self.values.tolist()
        return self._with_texts([text if one is None else one for one in known]) if None in known else self

    def masked(self, rows: Flags) -> "TextColumn":
        """Keep the texts of the flagged rows and remove those of the others."""
        codes = np.where(rows, self.codes, len(self.values))
        return text_column(codes, [*self.values.tolist(), None])

    def cut(self, length: int) -> tuple["TextColumn", Flags]:
        """Cut texts that are longer than `length` characters, and flag the rows that were cut."""
        cuts = {text: text[:length] for text in self.values if text is not None and len(text) > length}
        if not cuts:
            return self, np.zeros(len(self), dtype=bool)
        return self.renamed(cuts), self.among(*cuts)

    def _with_texts(self, texts: list[str | None]) -> "TextColumn":
        """Replace `values` by other texts, some of which may be equal."""
        return text_column(self.codes, texts)

    def numbers(self) -> tuple[Ints, Flags]:
        """Read rows as numbers (`7`, `stream 7`), 0 if a row is none, and flag those that are."""
        found = [_NUMBER.fullmatch(text or "") for text in self.values]
        values = np.array([int(match[1]) if match else 0 for match in found], dtype=np.int64)
        known = np.array([match is not None for match in found], dtype=bool)
        return values[self.codes], known[self.codes]

    def arrow(self) -> "pa.DictionaryArray[Any, Any]":
        """Make a column for Arrow tables; its dictionary holds the texts in use, in order of their codes."""
        used = np.bincount(self.codes, minlength=len(self.values)) > 0
        absent = np.array([text is None for text in self.values], dtype=bool)
        moved = (np.cumsum(used & ~absent) - 1).astype(np.int32)
        indices = pa.array(moved[self.codes], mask=absent[self.codes] if absent.any() else None)
        return pa.DictionaryArray.from_arrays(indices, pa.array(self.values[used & ~absent], pa.string()))


def text_column(codes: Codes, texts: Sequence[str | None]) -> TextColumn:
    """Make a column of the text at each code; some of `texts` may be equal."""
    distinct: dict[str | None, int] = {}
    places = np.array([distinct.setdefault(text, len(distinct)) for text in texts], dtype=np.int32)
    return TextColumn(places[codes], np.array(list(distinct), dtype=object))


def arrow_texts(codes: npt.NDArray[Any], texts: Sequence[str], mask: Flags | None = None) -> pa.Array:
    """Make an Arrow column with the text at each code of `texts`; null where `mask` is true."""
    distinct = {text: place for place, text in enumerate(dict.fromkeys(texts))}
    if len(distinct) < len(texts):
        codes = np.array([distinct[text] for text in texts], dtype=np.int32)[codes]
    indices = pa.array(codes.astype(np.int32, copy=False), mask=mask)
    return pa.DictionaryArray.from_arrays(indices, pa.array(distinct, pa.string()))


def read_texts(column: pa.ChunkedArray) -> TextColumn:
    """Read a dictionary column of Arrow; absent texts become empty."""
    encoded = column.combine_chunks()
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.unify_dictionaries().combine_chunks()
    texts = encoded.dictionary.to_pylist()
    empty = texts.index("") if "" in texts else len(texts)
    codes = encoded.indices.fill_null(empty).to_numpy(zero_copy_only=False)
    if empty == len(texts):
        texts.append("")
    return TextColumn(codes.astype(np.int32, copy=False), np.array(texts, dtype=object))


def distinct_pairs(first: Codes, second: Codes) -> tuple[list[tuple[int, int]], Ints]:
    """Find the distinct pairs of two columns, and which of them each row holds."""
    (left, lefts), (right, rights) = pd.factorize(first), pd.factorize(second)
    place, both = pd.factorize(left.astype(np.int64) << 32 | right)
    pairs = [(int(lefts[pair >> 32]), int(rights[pair & 0xFFFFFFFF])) for pair in both.tolist()]
    return pairs, place.astype(np.int64)


def with_role(category: TextColumn, *roles: Role) -> Flags:
    """Flag the rows whose category has one of `roles`."""
    return category.matching(np.array([has_role(str(name), *roles) for name in category.values], dtype=bool))
