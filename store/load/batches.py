"""Rows of a table as parameters of a Cypher query: what all rows share once, each text once, by columns."""

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

_BATCH_ROWS = 4_000  # what a transaction holds should fit into the server's heap for new objects


@dataclass(frozen=True)
class Batch:
    """Rows for one query.

    `kind` says of what (labels or a relationship type); `same` holds the properties that all rows share;
    `keys` are the columns that are no properties, `properties` the others.
    """

    kind: str
    keys: pa.Table
    properties: pa.Table
    same: dict[str, object]

    def expressions(self) -> dict[str, str]:
        """Cypher for each property of row `i` of `parameters`."""
        own = {field.name: _expression(field) for field in self.properties.schema}
        return {**{name: same(name) for name in self.same}, **own}

    def parameters(self) -> dict[str, object]:
        """`last`, the number of the last row, and `same`, `texts` and `columns` by property.

        A column of texts holds numbers of its `texts`: most repeat, and to pack and unpack each of them is
        what the driver and the server would otherwise spend most of their time on.
        """
        columns: dict[str, list[object]] = {}
        texts: dict[str, list[object]] = {}
        for field in self.properties.schema:
            column = self.properties[field.name].combine_chunks()
            if _is_text(field.type):
                coded = column.cast(pa.string()).dictionary_encode()
                texts[field.name] = coded.dictionary.to_pylist()
                column = coded.indices
            columns[field.name] = column.to_pylist()
        return {"last": self.keys.num_rows - 1, "same": self.same, "texts": texts, "columns": columns}


def same(name: str) -> str:
    """Cypher for a property that all rows share."""
    return f"$same.{name}"


def batches(kind: str, table: pa.Table, keys: list[str]) -> Iterator[Batch]:
    """Cut a table into batches; a property that no row has is left out."""
    rows = table.unify_dictionaries()
    same: dict[str, object] = {}
    for name in [name for name in rows.column_names if name not in keys]:
        values = pc.unique(rows[name])
        if len(values) == 1:
            rows = rows.drop_columns([name])
            if values[0].is_valid:
                same[name] = values[0].as_py()
    for start in range(0, rows.num_rows, _BATCH_ROWS):
        part = rows.slice(start, _BATCH_ROWS)
        yield Batch(kind, part.select(keys), part.drop_columns(keys), same)


def _expression(field: pa.Field) -> str:
    row = f"$columns.{field.name}[i]"
    return f"$texts.{field.name}[{row}]" if _is_text(field.type) else row


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_dictionary(kind) or pa.types.is_string(kind))
