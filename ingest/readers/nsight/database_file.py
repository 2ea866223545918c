"""Reports of Nsight Systems as SQLite databases, which `nsys export` makes of them."""

from functools import partial

from tracegraph.base.errors import InputError
from tracegraph.ingest.integrity_findings import Integrity
from tracegraph.ingest.readers.event_rows import build_events
from tracegraph.ingest.readers.nsight.allocations import read_allocations
from tracegraph.ingest.readers.nsight.annotations import read_annotations
from tracegraph.ingest.readers.nsight.calls import read_calls, read_overheads, read_syncs
from tracegraph.ingest.readers.nsight.gpu_work import read_gpu_work
from tracegraph.ingest.readers.nsight.machine import (
    read_devices,
    read_process_name,
    read_thread_names,
    read_versions,
)
from tracegraph.ingest.readers.nsight.processes import find_processes
from tracegraph.ingest.readers.nsight.ranks import find_standing, read_clock
from tracegraph.ingest.readers.nsight.report import (
    CALLS,
    COPIES,
    KERNELS,
    RANGES,
    SYNCS,
    SYSTEM_CALLS,
    Report,
)
from tracegraph.ingest.readers.nsight.scheduling import read_off_cpu
from tracegraph.ingest.readers.nsight.system_calls import read_system_calls
from tracegraph.ingest.readers.perfetto_text import draw_only_part
from tracegraph.ingest.readers.source_file import SourceFile
from tracegraph.ingest.readers.sqlite_file import has_tables, is_database, open_database, state_odd
from tracegraph.ingest.readers.trace_format import TraceFormat, TracePart, read_only_part
from tracegraph.ingest.trace import FLOW_SCHEMA, TraceFile

_OWN = ("META_DATA_EXPORT", "TARGET_INFO_SESSION_START_TIME", "ANALYSIS_DETAILS", KERNELS, CALLS, RANGES)
"""Tables that no other program's databases have: each report has one of them."""
_TIMES = ("start", "end")
_NEEDED = (
    (KERNELS, (*_TIMES, "globalPid", "streamId", "correlationId"), "which kernels ran", "--trace=cuda"),
    (COPIES, (*_TIMES, "globalPid", "streamId", "correlationId"), "what was copied", "--trace=cuda"),
    (
        CALLS,
        (*_TIMES, "globalTid", "nameId", "correlationId"),
        "what launched the work of GPUs",
        "--trace=cuda",
    ),
    (SYNCS, (*_TIMES, "globalPid", "correlationId"), "what calls waited for", "--trace=cuda"),
    (
        RANGES,
        ("start", "end", "globalTid", "eventType"),
        "steps, phases and the user's own ranges",
        "--trace=nvtx",
    ),
    (SYSTEM_CALLS, (*_TIMES, "globalTid", "nameId"), "where threads waited in the system", "--trace=osrt"),
)
"""Tables, the columns without which they cannot be used, what they tell, and the option that records it."""


def _holds(source: SourceFile) -> bool:
    return has_tables(source, *_OWN)


def _parts(source: SourceFile, integrity: Integrity) -> list[TracePart]:
    """Take the report apart into its processes with work on a GPU, in the order of their numbers."""
    database = open_database(source)
    processes = find_processes(database, integrity)
    if not processes:
        raise InputError(
            f"{source.path} is a report without any event of a process",
            "record with `nsys profile --trace=cuda,nvtx,osrt`, and export the report again",
        )
    _state_missing(source, integrity)
    alone = len(processes) == 1
    reports = [Report(database, process, integrity) for process in processes]
    return [TracePart(str(one.pid), partial(_read_process, source, one.process, alone)) for one in reports]


def _read_process(source: SourceFile, process: int, alone: bool, integrity: Integrity) -> TraceFile:
    report = Report(open_database(source), process, integrity)
    work = read_gpu_work(report)
    calls = read_calls(report)
    ranges, moments = read_annotations(report)
    found = [*work, *calls, read_syncs(report, calls), *ranges, *read_overheads(report)]
    found += read_system_calls(report, calls)
    integrity.limits.check_events(source.path, sum(map(len, found)))
    events = build_events(found, integrity)
    state_odd(report.database, integrity)
    devices, memory = read_devices(report)
    name = read_process_name(report)
    standing = find_standing(report, alone)
    return TraceFile(
        path=str(source.path),
        sha256=source.sha256,
        rank=standing.rank or 0,
        events=events,
        flows=FLOW_SCHEMA.empty_table(),
        memory=read_allocations(report, calls, events),
        thread_names=read_thread_names(report),
        process_names={str(report.pid): name} if name else {},
        devices=devices,
        device_memory=memory,
        versions=read_versions(report),
        other_phases=moments,
        rank_stated=standing.rank is not None,
        world_size=standing.size,
        part="" if alone else str(report.pid),
        clock=read_clock(report, source.sha256),
        off_cpu=read_off_cpu(report),
    )


def _state_missing(source: SourceFile, integrity: Integrity) -> None:
    """Record the tables that the report lacks, with what they would tell, and those that cannot be used."""
    database = open_database(source)
    absent = [(table, told, option) for table, _, told, option in _NEEDED if not database.has(table)]
    listed = "; ".join(f"{table} ({told}: record with {option})" for table, told, option in absent)
    integrity.add("tables_missing", len(absent), f"tables are not in the report: {listed}")
    broken = [
        f"{table}.{column}"
        for table, columns, _, _ in _NEEDED
        if database.has(table)
        for column in columns
        if not database.has(table, column)
    ]
    message = f"columns are not in the report, and what they tell is unknown: {', '.join(broken)}"
    integrity.add("columns_missing", len(broken), message)


NSIGHT = TraceFormat(
    name="Nsight Systems SQLite",
    suffixes=(".sqlite", ".sqlite.gz"),
    sniff=is_database,
    read=partial(read_only_part, _parts),
    holds=_holds,
    parts=_parts,
    chrome_text=partial(draw_only_part, _parts),
)
"""The format that `nsys export --type sqlite` writes."""
