"""Parquet as `tracegraph convert` writes it: a row an event, its exact text in one column.

The columns beside the text are for people and other tools; reading back uses the text, so that the same
events come out of both forms.
"""

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from tracegraph.ingest.limits import DEFAULT_LIMITS, Limits
from tracegraph.ingest.readers.file_bytes import too_large
from tracegraph.ingest.readers.kineto.document import BATCH, Batch, Facts, TopLevel, read_facts
from tracegraph.store.errors import InputError

MAGIC = b"PAR1"
HEAD = b"tracegraph.head"
"""Metadata key: the document's text before the list of events."""
TAIL = b"tracegraph.tail"
"""Metadata key: the document's text after the list of events."""

_TEXT = pa.dictionary(pa.int32(), pa.string())
SCHEMA = pa.schema(
    [
        pa.field("source_index", pa.int64(), nullable=False),
        pa.field("ph", _TEXT),
        pa.field("cat", _TEXT),
        pa.field("name", _TEXT),
        pa.field("pid", _TEXT),
        pa.field("tid", _TEXT),
        pa.field("ts_ns", pa.int64()),
        pa.field("dur_ns", pa.int64()),
        pa.field("json", pa.large_string(), nullable=False),
    ]
)
"""One row an entry of traceEvents, in its order."""


class ParquetDocument:
    """A converted trace, read a batch at a time."""

    def __init__(self, path: Path, data: bytes, limits: Limits = DEFAULT_LIMITS) -> None:
        try:
            self._file = pq.ParquetFile(pa.BufferReader(data))
        except (pa.ArrowException, OSError) as error:
            raise _damage(path, error) from None
        metadata = self._file.schema_arrow.metadata or {}
        if HEAD not in metadata or TAIL not in metadata or "json" not in self._file.schema_arrow.names:
            raise InputError(
                f"{path} is Parquet, but no trace that tracegraph wrote",
                "make one with `tracegraph convert trace.json trace.parquet`",
            )
        sizes = (self._file.metadata.row_group(k).total_byte_size for k in range(self._file.num_row_groups))
        if sum(sizes) > limits.unpacked:
            raise too_large(path, limits)
        self._path = path
        self.head: bytes = metadata[HEAD]
        self.tail: bytes = metadata[TAIL]

    def batches(self) -> Iterator[Batch]:
        """Events in the order of the file."""
        start = 0
        try:
            for batch in self._file.iter_batches(batch_size=BATCH, columns=["json"]):
                texts = batch.column(0).cast(pa.large_binary()).fill_null(b"null").to_pylist()
                yield Batch(texts, range(start, start + len(texts)))
                start += len(texts)
        except (pa.ArrowException, OSError) as error:
            raise _damage(self._path, error, f" after event {start}") from None

    def facts(self) -> Facts:
        """Rank, devices and versions."""
        if not self.head.strip():
            return Facts()
        try:
            return read_facts(msgspec.json.decode(self.head + b"[]" + self.tail, type=TopLevel))
        except (msgspec.MsgspecError, RecursionError) as error:
            raise _damage(self._path, error) from None


def _damage(path: Path, error: Exception, place: str = "") -> InputError:
    reason = " ".join(str(error).split())  # Arrow's messages may have several lines
    return InputError(f"{path} is damaged Parquet{place}: {reason}", "convert the trace again")
