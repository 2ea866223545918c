"""Databases of rocmProfileData (`.rpd`): ROCm's calls and the work of its GPUs."""

from functools import partial

from tracegraph.base.errors import InputError
from tracegraph.ingest.integrity_findings import Integrity
from tracegraph.ingest.readers.event_rows import build_events
from tracegraph.ingest.readers.perfetto_text import draw_only_part
from tracegraph.ingest.readers.rpd.process import CALLS, LINKS, WORK, Process, read_calls, read_work
from tracegraph.ingest.readers.source_file import SourceFile
from tracegraph.ingest.readers.sqlite_file import (
    Database,
    has_tables,
    is_database,
    open_database,
    state_odd,
)
from tracegraph.ingest.readers.trace_format import TraceFormat, TracePart, read_only_part
from tracegraph.ingest.trace import FLOW_SCHEMA, TraceFile


def _holds(source: SourceFile) -> bool:
    return has_tables(source, CALLS, WORK)


def _parts(source: SourceFile, integrity: Integrity) -> list[TracePart]:
    """Take a database apart into its processes with work on a GPU; without such work, the busiest one."""
    database = open_database(source)
    absent = [table for table in (CALLS, WORK, LINKS) if not database.has(table)]
    message = f"tables are not in the database, and what they tell is unknown: {', '.join(absent)}"
    integrity.add("columns_missing", len(absent), message)
    pids = _pids(database)
    if not pids:
        raise InputError(
            f"{source.path} is a database of rocmProfileData without any call or work",
            "record with `runTracer.sh -o trace.rpd python train.py`",
        )
    return [TracePart(str(pid), partial(_read_process, source, pid, len(pids) == 1)) for pid in pids]


def _pids(database: Database) -> list[int]:
    if not database.has(CALLS, "id", "pid"):
        return [0] if database.has(WORK) else []  # the work alone has no process
    rows = f'SELECT "pid", count(*) AS n FROM {CALLS} WHERE typeof("pid") = \'integer\''
    order = 'GROUP BY "pid" ORDER BY n DESC, "pid"'
    linked = f'AND "id" IN (SELECT "api_id" FROM {LINKS})' if database.has(LINKS, "api_id", "op_id") else ""
    found = [pid for pid, _ in database.ask(f"{rows} {linked} {order}")] if linked else []
    return sorted(found) or [pid for pid, _ in database.ask(f"{rows} {order} LIMIT 1")]


def _read_process(source: SourceFile, pid: int, alone: bool, integrity: Integrity) -> TraceFile:
    database = open_database(source)
    process = Process(database, pid, alone, integrity)
    work, barriers = read_work(process)
    found = [*work, *read_calls(process)]
    integrity.limits.check_events(source.path, sum(map(len, found)))
    events = build_events(found, integrity)
    state_odd(database, integrity)
    stated = database.read("rocpd_metadata", (), ("value",), "tag = 'schema_version'")
    return TraceFile(
        path=str(source.path),
        sha256=source.sha256,
        rank=0,
        events=events,
        flows=FLOW_SCHEMA.empty_table(),
        versions={"rpd_schema": str(schema[0])} if (schema := stated.texts["value"][:].tolist()) else {},
        other_phases=barriers,
        rank_stated=False,
        part="" if alone else str(pid),
    )


RPD = TraceFormat(
    name="rocmProfileData",
    suffixes=(".rpd", ".rpd.gz"),
    sniff=is_database,
    read=partial(read_only_part, _parts),
    holds=_holds,
    parts=_parts,
    chrome_text=partial(draw_only_part, _parts),
)
"""The format of the databases that `runTracer.sh` and `rpd_tracer` write."""
