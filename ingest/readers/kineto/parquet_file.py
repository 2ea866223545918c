"""Kineto's traces as Parquet that `tracegraph convert` writes, with the exact text of each entry.

Each row is an entry, with its text in one column. The other columns are for people and other tools; reading
back uses the text, so that the same events come out of both formats.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tracegraph.base.errors import InputError
from tracegraph.ingest.arrays import Flags, Ints
from tracegraph.ingest.integrity_findings import Integrity
from tracegraph.ingest.limits import DEFAULT_LIMITS, Limits
from tracegraph.ingest.microseconds import to_ns
from tracegraph.ingest.readers.chrome_text import (
    Batch,
    ChromeDocument,
    ChromeText,
    join_text,
    lossy,
    time_literals,
)
from tracegraph.ingest.readers.kineto.document import BATCH, Facts, TopLevel, read_facts
from tracegraph.ingest.readers.kineto.entry_decoding import Event, decode_events
from tracegraph.ingest.readers.kineto.trace_builder import build_trace
from tracegraph.ingest.readers.source_file import SourceFile
from tracegraph.ingest.readers.trace_format import TraceFormat
from tracegraph.ingest.readers.unpacking import Content
from tracegraph.ingest.trace import TraceFile, table_in

_MAGIC = b"PAR1"
_HEAD = b"tracegraph.head"
"""Metadata key: the document's text before the list of entries."""
_TAIL = b"tracegraph.tail"
"""Metadata key: the document's text after the list of entries."""

_JSON = "json"
_TEXT = pa.dictionary(pa.int32(), pa.string())
_SCHEMA = pa.schema(
    [
        pa.field("source_index", pa.int64(), nullable=False),
        pa.field("ph", _TEXT),
        pa.field("cat", _TEXT),
        pa.field("name", _TEXT),
        pa.field("pid", _TEXT),
        pa.field("tid", _TEXT),
        pa.field("ts_ns", pa.int64()),
        pa.field("dur_ns", pa.int64()),
        pa.field(_JSON, pa.large_string(), nullable=False),
    ]
)
"""One row for each entry of traceEvents, in its order."""


class ParquetDocument:
    """A converted trace, which is read one batch at a time."""

    def __init__(self, path: Path, data: Content, limits: Limits = DEFAULT_LIMITS) -> None:
        try:
            # Equal texts stay one: a dictionary of a few may stand for any number of rows.
            self._file = pq.ParquetFile(pa.BufferReader(data), read_dictionary=[_JSON])
        except KeyError:
            raise _foreign(path) from None
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
            raise _damage(path, error) from None
        metadata = self._file.schema_arrow.metadata or {}
        if _HEAD not in metadata or _TAIL not in metadata or _JSON not in self._file.schema_arrow.names:
            raise _foreign(path)
        sizes = (self._file.metadata.row_group(k).total_byte_size for k in range(self._file.num_row_groups))
        limits.check_unpacked(path, sum(sizes))
        limits.check_events(path, self._file.metadata.num_rows)
        self._path, self._limits = path, limits
        self.head: bytes = metadata[_HEAD]
        self.tail: bytes = metadata[_TAIL]

    def batches(self) -> Iterator[Batch]:
        """Yield events in the order of the file."""
        start = size = 0
        try:
            for batch in self._file.iter_batches(batch_size=BATCH, columns=[_JSON]):
                texts = _texts_of(batch.column(0))
                size += sum(map(len, texts))
                self._limits.check_unpacked(self._path, size)
                yield Batch(texts, range(start, start + len(texts)))
                start += len(texts)
        except (pa.ArrowException, OSError) as error:
            raise _damage(self._path, error, f" after event {start}") from None

    def facts(self) -> Facts:
        """Read rank, devices and versions."""
        if not self.head.strip():
            return Facts()
        try:
            return read_facts(msgspec.json.decode(self.head + b"[]" + self.tail, type=TopLevel))
        except (msgspec.MsgspecError, RecursionError) as error:
            raise _damage(self._path, error) from None


def _texts_of(column: "pa.DictionaryArray[Any, Any]") -> list[bytes]:
    column.validate(full=True)  # Arrow itself believes what a damaged page says of its dictionary
    distinct = [*column.dictionary.cast(pa.large_binary()).to_pylist(), b"null"]
    return [distinct[k] for k in column.indices.fill_null(len(distinct) - 1).to_pylist()]


def _foreign(path: Path) -> InputError:
    return InputError(
        f"{path} is Parquet, but no trace that tracegraph wrote",
        "make one with `tracegraph convert trace.json trace.parquet`",
    )


def _damage(path: Path, error: Exception, place: str = "") -> InputError:
    reason = " ".join(str(error).split())  # Arrow's messages may have several lines
    return InputError(f"{path} is damaged Parquet{place}: {reason}", "convert the trace again")


def _sniff(head: bytes) -> bool:
    return head.startswith(_MAGIC)


def _read(source: SourceFile, integrity: Integrity) -> TraceFile:
    document = ParquetDocument(source.path, source.take(), source.limits)
    return build_trace(source, document, integrity)


def _chrome_text(source: SourceFile) -> ChromeText:
    return join_text(_split(source))


def _split(source: SourceFile) -> ChromeDocument:
    stored = ParquetDocument(source.path, source.take(), source.limits)
    return ChromeDocument(source.path, stored.head, stored.batches(), stored.tail)


def _write(document: ChromeDocument, file: BinaryIO) -> int:
    """Write one row group for each batch."""
    schema = _SCHEMA.with_metadata({_HEAD: document.head, _TAIL: document.tail})
    rows = 0
    with pq.ParquetWriter(file, schema, compression="zstd") as writer:
        for batch in document.batches:
            writer.write_table(_to_table(document.path, batch))
            rows += len(batch.texts)
    return rows


def _to_table(source: Path, batch: Batch) -> pa.Table:
    texts = batch.texts
    try:
        exact = [bytes(text).decode() for text in texts]
    except UnicodeDecodeError as error:
        reason = f"an event from index {batch.positions[0]} on is no UTF-8 ({error})"
        raise lossy(source, reason) from None
    events = [event or Event() for event in decode_events(texts)[0]]
    columns = {
        "source_index": pa.array(np.array(batch.positions, dtype=np.int64)),
        "ph": _texts([event.ph for event in events]),
        "cat": _texts([event.cat for event in events]),
        "name": _texts([event.name for event in events]),
        "pid": _texts([event.pid for event in events]),
        "tid": _texts([event.tid for event in events]),
        "ts_ns": _nullable(to_ns([event.ts for event in events], lambda k: time_literals(texts[k])[0])),
        "dur_ns": _nullable(to_ns([event.dur for event in events], lambda k: time_literals(texts[k])[1])),
        _JSON: pa.array(exact, pa.large_string()),
    }
    return table_in(_SCHEMA, columns)


def _texts(values: list[str | None] | list[int | str | None]) -> "pa.Array[Any]":
    return pa.array([None if v is None else str(v) for v in values], pa.string()).dictionary_encode()


def _nullable(times: tuple[Ints, Flags]) -> "pa.Array[Any]":
    return pa.array(times[0], mask=~times[1])


KINETO_PARQUET = TraceFormat(
    name="Parquet",
    suffixes=(".parquet", ".pt.trace.parquet"),
    sniff=_sniff,
    read=_read,
    chrome_text=_chrome_text,
    split=_split,
    write=_write,
)
"""The format that `tracegraph convert` makes of Kineto's JSON."""
