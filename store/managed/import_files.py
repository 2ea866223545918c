"""The CSV files that Neo4j's offline import reads."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv

from tracegraph.store.parallel import run_all
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
_ROWS_AT_ONCE = 100_000
_WRITERS = 2


def write_files(home: Path, runs: Iterable[GraphTables], progress: Progress) -> list[str]:
    """Write one CSV file a table of each run, one run after the other, and return the import's arguments.

    Node ids of a run follow on those of the runs before.
    """
    (home / FOLDER).mkdir()
    sources: list[str] = []
    first, longest = 0, 0
    for number, tables in enumerate(runs):
        progress("writing import files", number, 0)
        files = list(_files(home, number, tables))
        for text in run_all(partial(_write_table, first), files, _WRITERS):
            longest = max(longest, text)
        sources += [f"{file.prefix}{FOLDER}/{file.path.name}" for file in files]
        first += tables.count_nodes()
    return [
        "--id-type=actual",
        "--multiline-fields=true",  # else a line break in a name ends the import
        # A field must fit the buffer; quotes inside it are doubled in the file.
        f"--read-buffer-size={max(_LEAST_BUFFER_BYTES, 2 * longest + 1024)}",
        f"--report-file={FOLDER}/report.txt",
        *sources,
    ]


@dataclass(frozen=True)
class _File:
    """One table and the file that it goes into; `prefix`: the import's argument for it."""

    prefix: str
    tables: Mapping[str, pa.Table]
    name: str
    path: Path


def _files(home: Path, number: int, graph: GraphTables) -> Iterator[_File]:
    for kind, tables in (("nodes", graph.nodes), ("relationships", graph.relationships)):
        for name in tables:
            label = "" if kind == "nodes" else f"{name}="
            path = home / FOLDER / f"{number}.{kind}.{name}.csv"
            yield _File(f"--{kind}={label}", tables, name, path)


def _write_table(first: int, file: _File) -> int:
    """Write a file, its node ids counted from `first`; returns the length of its longest text in bytes."""
    table = _shifted(file.tables[file.name], first)
    _write_csv(table, file.path)
    return _longest_text(table)


def _shifted(table: pa.Table, first: int) -> pa.Table:
    for position, name in enumerate(table.column_names):
        if first and name in _IDS:
            table = table.set_column(position, name, pc.add(table[name], first))
    return table


def _write_csv(table: pa.Table, path: Path) -> None:
    plain = pa.schema([(field.name, _plain(field.type)) for field in table.schema])
    columns = (_KEYS.get(field.name, f"{field.name}:{_IMPORT_TYPES.get(field.type)}") for field in plain)
    # Every text is quoted and nothing else, so an absent value differs from an empty text.
    options = pacsv.WriteOptions(include_header=False, quoting_style="needed")
    with path.open("wb") as file:
        file.write(",".join(columns).encode() + b"\n")
        with pacsv.CSVWriter(file, plain, write_options=options) as writer:
            # Plain texts take much more memory than the codes of dictionaries.
            for batch in table.to_batches(max_chunksize=_ROWS_AT_ONCE):
                writer.write_batch(batch.cast(plain))


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
