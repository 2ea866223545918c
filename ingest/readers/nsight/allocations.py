"""Memory of devices that CUDA was asked for in a report (`nsys profile --cuda-memory-usage=true`).

Written from the documentation of the exported table; no report that holds it was at hand to try.
"""

import numpy as np
import pyarrow as pa

from tracegraph.ingest.array_tables import find_positions
from tracegraph.ingest.arrays import Ints
from tracegraph.ingest.causal.events.events import NONE
from tracegraph.ingest.readers.event_rows import EventRows, number_texts
from tracegraph.ingest.readers.nsight.report import ALLOCATIONS, Report
from tracegraph.ingest.readers.usable_rows import MAX_SPAN_NS, usable_sizes
from tracegraph.ingest.text_columns import TextColumn, text_column
from tracegraph.ingest.trace import MEMORY_SCHEMA, table_in
from tracegraph.vocabulary.memory import device_number

_ALLOCATES, _FREES = 0, 1
"""What memoryOperationType says of a row."""
_ELSEWHERE = (0, 1, 4, 6)
"""Kinds of memory that are the host's (pageable, pinned), or that move (managed): no device holds them."""


def read_allocations(report: Report, calls: list[EventRows], events: pa.Table) -> pa.Table:
    """Read what was allocated on devices and freed, each on the thread whose call did it.

    What was in use before the recording is unknown, so no row states a total.

    Returns
    -------
    pa.Table
        In MEMORY_SCHEMA; the source indices follow those of `events`.
    """
    rows = report.rows(
        ALLOCATIONS,
        "globalPid",
        ("start", "deviceId", "bytes", "memKind", "memoryOperationType", "correlationId"),
    )
    if not rows.count or not events.num_rows:
        return MEMORY_SCHEMA.empty_table()
    at, size, operation = rows["start"], rows["bytes"], rows["memoryOperationType"]
    near = int(np.median(events["start_ns"].to_numpy()))
    # What is absent is a number far from all others.
    usable = (at >= near - MAX_SPAN_NS) & (at <= near + MAX_SPAN_NS)
    usable &= np.isin(operation, (_ALLOCATES, _FREES)) & (size >= 0)
    usable = usable_sizes(size, usable)
    message = "rows of allocations have no usable time, size or operation and are left out"
    report.integrity.add("memory_row_broken", int((~usable).sum()), message)
    chosen = np.flatnonzero(usable & ~np.isin(rows["memKind"], _ELSEWHERE))
    chosen = chosen[np.argsort(at[chosen], kind="stable")]
    device = np.where(rows["deviceId"] == NONE, 0, rows["deviceId"])
    columns = {
        "source_index": pa.array(np.arange(len(chosen)) + events.num_rows),
        "pid": number_texts(np.full(len(chosen), report.pid)).arrow(),
        "tid": _threads(calls, rows["correlationId"][chosen]).arrow(),
        "at_ns": pa.array(at[chosen]),
        "device_type": pa.array(np.full(len(chosen), device_number("cuda"))),
        "device": pa.array(device[chosen]),
        "bytes": pa.array(np.where(operation == _FREES, -size, size)[chosen]),
    }
    return table_in(MEMORY_SCHEMA, columns)


def _threads(calls: list[EventRows], correlation: Ints) -> TextColumn:
    """Find the thread of the call with each correlation; no text if the report does not hold the call."""
    ids = np.concatenate([one.numbers["correlation"] for one in calls])
    threads = np.append(np.concatenate([one.inner for one in calls]), NONE)
    distinct, codes = np.unique(threads[find_positions(ids, correlation)], return_inverse=True)
    return text_column(codes, ["" if number == NONE else str(number) for number in distinct.tolist()])
