"""Simulated Kineto traces as reports of Nsight Systems: the same rows, as far as a report has such rows."""

import json
import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tracegraph.ingest.trace import TraceFile
from tracegraph.vocabulary.categories import Role, has_role

Entry = Mapping[str, Any]
Key = tuple[str, int, int, str, str]
"""What an event of a report is known by: name, start and end in ns, process and thread as text."""
_NO_ID = 2**32 - 1
_PLACE = "start end deviceId contextId streamId correlationId globalPid"
_KERNELS, _COPIES, _GRAPHS, _CALLS, _SYNCS, _RECORDS = (
    f"CUPTI_ACTIVITY_KIND_{kind}"
    for kind in ("KERNEL", "MEMCPY", "GRAPH_TRACE", "RUNTIME", "SYNCHRONIZATION", "CUDA_EVENT")
)
_TABLES = {
    _KERNELS: f"{_PLACE} demangledName graphNodeId",
    _COPIES: f"{_PLACE} bytes copyKind srcKind dstKind",
    _GRAPHS: f"{_PLACE} graphId",
    _CALLS: "start end eventClass globalTid correlationId nameId",
    _SYNCS: f"{_PLACE} syncType eventId",
    _RECORDS: "contextId streamId correlationId globalPid eventId",
    "NVTX_EVENTS": "start end eventType globalTid textId domainId",
    "StringIds": "id value",
    "META_DATA_EXPORT": "name value",
}
"""Tables and columns of schema 3.16, in which a wait is joined to the record of its event by their times."""
_COPY_KINDS = {"HtoD": 1, "DtoH": 2}
_SYNC_TYPES = {"Context Sync": 0, "Event Sync": 1, "Stream Sync": 2, "Stream Wait Event": 2}
_MEMORY = ("Pageable", "Pinned", "Device")
_RANGE = 59


@dataclass(frozen=True)
class Form:
    """What a report was recorded with.

    Attributes
    ----------
    operators
        Whether `emit_nvtx` made a range of each operator.
    nodes
        Whether each kernel of a CUDA graph has a row; else each launch has one.
    """

    operators: bool = True
    nodes: bool = True


@dataclass
class _Report:
    """Rows by table, the shared texts, and the positions of the entries that have a row."""

    form: Form
    process: int
    rows: dict[str, list[Entry]] = field(default_factory=lambda: defaultdict(list))
    texts: dict[str, int] = field(default_factory=dict)
    positions: dict[Key, list[int]] = field(default_factory=lambda: defaultdict(list))

    def text(self, text: str) -> int:
        return self.texts.setdefault(text, len(self.texts))


def write_report(entries: Sequence[Entry], form: Form, target: Path) -> dict[Key, list[int]]:
    """Write the entries of a trace as a report, and return the positions of those that have a row in it."""
    events = [(k, one) for k, one in enumerate(entries) if one["ph"] == "X"]
    pid = next(one["pid"] for _, one in events if has_role(one["cat"], Role.CALL))
    report = _Report(form, pid << 24)
    for position, entry in events:
        _add(report, position, entry)
    if not form.nodes:
        _join_graphs(report)
    report.rows["META_DATA_EXPORT"].append({"name": "EXPORT_SCHEMA_VERSION", "value": "3.16.1"})
    report.rows["StringIds"] = [{"id": number, "value": text} for text, number in report.texts.items()]
    _write(report.rows, target)
    return report.positions


def _add(report: _Report, position: int, entry: Entry) -> None:
    """Add the row of an entry; a report has none of Python's functions, and none of the GPU's annotations."""
    category, name, args = entry["cat"], entry["name"], entry["args"]
    start = round(entry["ts"] * 1000)
    thread = {"globalTid": report.process | entry["tid"]} if isinstance(entry["tid"], int) else {}
    times = {"start": start, "end": start + round(entry["dur"] * 1000)}
    if has_role(category, Role.OPERATOR, Role.ANNOTATION):
        if has_role(category, Role.OPERATOR):
            if not report.form.operators:
                return
            number = args.get("Sequence number")
            name += f", op_id = {args['External id']}" if number is None else f", seq = {number}"
        report.rows["NVTX_EVENTS"].append(
            {**times, **thread, "eventType": _RANGE, "textId": report.text(name), "domainId": 0}
        )
    elif has_role(category, Role.CALL):
        row = {"eventClass": 0, "nameId": report.text(f"{name}_v3020"), "correlationId": args["correlation"]}
        report.rows[_CALLS].append({**times, **thread, **row})
    elif "stream" not in args or not _add_on_gpu(report, entry, times):
        return
    report.positions[_key(entry, times)].append(position)


def _key(entry: Entry, times: Mapping[str, int]) -> Key:
    place = str(entry["pid"]), str(entry["tid"])
    return entry["name"], times["start"], times["end"], *place


def _add_on_gpu(report: _Report, entry: Entry, times: Mapping[str, int]) -> bool:
    """Add the row of GPU work or of a wait; tell whether a report has such rows."""
    args, name = entry["args"], entry["name"]
    stream = args["stream"]
    where = {"contextId": 1, "streamId": _NO_ID if stream < 0 else stream, "globalPid": report.process}
    row = {**times, **where, "deviceId": args["device"], "correlationId": args.get("correlation")}
    if has_role(entry["cat"], Role.KERNEL):
        node = args.get("graph node id")
        report.rows[_KERNELS].append({**row, "demangledName": report.text(name), "graphNodeId": node})
        return node is None or report.form.nodes
    if has_role(entry["cat"], Role.COPY):
        kinds = [_MEMORY.index(word) for word in name.split("(")[1].rstrip(")").split(" -> ")]
        moved = {
            "bytes": args["bytes"],
            "copyKind": _COPY_KINDS[name.split()[1]],
            "srcKind": kinds[0],
            "dstKind": kinds[1],
        }
        report.rows[_COPIES].append({**row, **moved})
        return True
    if not has_role(entry["cat"], Role.SYNC):
        return False
    event = args.get("wait_on_cuda_event_id", _NO_ID)
    report.rows[_SYNCS].append({**row, "syncType": _SYNC_TYPES[name], "eventId": event})
    if event != _NO_ID:
        record = {"streamId": args["wait_on_stream"], "eventId": event}
        correlation = args["wait_on_cuda_event_record_corr_id"]
        report.rows[_RECORDS].append({**where, **record, "correlationId": correlation})
    return True


def _join_graphs(report: _Report) -> None:
    """Put one row in the place of the kernels of each launch of a graph, on the stream of the first."""
    launches: dict[int, list[Entry]] = defaultdict(list)
    for row in report.rows[_KERNELS]:
        if row["graphNodeId"] is not None:
            launches[row["correlationId"]].append(row)
    for rows in launches.values():
        end = max(row["end"] for row in rows)
        report.rows[_GRAPHS].append({**min(rows, key=lambda row: row["start"]), "end": end, "graphId": 1})
    report.rows[_KERNELS] = [row for row in report.rows[_KERNELS] if row["graphNodeId"] is None]


def _write(rows: Mapping[str, Iterable[Entry]], target: Path) -> None:
    target.unlink(missing_ok=True)
    with sqlite3.connect(target) as connection:
        for table, mine in rows.items():
            columns = _TABLES[table].split()
            names, marks = ", ".join(f'"{name}"' for name in columns), ", ".join("?" * len(columns))
            connection.execute(f'CREATE TABLE "{table}" ({names})')
            values = ([row.get(column) for column in columns] for row in mine)
            connection.executemany(f'INSERT INTO "{table}" VALUES ({marks})', values)
    connection.close()


def positions_of(trace: TraceFile, positions: Mapping[Key, Sequence[int]]) -> list[int]:
    """Return the position in the simulation of each event that was read from its report; -1 for none."""
    left: dict[Key, Iterator[int]] = {key: iter(places) for key, places in positions.items()}
    columns = ("name", "start_ns", "end_ns", "pid", "tid")
    keys = zip(*(trace.events[name].to_pylist() for name in columns), strict=True)
    return [next(left[key], -1) if key in left else -1 for key in keys]


def only_rows(truth: Mapping[str, Any], known: set[int]) -> dict[str, Any]:
    """Return the truth of a simulation without the names of events that have no row; their time remains."""
    segments = [[rank, at if at in known else -1, *rest] for rank, at, *rest in truth["segments"]]
    return {**truth, "segments": segments}


def read_entries(path: Path) -> list[dict[str, Any]]:
    """Read the entries of a simulated trace."""
    entries: list[dict[str, Any]] = json.loads(path.read_bytes())["traceEvents"]
    return entries
