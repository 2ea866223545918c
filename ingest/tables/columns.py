"""Columns of the graph's tables, in the order and types of the schema."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import pyarrow as pa

from tracegraph.ingest.arrays import Flags, Ints
from tracegraph.ingest.causal.events.events import NONE
from tracegraph.ingest.text_columns import arrow_texts
from tracegraph.store.schema import properties
from tracegraph.store.tables import arrow_type

Columns = Mapping[str, object]


@dataclass(frozen=True)
class SegmentNodes:
    """Which segments are their event's node, and the node id of each segment."""

    merged: Flags
    node: Ints


def nullable(values: Ints) -> pa.Array:
    """Make an array of integers with null for `NONE`."""
    absent = values == NONE
    return _nothing(len(values)) if absent.all() else pa.array(values, mask=absent)


@lru_cache(maxsize=1)
def _nothing(count: int) -> pa.Array:
    """Make a column without a value, whose memory all of its length share: a CPU's events have twenty."""
    return pa.nulls(count, pa.int64())


def make_table(columns: Columns, properties: Iterable[properties.Property], count: int) -> pa.Table:
    """Put columns into the schema's order and types; a scalar is repeated, an absent property left out.

    Texts may stay dictionaries. KeyError for a column that is not in the schema.
    """
    arrays: dict[str, pa.Array] = {}
    for name, kind in (("id", pa.int64()), ("labels", None), ("start", pa.int64()), ("end", pa.int64())):
        if name in columns:
            arrays[name] = _array(columns[name], kind, count)
    for known in properties:
        if known.name in columns:
            arrays[known.name] = _array(columns[known.name], arrow_type(known.type), count)
    unknown = columns.keys() - arrays.keys()
    if unknown:
        raise KeyError(f"columns {sorted(unknown)} are not in the schema")
    return pa.table(arrays)


def _array(value: object, kind: pa.DataType | None, count: int) -> pa.Array:
    if isinstance(value, str):
        return arrow_texts(np.zeros(count, dtype=np.int32), [value])
    if isinstance(value, int):
        return pa.repeat(pa.scalar(value, type=kind), count)
    array = value if isinstance(value, (pa.Array, pa.ChunkedArray)) else pa.array(value)
    plain = array.type.value_type if pa.types.is_dictionary(array.type) else array.type
    return array.cast(kind) if kind is not None and plain != kind else array


def label_column(labels: str, count: int) -> pa.Array:
    """Repeat a label set such as "Event;Kernel" for all rows."""
    return arrow_texts(np.zeros(count, dtype=np.int32), [labels])
