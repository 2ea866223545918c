"""Calls of a report into CUDA's runtime and driver, and what they waited for."""

import re
from dataclasses import replace

import numpy as np
import pandas as pd

from tracegraph.ingest.array_tables import find_positions
from tracegraph.ingest.arrays import Ints
from tracegraph.ingest.causal.events.events import NONE
from tracegraph.ingest.readers.event_rows import EventRows, join_texts
from tracegraph.ingest.readers.nsight.report import (
    CALLS,
    OVERHEADS,
    RECORDS,
    SYNCS,
    TOOL_OVERHEADS,
    Report,
    thread_of,
)
from tracegraph.ingest.readers.sqlite_file import Rows
from tracegraph.ingest.text_columns import TextColumn, text_column
from tracegraph.vocabulary.categories import Role, names_of

_DRIVER = 1
"""The eventClass of calls into the driver; all others are the runtime's."""
_VERSION = re.compile(r"_v\d{4,}$", re.ASCII)
_NO_ID = 2**32 - 1
"""The number of a stream or an event that stands for none."""
_ALL_STREAMS = -1
_KINDS = (
    ("Query", ""),
    ("StreamWaitEvent", "Stream Wait Event"),
    ("DeviceSync", "Context Sync"),
    ("CtxSync", "Context Sync"),
    ("EventSync", "Event Sync"),
    ("StreamSync", "Stream Sync"),
)
"""What a call with this in its name waits for, in Kineto's words; a query waits for nothing.

The name of the call tells: the numbers in `syncType` mean something else in each version of the schema.
"""
_RUNTIME_NAME, _DRIVER_NAME = names_of(Role.CALL)
(_SYNC,), (_OVERHEAD,) = names_of(Role.SYNC), names_of(Role.OVERHEAD)


def read_calls(report: Report) -> list[EventRows]:
    """Read the calls, the runtime's and the driver's."""
    rows = report.rows(
        CALLS, "globalTid", ("start", "end", "globalTid", "nameId", "eventClass", "correlationId")
    )
    named = report.names(rows["nameId"])
    name = text_column(named.codes, [text and _VERSION.sub("", text) for text in named.values])
    numbers = {"correlation": rows["correlationId"]}
    pid = np.full(rows.count, report.pid)
    found = EventRows(
        _RUNTIME_NAME, name, rows["start"], rows["end"], pid, thread_of(rows["globalTid"]), numbers
    )
    driver = rows["eventClass"] == _DRIVER
    return [found.take(~driver), replace(found.take(driver), category=_DRIVER_NAME)]


def read_syncs(report: Report, calls: list[EventRows]) -> EventRows:
    """Read what calls waited for: a device, a stream, an event, or a stream for an event.

    Rows whose call was not recorded, as at the borders of a range that was captured, are left out: what they
    waited for is unknown.
    """
    rows = report.rows(
        SYNCS,
        "globalPid",
        ("start", "end", "deviceId", "contextId", "streamId", "correlationId", "eventId", "eventSyncId"),
    )
    if not rows.count:
        return EventRows(_SYNC, text_column(np.empty(0, np.int64), []), *(rows["start"],) * 4)
    joined = join_texts([one.name for one in calls])
    ids = np.concatenate([one.numbers["correlation"] for one in calls])
    call = find_positions(ids, rows["correlationId"])
    starts = np.append(np.concatenate([one.start for one in calls]), NONE)
    stream = np.where(rows["streamId"] == _NO_ID, NONE, rows["streamId"])
    event = np.where(rows["eventId"] == _NO_ID, NONE, rows["eventId"])
    kind = _kinds(joined, call, stream, event)
    message = "rows of waits have no call in the report: what they waited for is unknown"
    report.integrity.add("sync_without_call", int((call < 0).sum()), message)
    records = report.rows(
        RECORDS, "globalPid", ("contextId", "streamId", "correlationId", "eventId", "eventSyncId")
    )
    at = starts[find_positions(ids, records["correlationId"])]
    record = _records(rows, records, event, (starts[call], at))
    stream = np.where(stream == NONE, _ALL_STREAMS, stream)
    numbers = {
        "correlation": rows["correlationId"],
        "device": rows["deviceId"],
        "stream": stream,
        "wait_on_record": np.append(records["correlationId"], NONE)[record],
        "wait_on_stream": np.append(records["streamId"], NONE)[record],
    }
    device = np.where(rows["deviceId"] == NONE, 0, rows["deviceId"])
    found = EventRows(_SYNC, kind, rows["start"], rows["end"], device, stream, numbers)
    return found.take(~kind.among("") & (call >= 0))


def _kinds(names: TextColumn, call: Ints, stream: Ints, event: Ints) -> TextColumn:
    """Find what each row is by its call's name; by what it names if the call is made for something else."""
    texts = ["", "Context Sync", "Stream Sync", "Event Sync", "Stream Wait Event"]
    otherwise = np.where(event != NONE, 3, np.where(stream != NONE, 2, 1))
    told = [
        next((texts.index(kind) for part, kind in _KINDS if part in (name or "")), -1)
        for name in names.values
    ]
    of_call = np.append(np.array(told, dtype=np.int64)[names.codes], -1)[call]
    return text_column(np.where(of_call >= 0, of_call, otherwise), texts)


def _records(rows: Rows, records: Rows, event: Ints, times: tuple[Ints, Ints]) -> Ints:
    """Find the row that recorded the event of each wait, -1 for none.

    Newer reports join the two by a number of their own; in others it is the newest record of the event
    before the wait. `times`: when the calls of the waits and of the records began, ns.
    """
    since, at = times
    keys = ["contextId", "eventId"]
    right = pd.DataFrame({name: records[name] for name in keys} | {"at": at}).reset_index(names="record")
    left = pd.DataFrame({"contextId": rows["contextId"], "eventId": event, "at": since})
    left = left.reset_index(names="row")
    newest = pd.merge_asof(
        left.sort_values("at", kind="stable"), right.sort_values("at", kind="stable"), on="at", by=keys
    ).sort_values("row")
    by_time = np.where(event == NONE, -1, newest["record"].fillna(-1).to_numpy(np.int64))
    numbered = np.flatnonzero(records["eventSyncId"] > 0)
    place = find_positions(records["eventSyncId"][numbered], rows["eventSyncId"])
    return np.where(place >= 0, np.append(numbered, -1)[place], by_time)


def read_overheads(report: Report) -> list[EventRows]:
    """Read the profiler's own work on threads of the process, and the loading of modules that CUDA does."""
    found = []
    for table in (TOOL_OVERHEADS, OVERHEADS):
        rows = report.rows(table, "globalTid", ("start", "end", "globalTid", "nameId", "correlationId"))
        pid, thread = np.full(rows.count, report.pid), thread_of(rows["globalTid"])
        found.append(
            EventRows(_OVERHEAD, report.names(rows["nameId"]), rows["start"], rows["end"], pid, thread)
        )
    return found
