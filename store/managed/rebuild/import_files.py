"""The CSV files that Neo4j's offline import reads."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from zlib import crc32

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv

from tracegraph.base.parallel import run_all
from tracegraph.base.progress import Progress
from tracegraph.store.table_folder import table_batches, table_schema
from tracegraph.store.tables import GraphTables

FOLDER = "import"
"""The folder of the files in a server home, where the import runs: no argument has a user's path."""
_IMPORT_TYPES = {
    pa.int64(): "long",
    pa.float64(): "double",
    pa.bool_(): "boolean",
    pa.string(): "string",
}
_KEYS = {"id": ":ID", "labels": ":LABEL", "start": ":START_ID", "end": ":END_ID"}
_IDS = ("id", "start", "end")
_LEAST_BUFFER_BYTES = 4 << 20
"""The least size of the import's buffer for reading."""
_ROWS_AT_ONCE = 100_000
"""Rows that are read and converted to plain texts at once: a whole table of a million events took 0.5 GB."""
_WRITERS = 2
"""Files that are written at once."""


def write_files(home: Path, runs: Iterable[GraphTables], progress: Progress) -> list[str]:
    """Write the tables of all runs as CSV files, and return the import's arguments.

    Tables of one kind and with the same columns share a file, one run after the other, because the import
    takes a quarter of a second for each file, however short. The node ids of a run continue those of the
    runs before.
    """
    folder = home / FOLDER
    folder.mkdir()
    sources: dict[str, None] = {}
    first, longest, breaks = 0, 0, False
    for number, graph in enumerate(runs):
        progress("writing import files", number, 0)
        parts = list(_parts(graph))
        # Those of one run never share a file, so their writers need not wait for each other.
        for source, texts in run_all(partial(_append, folder, first), parts, _WRITERS):
            sources[source] = None
            longest, breaks = max(longest, texts.longest), breaks or texts.breaks
        first += graph.count_nodes()
    return [
        "--id-type=actual",
        # A line break in a text would end the import. If there is none, several threads look for the ends
        # of rows: an import of a million events took 20 s instead of 28.
        f"--multiline-fields={str(breaks).lower()}",
        # A field must fit the buffer; quotes inside it are doubled in the file.
        f"--read-buffer-size={max(_LEAST_BUFFER_BYTES, 2 * longest + 1024)}",
        f"--report-file={FOLDER}/report.txt",
        *sorted(sources),  # those of nodes first
    ]


@dataclass(frozen=True)
class _Part:
    """One table of one run; `kind` is `nodes` or `relationships`."""

    kind: str
    name: str
    tables: Mapping[str, pa.Table]


def _parts(graph: GraphTables) -> Iterator[_Part]:
    for kind, tables in (("nodes", graph.nodes), ("relationships", graph.relationships)):
        for name in tables:
            yield _Part(kind, name, tables)


@dataclass(frozen=True)
class _Texts:
    """What the texts of a table are like: the longest, in bytes, and whether a line breaks in one."""

    longest: int
    breaks: bool


def _append(folder: Path, first: int, part: _Part) -> tuple[str, _Texts]:
    """Append a table to its file, with its node ids counted from `first`.

    Returns
    -------
    tuple[str, _Texts]
        The import's argument for the file, and what its texts are like.
    """
    columns = table_schema(part.tables, part.name)
    plain = pa.schema([(field.name, _plain(field.type)) for field in columns])
    header = _header(plain)
    file = f"{part.kind}.{part.name}.{crc32(header):08x}.csv"
    batches = (_shifted(batch, first) for batch in table_batches(part.tables, part.name, _ROWS_AT_ONCE))
    texts = _write_csv(batches, plain, header, folder / file)
    label = "" if part.kind == "nodes" else f"{part.name}="
    return f"--{part.kind}={label}{FOLDER}/{file}", texts


def _shifted(batch: pa.RecordBatch, first: int) -> pa.RecordBatch:
    for position, name in enumerate(batch.schema.names):
        if first and name in _IDS:
            batch = batch.set_column(position, name, pc.add(batch.column(name), first))
    return batch


def _header(plain: pa.Schema) -> bytes:
    columns = (_KEYS.get(field.name, f"{field.name}:{_IMPORT_TYPES.get(field.type)}") for field in plain)
    return ",".join(columns).encode() + b"\n"


def _write_csv(batches: Iterable[pa.RecordBatch], plain: pa.Schema, header: bytes, path: Path) -> _Texts:
    # Every text is quoted and nothing else, so an absent value differs from an empty text.
    options = pacsv.WriteOptions(include_header=False, quoting_style="needed")
    longest, breaks = 0, False
    with path.open("ab") as file:
        if not file.tell():
            file.write(header)
        with pacsv.CSVWriter(file, plain, write_options=options) as writer:
            for batch in batches:
                writer.write_batch(batch.cast(plain))
                for texts in _texts(batch):
                    longest, breaks = max(longest, _longest(texts)), breaks or _breaks(texts)
    return _Texts(longest, breaks)


def _plain(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def _texts(batch: pa.RecordBatch) -> Iterator[pa.Array]:
    """Yield the texts of each column, of one with codes those that codes stand for."""
    for column in batch.columns:
        if pa.types.is_string(column.type):
            yield column
        elif pa.types.is_dictionary(column.type):
            yield column.dictionary


def _longest(texts: pa.Array) -> int:
    return int(pc.max(pc.binary_length(texts)).as_py() or 0)


def _breaks(texts: pa.Array) -> bool:
    return bool(pc.any(pc.match_substring_regex(texts, "[\\r\\n]")).as_py())
