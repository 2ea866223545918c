"""Trace formats: each reader returns the same `TraceFile`."""

from pathlib import Path

import msgspec

from tracegraph.ingest.integrity.findings import Integrity
from tracegraph.ingest.limits import DEFAULT_LIMITS, Limits
from tracegraph.ingest.readers.kineto import parquet_file
from tracegraph.ingest.readers.kineto.document import Document, parse_strict
from tracegraph.ingest.readers.kineto.lenient_document import LenientDocument
from tracegraph.ingest.readers.kineto.trace_builder import build_trace
from tracegraph.ingest.readers.unpacking import read_bytes, sha256_of, unpack
from tracegraph.ingest.trace import TraceFile


def read_trace(path: Path, integrity: Integrity, limits: Limits = DEFAULT_LIMITS) -> TraceFile:
    """Columns of the trace in `path`: Kineto JSON, plain or gzip, or Parquet that `convert` wrote.

    What is odd, dropped, repaired or missing goes to `integrity`. Raises InputError for a file that is no
    trace, of which no event can be used, or that is beyond `limits`.
    """
    sha256, document = _open(path, integrity, limits)
    return build_trace(path, sha256, document, integrity, limits)


def _open(path: Path, integrity: Integrity, limits: Limits) -> tuple[str, Document]:
    data = read_bytes(path, integrity, limits)
    sha256 = sha256_of(data)
    if data.startswith(parquet_file.MAGIC):
        return sha256, parquet_file.ParquetDocument(path, data, limits)
    text = unpack(path, data, integrity, limits)
    try:
        document = parse_strict(path, text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return sha256, LenientDocument(path, text, integrity)
    message = "other lists of events stand beside the one that is read (the last); their time is unknown"
    integrity.add("list_repeated", "error", document.count_other_lists(text), message)
    return sha256, document
