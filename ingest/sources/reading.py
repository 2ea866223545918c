"""The trace of a source, wherever it lies."""

from dataclasses import replace

from tracegraph.ingest.integrity.findings import Integrity
from tracegraph.ingest.limits import DEFAULT_LIMITS, Limits
from tracegraph.ingest.readers import read_trace
from tracegraph.ingest.sources.fetch import local_copy
from tracegraph.ingest.sources.source import Source
from tracegraph.ingest.trace import TraceFile
from tracegraph.store.errors import InputError


def read_source(source: Source, integrity: Integrity, limits: Limits = DEFAULT_LIMITS) -> TraceFile:
    """As `read_trace`, of a file or a URL; the trace and all errors name it as it was given.

    The rank that the source is said to be counts before what the file says.
    """
    with local_copy(source, limits, integrity) as path:
        try:
            trace = read_trace(path, integrity, limits)
        except InputError as error:
            raise InputError(error.message.replace(str(path), source.shown), error.hint) from None
    trace = replace(trace, path=source.shown)
    return trace if source.rank is None else replace(trace, rank=source.rank, rank_stated=True)
