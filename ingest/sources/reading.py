"""The trace of a source on this machine or behind a URL; a file of several ranks has one for each."""

import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import PurePath

import pyarrow as pa
import pyarrow.compute as pc

from tracegraph.base.errors import InputError
from tracegraph.ingest.arrays import Flags
from tracegraph.ingest.integrity.trace_checks import check_trace
from tracegraph.ingest.integrity_findings import Integrity
from tracegraph.ingest.readers import read_parts_unchecked
from tracegraph.ingest.readers.foreign_files import refuse_name
from tracegraph.ingest.sources.fetch import local_copy
from tracegraph.ingest.sources.merged_ranks import Merged, find_merged, stated_ranks
from tracegraph.ingest.sources.rank_names import ranks_in_names
from tracegraph.ingest.sources.ranks_given import given_ranks
from tracegraph.ingest.sources.source import Source
from tracegraph.ingest.trace import TraceFile


def split(trace: TraceFile, merged: Merged) -> list[TraceFile]:
    """Cut a file into one for each rank: its rows, and what belongs to its processes besides."""
    assert merged.of_row is not None
    return [_part(trace, merged, merged.of_row == k, k) for k in range(len(merged.numbers))]


def _part(trace: TraceFile, merged: Merged, mine: Flags, place: int) -> TraceFile:
    events = trace.events.filter(pa.array(mine))
    processes = pa.array(events["pid"].unique().cast(pa.string()).to_pylist(), pa.string())
    flows, memory, off_cpu = (
        table.filter(pc.is_in(table["pid"].cast(pa.string()), processes))
        for table in (trace.flows, trace.memory, trace.off_cpu)
    )
    known = pc.is_in(trace.counters["source_index"], events["source_index"].combine_chunks())
    count = len(merged.numbers)
    return TraceFile(
        path=trace.path,
        sha256=trace.sha256,
        rank=merged.numbers[place],
        events=events,
        flows=flows,
        memory=memory,
        thread_names=trace.thread_names,
        process_names=trace.process_names,
        devices=trace.devices,
        device_memory=trace.device_memory,
        versions=trace.versions,
        other_phases={},
        rank_stated=True,
        world_size=trace.world_size if trace.world_size is None or trace.world_size >= count else None,
        counters=trace.counters.filter(known),
        part=merged.names[place],
        operations=trace.operations.filter(pc.equal(trace.operations["rank"], merged.numbers[place])),
        orders=_orders_among(trace.orders, events),
        off_cpu=off_cpu,
    )


def _orders_among(orders: pa.Table, events: pa.Table) -> pa.Table:
    """Keep what is said of the order of these events."""
    own = events["source_index"].combine_chunks()
    return orders.filter(pc.is_in(orders["cause"], own))


def read_ranks(
    source: Source, integrity: Integrity, *, of_job: bool = False
) -> list[tuple[TraceFile, Integrity]]:
    """Read a source like `read_source`, but a file of several merged ranks as one trace for each.

    The traces are in order of their ranks. Findings about the file as a whole go to the first of them.

    Parameters
    ----------
    of_job
        Whether other files of the job are read, too. A report's processes are then ranks of that job; a file
        in which a tool merged ranks, whose numbers may be the tool's own, is refused.
    """
    parts = _read(source, integrity)
    if len(parts) > 1:
        _state_parts(parts)
        if of_job:
            return parts
        # Their order stands for what the file does not state, and the findings say so.
        return [(replace(trace, rank_stated=True), own) for trace, own in parts]
    trace = parts[0][0]
    stated = stated_ranks(trace)
    merged = stated or (find_merged(trace) if source.rank is None else None)
    if merged is None or merged.of_row is None:
        if merged is not None:
            _state_merged(trace, merged, integrity)
        check_trace(trace, integrity)
        return [(trace, integrity)]
    if of_job:
        raise _several(source, len(merged.numbers))
    ranks = sorted(split(trace, merged), key=lambda part: part.rank)
    found = [(part, integrity.another() if k else integrity) for k, part in enumerate(ranks)]
    if stated is None:
        _state_split(merged, integrity)
    for part, own in found:
        check_trace(part, own)
    return found


def _state_split(merged: Merged, integrity: Integrity) -> None:
    """State that ranks were told apart which a tool had merged."""
    assert merged.of_row is not None
    left = int((merged.of_row < 0).sum())
    beside = f"; {left} events of other processes are left out" if left else ""
    message = (
        f"ranks were merged into the file ({', '.join(merged.names[:8])}), told apart by {merged.how}{beside}"
    )
    integrity.add("ranks_split", len(merged.numbers), message)


def _state_parts(parts: Sequence[tuple[TraceFile, Integrity]]) -> None:
    """State that a file holds several ranks, and how the numbers are known of which it states none."""
    first = parts[0][1]
    names = ", ".join(f"{trace.part} is rank {trace.rank}" for trace, _ in parts[:8])
    first.add("ranks_split", len(parts), f"processes of the file are ranks of one job: {names}")
    for trace, own in parts:
        check_trace(trace, own)


def _state_merged(trace: TraceFile, merged: Merged, integrity: Integrity) -> None:
    """State that ranks cannot be distinguished, and how a user who knows them can split the file."""
    command = shlex.join(
        ["tracegraph", "convert", PurePath(trace.path).name, "rank0.json", "--process", merged.names[0]]
    )
    message = (
        f"processes launched GPU work ({', '.join(merged.names[:4])}), and nothing proves whose is whose: to "
        f"split the file, name the processes of each rank, as {command} --process DEVICE"
        if len(merged.names) > 1
        else f"process ({merged.names[0]}) uses its ids again and again at the same times: files of several "
        "processes with one number were joined, which nothing tells apart; report on the file of each"
    )
    integrity.add("ranks_merged", len(merged.names), message)


def read_source(source: Source, integrity: Integrity) -> TraceFile:
    """Read a file or a URL as `read_trace` does; the trace and all errors name it as it was given.

    The rank that the source was given counts before what the file says, and that before its name.

    Raises
    ------
    InputError
        If `read_trace` raises it, and for a file of several ranks.
    """
    ranks = read_ranks(source, integrity)
    if len(ranks) > 1:
        raise _several(source, len(ranks))
    return ranks[0][0]


def _several(source: Source, count: int) -> InputError:
    return InputError(
        f"{source.shown} holds {count} ranks itself, which a tool merged",
        "report on it alone, or give the file of each rank",
    )


def _read(source: Source, integrity: Integrity) -> list[tuple[TraceFile, Integrity]]:
    """Read the trace of each rank in a source, in the order of their ranks."""
    refuse_name(PurePath(source.shown))  # before it is fetched
    with local_copy(source, integrity) as path:
        try:
            found = read_parts_unchecked(path, integrity, named_rank=ranks_in_names([source.shown])[0])
        except InputError as error:
            raise InputError(error.message.replace(str(path), source.shown), error.hint) from None
    told = given_ranks(source, [trace.part for trace, _ in found])
    parts = []
    for trace, own in found:
        named = replace(trace, path=source.shown)
        if trace.part in told:
            named = replace(named, rank=told[trace.part], rank_stated=True)
        parts.append((named, own))
    return sorted(parts, key=lambda part: part[0].rank)
