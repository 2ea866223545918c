"""Loading a graph with Neo4j's offline import, into the home of a server that does not exist yet."""

import shutil
from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv

from tracegraph.store import install, java, server
from tracegraph.store.config import DATABASE
from tracegraph.store.errors import StoreError
from tracegraph.store.progress import Progress
from tracegraph.store.tables import GraphTables
from tracegraph.store.workspace import Workspace

_IMPORT_TYPES = {
    pa.int64(): "long",
    pa.float64(): "double",
    pa.bool_(): "boolean",
    pa.string(): "string",
}
_KEYS = {"id": ":ID", "labels": ":LABEL", "start": ":START_ID", "end": ":END_ID"}
_LEAST_BUFFER_BYTES = 4 << 20


def build_home(workspace: Workspace, tables: GraphTables, progress: Progress) -> None:
    """Make the workspace's server home anew with `tables` as the whole content of its database.

    The caller holds `workspace.server_lock` and no server runs. The home gets its name when it is complete,
    so a kill leaves the workspace as it was.

    Raises:
        StoreError: Neo4j cannot be installed, the import failed or the disk is full.
    """
    install.install(progress)
    home = workspace.neo4j_home.with_suffix(".new")
    shutil.rmtree(home, ignore_errors=True)
    try:
        progress("preparing Neo4j", 0, 0)
        server.prepare_home(workspace, home)
        arguments = write_files(tables, home / "import", progress)
        progress("importing into Neo4j", 0, 0)
        java.run_admin(home, ["database", "import", "full", DATABASE, *arguments], java.import_heap_mib())
        shutil.rmtree(home / "import")
        shutil.rmtree(workspace.neo4j_home, ignore_errors=True)
        home.rename(workspace.neo4j_home)
    except OSError as error:
        raise StoreError(
            f"cannot write {home}: {error.strerror or error}", "check the free space there"
        ) from error
    finally:
        shutil.rmtree(home, ignore_errors=True)


def write_files(tables: GraphTables, folder: Path, progress: Progress) -> list[str]:
    """Write one CSV file a table and return the import's arguments for them."""
    folder.mkdir()
    files = [
        *((f"--nodes={folder}/nodes.{name}.csv", table) for name, table in tables.nodes.items()),
        *(
            (f"--relationships={name}={folder}/relationships.{name}.csv", table)
            for name, table in tables.relationships.items()
        ),
    ]
    for done, (argument, table) in enumerate(files):
        progress("writing import files", done, len(files))
        _write_csv(table, Path(argument.rpartition("=")[2]))
    longest = max(_longest_text(table) for _, table in files)
    return [
        "--id-type=actual",
        "--multiline-fields=true",  # else a line break in a name ends the import
        # A field must fit the buffer; quotes inside it are doubled in the file.
        f"--read-buffer-size={max(_LEAST_BUFFER_BYTES, 2 * longest + 1024)}",
        f"--report-file={folder}/report.txt",
        *(argument for argument, _ in files),
    ]


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


def _texts(table: pa.Table) -> Iterable[pa.ChunkedArray]:
    for column in table.columns:
        if pa.types.is_string(column.type):
            yield column
        elif pa.types.is_dictionary(column.type):
            yield column.cast(pa.string())


def _longest(column: pa.ChunkedArray) -> int:
    return int(pc.max(pc.binary_length(column)).as_py() or 0)
