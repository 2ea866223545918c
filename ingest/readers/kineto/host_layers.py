"""One thread whose rows stand in several processes, one for each software layer (Ascend's files).

The calls of CANN run on the threads of the Python process, under the same ids: they are put back there.
"""

import re
from dataclasses import replace

import numpy as np
import pyarrow as pa

from tracegraph.ingest.arrays import Flags, Ints
from tracegraph.ingest.integrity_findings import Integrity
from tracegraph.ingest.readers.kineto.duration_columns import Durations
from tracegraph.ingest.readers.kineto.lane_facts import LaneTable, describe
from tracegraph.ingest.readers.kineto.thread_names import NameCollector
from tracegraph.ingest.text_columns import Codes, read_texts, text_column

_LAYER = re.compile(r"CANN|AscendCL|ACL|.*\bruntime(?: api)?", re.IGNORECASE)
_CALL = "cann_runtime"
_CROSSING = 0.01
"""The share of rows that may cross in one thread by the noise of times; they never do otherwise."""


def read_layers(
    durations: Durations, flows: pa.Table, names: NameCollector, integrity: Integrity
) -> tuple[Durations, pa.Table]:
    """Put the rows and flows of a runtime's layer on the threads on which they ran, as calls.

    A layer is a process with a runtime's name and rows without a category. Its thread is a thread of another
    process if that has the same id, and the rows of both are nested.
    """
    table = describe(durations, flows, names)
    layers = [
        k
        for k, lane in enumerate(table.lanes)
        if _LAYER.fullmatch(lane.process) and lane.foreign and not (lane.host or lane.work)
    ]
    if not layers:
        return durations, flows
    moved = {k: to for k in layers if (to := _thread_of(durations, table, k)) is not None}
    rows = table.rows_on(layers)
    categories = durations.category.values.tolist()
    category = text_column(np.where(rows, len(categories), durations.category.codes), [*categories, _CALL])
    link, linked = durations.numbers["link"]
    correlation, known = durations.numbers["correlation"]
    calls = rows & linked & ~known
    numbers = durations.numbers | {"correlation": (np.where(calls, link, correlation), known | calls)}
    pids = durations.pid.values.tolist()
    place = np.arange(len(table.lanes))
    for k, other in moved.items():
        place[k] = other
    codes = _first_codes(durations.pid.codes, table.of_row, len(table.lanes))
    pid = text_column(codes[place][table.of_row], pids)
    message = "threads have rows in several processes, one for each layer of software: they are read as one"
    integrity.add("thread_in_layers", len(moved), message)
    renamed = {(table.lanes[k].pid, table.lanes[k].tid): table.lanes[other].pid for k, other in moved.items()}
    return replace(durations, category=category, pid=pid, numbers=numbers), _moved(flows, renamed)


def _first_codes(codes: Codes, of_row: Ints, count: int) -> Ints:
    """Find the code of the process of each lane."""
    found = np.zeros(count, dtype=np.int64)
    found[of_row] = codes
    return found


def _thread_of(durations: Durations, table: LaneTable, layer: int) -> int | None:
    """Find the lane of another process that is the same thread; None if none or several may be."""
    tid = table.lanes[layer].tid
    hosts = {lane.pid for lane in table.lanes if lane.host}
    same = [k for k, lane in enumerate(table.lanes) if lane.tid == tid and lane.pid in hosts]
    fitting = [k for k in same if _nested(durations, (table.of_row == k) | (table.of_row == layer))]
    return fitting[0] if len(fitting) == 1 else None


def _nested(durations: Durations, rows: Flags) -> bool:
    """Tell whether rows lie within or beside each other, as those of one thread do."""
    index = np.flatnonzero(rows & durations.has_start & durations.has_dur)
    start, end = durations.start[index], durations.start[index] + durations.dur[index]
    order = np.lexsort((-end, start))
    start, end = start[order], end[order]
    crossing = (start[1:] < end[:-1]) & (end[1:] > end[:-1])
    return bool(crossing.mean() <= _CROSSING) if len(crossing) else True


def _moved(flows: pa.Table, renamed: dict[tuple[str, str], str]) -> pa.Table:
    """Move the flows of some lanes to other processes."""
    pid, tid = read_texts(flows["pid"]), read_texts(flows["tid"])
    known = pid.values.tolist()
    codes = pid.codes.astype(np.int64)
    for (process, thread), new in renamed.items():
        codes[pid.among(process) & tid.among(thread)] = len(known)
        known.append(new)
    place = flows.schema.get_field_index("pid")
    return flows.set_column(place, flows.schema.field("pid"), text_column(codes, known).arrow())
