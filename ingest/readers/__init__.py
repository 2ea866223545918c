"""Trace formats: each reader returns the same `TraceFile`."""

from pathlib import Path

from tracegraph.ingest.integrity import Integrity
from tracegraph.ingest.readers.document import parse_strict
from tracegraph.ingest.readers.read import build_trace
from tracegraph.ingest.readers.source import read_bytes, unpack
from tracegraph.ingest.trace import TraceFile


def read_trace(path: Path, integrity: Integrity) -> TraceFile:
    """Columns of the trace in `path`: Kineto JSON, plain or gzip."""
    source = unpack(path, read_bytes(path), integrity)
    return build_trace(path, source.sha256, parse_strict(path, source.data), integrity)
