"""The CSV files that Neo4j's offline import reads."""

from collections.abc import Iterable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv

from tracegraph.store.progress import Progress
from tracegraph.store.tables import GraphTables

FOLDER = "import"
"""Where the files lie in a server home; the import runs there, so no argument has a path of the user's."""
_IMPORT_TYPES = {
    pa.int64(): "long",
    pa.float64(): "double",
    pa.bool_(): "boolean",
    pa.string(): "string",
}
_KEYS = {"id": ":ID", "labels": ":LABEL", "start": ":START_ID", "end": ":END_ID"}
_IDS = ("id", "start", "end")
_LEAST_BUFFER_BYTES = 4 << 20


def write_files(home: Path, runs: Iterable[GraphTables], progress: Progress) -> list[str]:
    """Write one CSV file a table of each run, one run after the other, and return the import's arguments.

    Node ids of a run follow on those of the runs before.
    """
    (home / FOLDER).mkdir()
    sources: list[str] = []
    first, longest = 0, 0
    for number, tables in enumerate(runs):
        for prefix, name, table in _tables(tables):
            progress("writing import files", len(sources), 0)
            file = f"{FOLDER}/{number}.{name}.csv"
            longest = max(longest, _longest_text(table))
            _write_csv(_shifted(table, first), home / file)
            sources.append(f"{prefix}{file}")
        first += tables.count_nodes()
    return [
        "--id-type=actual",
        "--multiline-fields=true",  # else a line break in a name ends the import
        # A field must fit the buffer; quotes inside it are doubled in the file.
        f"--read-buffer-size={max(_LEAST_BUFFER_BYTES, 2 * longest + 1024)}",
        f"--report-file={FOLDER}/report.txt",
        *sources,
    ]


def _tables(tables: GraphTables) -> Iterator[tuple[str, str, pa.Table]]:
    for name, table in tables.nodes.items():
        yield "--nodes=", f"nodes.{name}", table
    for name, table in tables.relationships.items():
        yield f"--relationships={name}=", f"relationships.{name}", table


def _shifted(table: pa.Table, first: int) -> pa.Table:
    for position, name in enumerate(table.column_names):
        if first and name in _IDS:
            table = table.set_column(position, name, pc.add(table[name], first))
    return table


def _write_csv(table: pa.Table, path: Path) -> None:
    plain = table.cast(pa.schema([(field.name, _plain(field.type)) for field in table.schema]))
    header = ",".join(
        _KEYS.get(field.name, f"{field.name}:{_IMPORT_TYPES.get(field.type)}") for field in plain.schema
    )
    with path.open("wb") as file:
        file.write(header.encode() + b"\n")
        # Every text is quoted and nothing else, so an absent value differs from an empty text.
        pacsv.write_csv(plain, file, pacsv.WriteOptions(include_header=False, quoting_style="needed"))


def _plain(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def _longest_text(table: pa.Table) -> int:
    return max((_longest(column) for column in _texts(table)), default=0)


def _texts(table: pa.Table) -> Iterator[pa.ChunkedArray | pa.Array]:
    for column in table.columns:
        if pa.types.is_string(column.type):
            yield column
        elif pa.types.is_dictionary(column.type):
            yield column.cast(pa.string())


def _longest(column: pa.ChunkedArray) -> int:
    return int(pc.max(pc.binary_length(column)).as_py() or 0)
