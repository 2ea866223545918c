"""What events of communication carry in the graph: kind, group and data of their operation."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tracegraph.ingest.arrays import Ints
from tracegraph.ingest.causal.events.events import NONE
from tracegraph.ingest.ranks.members import Member
from tracegraph.ingest.ranks.message_sizes import whole_bytes
from tracegraph.ingest.text_columns import text_column

COMMUNICATION_COLUMNS = ("collective_kind",)
"""The columns of an event table that `with_communication` adds; it fills others."""


def with_communication(stated: pa.Table, members: Sequence[Member]) -> pa.Table:
    """Add `collective_kind`, and fill what else the graph shows of the events of communication.

    That is `bytes`, `elements`, `group_size` and `group_ranks`. What a row of `stated` states itself stays.
    The members are those of the same rank.
    """
    count = stated.num_rows
    size = [one.size if one.size is not None or one.ranks is None else len(one.ranks) for one in members]
    moved = [whole_bytes(one.kind, one.input_bytes, of) for one, of in zip(members, size, strict=True)]
    rows = np.array([one.event for one in members], dtype=np.int64)
    table = stated
    elements = [one.elements for one in members]
    for name, values in (("bytes", moved), ("elements", elements), ("group_size", size)):
        table = _filled(table, name, _numbers(count, rows, values))
    ranks = [None if one.ranks is None else f"[{', '.join(map(str, one.ranks))}]" for one in members]
    table = _filled(table, "group_ranks", _texts(count, rows, ranks))
    return table.append_column("collective_kind", _texts(count, rows, [one.kind for one in members]))


def _filled(table: pa.Table, name: str, values: pa.Array) -> pa.Table:
    column = table[name].combine_chunks()
    if pa.types.is_dictionary(column.type):
        plain = pc.coalesce(column.cast(pa.string()), values.cast(pa.string()))
        values = plain.dictionary_encode()
    else:
        values = pc.coalesce(column, values)
    return table.set_column(table.schema.get_field_index(name), name, values)


def _numbers(count: int, rows: Ints, values: Sequence[int | None]) -> pa.Array:
    found = np.full(count, NONE, dtype=np.int64)
    found[rows] = [NONE if value is None else value for value in values]
    return pa.array(found, mask=found == NONE)


def _texts(count: int, rows: Ints, values: Sequence[str | None]) -> pa.Array:
    """Make a column of texts that are those of `values` in some rows, and null in the others."""
    known = {text: code for code, text in enumerate(dict.fromkeys([None, *values]))}
    codes = np.zeros(count, dtype=np.int32)
    codes[rows] = [known[value] for value in values]
    return text_column(codes, list(known)).arrow()
