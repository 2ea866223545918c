"""Reports of Nsight Systems for tests: databases with the tables and columns that a schema has."""

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import tiny

PID = 1
PROCESS = 1 << 48 | PID << 24
"""The globalPid of the process in these reports."""
NO_ID = 2**32 - 1
_PLACE = "start end deviceId contextId streamId correlationId globalPid"
TABLES = {
    "CUPTI_ACTIVITY_KIND_KERNEL": f"{_PLACE} demangledName shortName graphNodeId",
    "CUPTI_ACTIVITY_KIND_MEMCPY": f"{_PLACE} bytes copyKind srcKind dstKind",
    "CUPTI_ACTIVITY_KIND_MEMSET": f"{_PLACE} bytes memKind",
    "CUPTI_ACTIVITY_KIND_GRAPH_TRACE": f"{_PLACE} graphId graphExecId",
    "CUPTI_ACTIVITY_KIND_RUNTIME": "start end eventClass globalTid correlationId nameId",
    "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION": f"{_PLACE} syncType eventId eventSyncId",
    "CUPTI_ACTIVITY_KIND_CUDA_EVENT": "contextId streamId correlationId globalPid eventId eventSyncId",
    "CUPTI_ACTIVITY_KIND_OVERHEAD": "start end globalTid correlationId nameId",
    "PROFILER_OVERHEAD": "start end globalTid nameId",
    "NVTX_EVENTS": "start end eventType text globalTid endGlobalTid textId domainId jsonText binaryData",
    "NVTX_PAYLOAD_SCHEMA_ENTRIES": "domainId schemaId idx type name offset",
    "OSRT_API": "start end globalTid nameId",
    "SCHED_EVENTS": "start cpu isSchedIn globalTid threadState threadBlock",
    "StringIds": "id value",
    "ThreadNames": "nameId priority globalTid",
    "PROCESSES": "globalPid pid name",
    "ProcessStreams": "globalPid filenameId contentId",
    "META_DATA_EXPORT": "name value",
    "META_DATA_CAPTURE": "name value",
    "TARGET_INFO_SYSTEM_ENV": "name value",
    "TARGET_INFO_GPU": "id name cuDevice totalMemory chipName",
    "TARGET_INFO_CUDA_DEVICE": "gpuId cudaId pid",
    "CUDA_GPU_MEMORY_USAGE_EVENTS": "start globalPid deviceId contextId address bytes memKind "
    "memoryOperationType correlationId",
}
"""The columns of each table that are read; the real ones have many more."""
SYNC_TYPES = {
    "3.16": {"Context Sync": 0, "Event Sync": 1, "Stream Sync": 2, "Stream Wait Event": 2},
    "3.17": dict.fromkeys(("Context Sync", "Event Sync", "Stream Sync", "Stream Wait Event"), 0),
    "3.25": {"Event Sync": 1, "Stream Wait Event": 2, "Stream Sync": 3, "Context Sync": 4},
}
"""What `syncType` says in each version of the schema."""
Record = Mapping[str, object]
KERNEL, COPY, SET, GRAPH, CALL, SYNC, RECORD, OVERHEAD = list(TABLES)[:8]
ALLOCATION = "CUDA_GPU_MEMORY_USAGE_EVENTS"


class Report:
    """Collects rows by table, with shared texts, and writes them as a database."""

    def __init__(self, version: str = "3.25") -> None:
        self.version = version
        self.rows: dict[str, list[Record]] = {}
        self.texts: dict[str, int] = {"[Unknown]": 0}

    def text(self, text: str) -> int:
        """The number that stands for a text."""
        return self.texts.setdefault(text, len(self.texts))

    def add(self, table: str, **row: object) -> None:
        """Add a row to a table."""
        self.rows.setdefault(table, []).append(row)

    def write(self, path: Path, leave_out: Sequence[str] = ()) -> Path:
        """Write the tables that have rows, without the tables and columns (`TABLE.column`) in `leave_out`."""
        path.unlink(missing_ok=True)
        self.rows.setdefault("META_DATA_EXPORT", [{"name": "EXPORT_SCHEMA_VERSION", "value": self.version}])
        connection = sqlite3.connect(path)
        connection.execute("PRAGMA synchronous = OFF")
        with connection:
            texts = [{"id": number, "value": text} for text, number in self.texts.items()]
            for table, rows in {"StringIds": texts, **self.rows}.items():
                if table not in leave_out:
                    columns = [c for c in TABLES[table].split() if f"{table}.{c}" not in leave_out]
                    _insert(connection, table, columns, rows)
        connection.close()
        return path


def _insert(connection: sqlite3.Connection, table: str, columns: list[str], rows: Iterable[Record]) -> None:
    names = ", ".join(f'"{column}"' for column in columns)
    connection.execute(f'CREATE TABLE "{table}" ({names})')
    marks = ", ".join("?" * len(columns))
    values = ([row.get(column) for column in columns] for row in rows)
    connection.executemany(f'INSERT INTO "{table}" VALUES ({marks})', values)


def thread(number: int, process: int = PROCESS) -> int:
    """The globalTid of a thread."""
    return process | number


def of_rows(rows: Iterable[tiny.Row], version: str = "3.25") -> Report:
    """A report that says the same as rows of Kineto, of each kind of rows that a report can have."""
    report = Report(version)
    for row in rows:
        _add(report, row)
    return report


def _add(report: Report, row: tiny.Row) -> None:
    times = {"start": row["start_ns"], "end": row["end_ns"]}
    name, category = str(row["name"]), row["category"]
    on_thread = {**times, "globalTid": PROCESS | int(str(row["tid"]))}
    if category == "user_annotation":
        report.add("NVTX_EVENTS", **on_thread, eventType=59, text=name, domainId=0)
        return
    if category == "cpu_op":
        sequence = row.get("sequence_number")
        text = f"{name}, op_id = 7" if sequence is None else f"{name}, seq = {sequence}, op_id = 7"
        report.add("NVTX_EVENTS", **on_thread, eventType=70, textId=report.text(text), domainId=0)
        return
    if category in ("cuda_runtime", "cuda_driver"):
        class_ = int(category == "cuda_driver")
        number = report.text(f"{name}_v3020" if not class_ else name)
        report.add(CALL, **on_thread, eventClass=class_, nameId=number, correlationId=row["correlation"])
        return
    stream = row["stream"]
    place = {
        **times,
        "deviceId": row["device"],
        "contextId": 1,
        "streamId": NO_ID if stream == -1 else stream,
        "correlationId": row["correlation"],
        "globalPid": PROCESS,
    }
    if category == "kernel":
        report.add(KERNEL, **place, demangledName=report.text(name))
    elif category == "gpu_memcpy":
        report.add(COPY, **place, bytes=row["bytes"], copyKind=1, srcKind=0, dstKind=2)
    elif category == "gpu_memset":
        report.add(SET, **place, bytes=row["bytes"], memKind=2)
    elif category == "cuda_sync":
        _add_sync(report, row, place)
    else:
        raise AssertionError(f"a report cannot say {category}")


def _add_sync(report: Report, row: tiny.Row, place: Record) -> None:
    """A row of a wait, and the record of its event: older schemas join the two by times only."""
    record = row.get("wait_on_record")
    number = len(report.rows.get(RECORD, ())) + 1
    event = NO_ID if record is None else number
    newer = report.version == "3.25"
    kind = SYNC_TYPES[report.version][str(row["name"])]
    both = {"eventId": event, "eventSyncId": number if newer else None}
    report.add(SYNC, **place, syncType=kind, **(both if record is not None else {"eventId": NO_ID}))
    if record is not None:
        where = {"contextId": 1, "globalPid": PROCESS}
        report.add(RECORD, **where, streamId=row["wait_on_stream"], correlationId=record, **both)
