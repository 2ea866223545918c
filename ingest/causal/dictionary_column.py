"""Text columns as codes into their distinct texts: comparing and grouping never touch the texts of rows."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tracegraph.store.categories import Role, has_role


@dataclass(frozen=True)
class Coded:
    """One text a row. `codes`: positions in `values`, the distinct texts."""

    codes: npt.NDArray[np.int32]
    values: npt.NDArray[np.object_]

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, rows: Any) -> Any:
        """The text of a row, or an array of those of several rows (positions or flags)."""
        return self.values[self.codes[rows]]

    def among(self, *texts: str) -> npt.NDArray[np.bool_]:
        """Which rows hold one of `texts`."""
        wanted = [str(value) in texts for value in self.values]
        flags: npt.NDArray[np.bool_] = np.array(wanted, dtype=bool)[self.codes]
        return flags

    def matching(self, flags: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
        """Which rows hold a text that is flagged, one flag for each of `values`."""
        rows: npt.NDArray[np.bool_] = flags[self.codes]
        return rows

    def take(self, rows: npt.NDArray[Any]) -> "Coded":
        """Some rows, by positions or flags."""
        return Coded(self.codes[rows], self.values)

    def arrow(self) -> "pa.DictionaryArray[Any, Any]":
        """The column for Arrow tables."""
        return pa.DictionaryArray.from_arrays(pa.array(self.codes), pa.array(self.values, pa.string()))


def read_coded(column: pa.ChunkedArray) -> Coded:
    """A dictionary column of Arrow; absent texts become empty."""
    encoded = column.combine_chunks()
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.unify_dictionaries().combine_chunks()
    texts = encoded.dictionary.to_pylist()
    empty = texts.index("") if "" in texts else len(texts)
    codes = encoded.indices.fill_null(empty).to_numpy(zero_copy_only=False)
    if empty == len(texts):
        texts.append("")
    return Coded(codes.astype(np.int32, copy=False), np.array(texts, dtype=object))


def with_role(category: Coded, *roles: Role) -> npt.NDArray[np.bool_]:
    """Which rows are of a category with one of `roles`."""
    return category.matching(np.array([has_role(str(name), *roles) for name in category.values], dtype=bool))
