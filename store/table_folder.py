"""Tables that lie in a folder instead of in memory."""

import os
import shutil
from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from tracegraph.base.errors import StoreError
from tracegraph.base.malloc_settings import give_back_memory
from tracegraph.base.parallel import beside


class TableFolder(MutableMapping[str, pa.Table]):
    """Tables of one kind by name: written when they are set, read when they are asked for.

    Raises
    ------
    StoreError
        A file cannot be written or read.
    """

    def __init__(self, folder: Path, kind: str, names: tuple[str, ...] = ()) -> None:
        self._folder, self._kind = folder, kind
        self._names = dict.fromkeys(names)
        self._changed: dict[str, pa.Table] = {}
        self._is_beside = False
        self._writing: Future[None] | None = None

    def __getitem__(self, name: str) -> pa.Table:
        if name not in self._names:
            raise KeyError(name)
        if name in self._changed:
            return self._changed[name]
        with readable(self._folder):
            return pq.read_table(self.file(name))

    def __setitem__(self, name: str, table: pa.Table) -> None:
        self._wait()  # at most one table is held in memory for it
        write = partial(self._write, name, table)
        if self._is_beside:
            self._writing = beside(write)
        else:
            write()
        self._names[name] = None
        self._changed.pop(name, None)

    @contextmanager
    def written_beside(self) -> Iterator[None]:
        """Write tables that are set in the block beside what the caller does; at its end all are written."""
        self._is_beside = True
        try:
            yield
        finally:
            self._is_beside = False
            self._wait()

    def _wait(self) -> None:
        """Wait for the table that is being written."""
        writing, self._writing = self._writing, None
        if writing is not None:
            writing.result()

    def _write(self, name: str, table: pa.Table) -> None:
        numbers = [entry.name for entry in table.schema if pa.types.is_integer(entry.type)]
        try:
            pq.write_table(
                table,
                self._path(name),
                compression="zstd",
                # Whole numbers seldom repeat, but are near to those before: as differences they are written
                # and read in half of the time.
                use_dictionary=[one for one in table.column_names if one not in numbers],
                column_encoding=dict.fromkeys(numbers, "DELTA_BINARY_PACKED"),
                write_statistics=False,  # nothing filters by them
            )
        except OSError as error:
            raise StoreError(
                f"cannot write {self._path(name)}: {error.strerror or error}",
                "check the rights and the free space there",
            ) from error
        give_back_memory()

    def __delitem__(self, name: str) -> None:
        del self._names[name]
        self.file(name).unlink()

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __contains__(self, name: object) -> bool:
        return name in self._names  # the inherited one reads the table

    def file(self, name: str) -> Path:
        """Return the path of a table, which is written."""
        self._wait()
        return self._path(name)

    def _path(self, name: str) -> Path:
        return self._folder / f"{self._kind}.{name}.parquet"

    def count(self, name: str) -> int:
        """Count the rows of a table, by the metadata of its file."""
        if name in self._changed:
            return len(self._changed[name])
        with readable(self._folder):
            return int(pq.read_metadata(self.file(name)).num_rows)

    def read(self, name: str, columns: Sequence[str]) -> pa.Table:
        """Read those of the columns that a table has, and no others."""
        if name in self._changed:
            return select_known(self._changed[name], columns)
        held = set(self.schema(name).names)
        with readable(self._folder):
            return pq.read_table(self.file(name), columns=[column for column in columns if column in held])

    def schema(self, name: str) -> pa.Schema:
        """Read the columns of a table with their types, and no rows."""
        if name in self._changed:
            return self._changed[name].schema
        with readable(self._folder):
            return pq.read_schema(self.file(name))

    def batches(self, name: str, rows: int) -> Iterator[pa.RecordBatch]:
        """Read a table a few rows at a time: at most `rows`."""
        if name in self._changed:
            yield from self._changed[name].to_batches(max_chunksize=rows)
            return
        with readable(self._folder), pq.ParquetFile(self.file(name)) as file:
            yield from file.iter_batches(rows)

    def changed(self, name: str, table: pa.Table) -> "TableFolder":
        """Return the same tables with one replaced, which stays in memory; no file is touched."""
        other = TableFolder(self._folder, self._kind, tuple(self._names))
        other._names[name] = None
        other._changed = {**self._changed, name: table}
        return other

    def link(self, folder: Path) -> None:
        """Hard-link the files into another folder, or copy them if the disk does not support links.

        A table that was replaced in memory is written there.
        """
        written = TableFolder(folder, self._kind)
        written.update(self._changed)
        for name in self._names.keys() - self._changed.keys():
            target = folder / self.file(name).name
            try:
                os.link(self.file(name), target)
            except OSError:
                shutil.copyfile(self.file(name), target)


def select_known(table: pa.Table, columns: Sequence[str]) -> pa.Table:
    """Select those of the columns that a table has."""
    return table.select([column for column in columns if column in table.column_names])


def table_schema(tables: Mapping[str, pa.Table], name: str) -> pa.Schema:
    """Find the columns of a table with their types; from a folder no rows are read."""
    return tables.schema(name) if isinstance(tables, TableFolder) else tables[name].schema


def table_batches(tables: Mapping[str, pa.Table], name: str, rows: int) -> Iterator[pa.RecordBatch]:
    """Yield at most `rows` rows of a table at a time; from a folder no more are held in memory."""
    if isinstance(tables, TableFolder):
        return tables.batches(name, rows)
    return iter(tables[name].to_batches(max_chunksize=rows))


@contextmanager
def readable(folder: Path) -> Iterator[None]:
    """Raise StoreError if kept tables cannot be read in the block."""
    try:
        yield
    except (OSError, ValueError, KeyError) as error:
        raise StoreError(
            f"the kept tables in {folder} cannot be read: {error}",
            "remove that run with `tracegraph runs delete` and ingest it again",
        ) from error
