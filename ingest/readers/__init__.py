"""Trace formats: each reader returns the same `TraceFile`."""

from pathlib import Path

import msgspec

from tracegraph.ingest.integrity import Integrity
from tracegraph.ingest.readers import parquet
from tracegraph.ingest.readers.build import build_trace
from tracegraph.ingest.readers.document import Document, parse_strict
from tracegraph.ingest.readers.lenient import LenientDocument
from tracegraph.ingest.readers.source import read_bytes, sha256_of, unpack
from tracegraph.ingest.trace import TraceFile


def read_trace(path: Path, integrity: Integrity) -> TraceFile:
    """Columns of the trace in `path`: Kineto JSON, plain or gzip, or Parquet that `convert` wrote.

    What is odd, dropped, repaired or missing goes to `integrity`. Raises InputError for a file that is no
    trace, or of which no event can be used.
    """
    sha256, document = _open(path, integrity)
    return build_trace(path, sha256, document, integrity)


def _open(path: Path, integrity: Integrity) -> tuple[str, Document]:
    data = read_bytes(path)
    sha256 = sha256_of(data)
    if data.startswith(parquet.MAGIC):
        return sha256, parquet.ParquetDocument(path, data)
    text = unpack(path, data, integrity)
    try:
        return sha256, parse_strict(path, text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return sha256, LenientDocument(path, text, integrity)
