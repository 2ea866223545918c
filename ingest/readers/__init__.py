"""Trace formats: each reader returns the same `TraceFile`."""

from dataclasses import replace
from pathlib import Path

import pandas as pd

from tracegraph.base.errors import InputError
from tracegraph.ingest.findings import Integrity
from tracegraph.ingest.integrity.trace_checks import check_trace
from tracegraph.ingest.readers.registry import format_of
from tracegraph.ingest.readers.source_file import open_source
from tracegraph.ingest.trace import TraceFile


def read_trace(path: Path, integrity: Integrity) -> TraceFile:
    """Read the trace in `path` into columns; it has one of the formats in `registry`, plain or gzip.

    What is odd, dropped, repaired or missing goes to `integrity`.

    Raises
    ------
    InputError
        For a file that is not a trace, of which no event can be used, or that is beyond the limits.
    """
    trace = read_unchecked(path, integrity)
    check_trace(trace, integrity)
    return trace


def read_unchecked(path: Path, integrity: Integrity, named_rank: int | None = None) -> TraceFile:
    """Read a trace as `read_trace` does, without the checks of its columns as a whole.

    `named_rank`: the rank of a file that states none itself.
    """
    source = open_source(path, integrity)
    trace = format_of(source).read(source, integrity)
    if named_rank is not None and not trace.rank_stated:
        trace = replace(trace, rank=named_rank)
    _refuse_unusable(trace, integrity)
    return trace


def _refuse_unusable(trace: TraceFile, integrity: Integrity) -> None:
    """Raise InputError if no event is left, or if there are more threads and streams than the limits allow.

    Each of them is a lane of the graph and of every picture.
    """
    if not trace.events.num_rows:
        losses = "".join(f"; {loss.count} {loss.message}" for loss in integrity if loss.level != "info")
        raise InputError(
            f"{trace.path} holds no event with a duration{losses}", "record it again over at least one step"
        )
    pid, tid = (trace.events[name].combine_chunks().indices.to_numpy() for name in ("pid", "tid"))
    lanes = len(pd.unique(pid.astype("int64") << 32 | tid))
    most = integrity.limits.threads
    if lanes > most:
        raise InputError(
            f"the trace has {lanes:,} threads and streams, more than {most:,}",
            "raise the limit with --limit threads=N if each of them is one",
        )
