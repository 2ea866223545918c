"""Trace formats: each reader returns the same `TraceFile`."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pandas as pd

from tracegraph.base.errors import InputError
from tracegraph.ingest.integrity.trace_checks import check_trace
from tracegraph.ingest.integrity_findings import Integrity
from tracegraph.ingest.readers.paused_collection import collection_paused
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
    source = open_source(path, integrity)
    with collection_paused():
        trace = format_of(source).read(source, integrity)
    _refuse_unusable(trace, integrity)
    check_trace(trace, integrity)
    return trace


def read_parts_unchecked(
    path: Path, integrity: Integrity, named_rank: int | None = None
) -> list[tuple[TraceFile, Integrity]]:
    """Read the trace of each rank in a file, without the checks of its columns as a whole, with its findings.

    Findings about the file as a whole go to the first. Ranks that the file does not state are the lowest
    numbers that are left, in the order of the parts. `named_rank` counts only for a file of one rank.
    """
    source = open_source(path, integrity)
    form = format_of(source)
    found: list[tuple[TraceFile, Integrity]] = []
    with collection_paused():
        if form.parts is None:
            found.append((form.read(source, integrity), integrity))
        else:
            for part in form.parts(source, integrity):
                own = integrity.another() if found else integrity
                found.append((part.read(own), own))
    for trace, own in found:
        _refuse_unusable(trace, own)
    if len(found) == 1:
        return [(_named(found[0][0], named_rank), integrity)]
    traces = zip(_numbered([trace for trace, _ in found]), (own for _, own in found), strict=True)
    return sorted(traces, key=lambda one: one[0].rank)


def _numbered(traces: Sequence[TraceFile]) -> list[TraceFile]:
    """Keep the rank that a trace alone states, and give the others what numbers are left, as not stated."""
    stated = [trace.rank if trace.rank_stated else None for trace in traces]
    kept = [rank if stated.count(rank) == 1 else None for rank in stated]
    left = iter(sorted(set(range(len(traces))).difference(rank for rank in kept if rank is not None)))
    return [
        replace(trace, rank=next(left), rank_stated=False) if rank is None else trace
        for trace, rank in zip(traces, kept, strict=True)
    ]


def _named(trace: TraceFile, rank: int | None) -> TraceFile:
    return replace(trace, rank=rank) if rank is not None and not trace.rank_stated else trace


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
