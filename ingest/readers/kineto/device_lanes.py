"""Lanes of devices whose rows have no category of GPU work: NPUs, XPUs, older exports, JAX.

The name of such a lane says what it is (`Ascend Hardware`, `CUDA functions`, `/device:GPU:0`, a label such as
`NPU`, a thread `Stream 2` of a process that runs no operator), or flows that launch work end on it. Its rows
become GPU work, so that every rule sees them. Rows that sum up others, or that wait in a stream, are not
read.
"""

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from tracegraph.ingest.arrays import Flags, Ints
from tracegraph.ingest.integrity_findings import Integrity
from tracegraph.ingest.intervals import covered, ungrouped
from tracegraph.ingest.readers.kineto.duration_columns import Durations
from tracegraph.ingest.readers.kineto.lane_facts import LaneFacts, LaneTable, describe, last_number
from tracegraph.ingest.readers.kineto.thread_names import NameCollector
from tracegraph.ingest.text_columns import Codes, TextColumn, text_column
from tracegraph.vocabulary.categories import SPAN, Role, has_role, names_of

_KINDS = r"cuda|hip|rocm|gpu|xpu|npu|hpu|tpu|mtia|musa|mlu|gcu|dcu|privateuse(?:one|1)?"
_DEVICE = re.compile(
    r"(?:.*\b)?ascend hardware|.*/device:(?!cpu|host)[\w ]+:?\d*(?: .*)?"
    rf"|(?:{_KINDS})(?: functions| hardware| device| kernels| streams?)?[ :_-]*\d*",
    re.IGNORECASE,
)
_STREAM = re.compile(r"(?:hip|cuda)? ?stream[ #:]*\d+(?:\(.*\))? *", re.IGNORECASE)
_SUMMARY = re.compile(r".*\b(?:analysis|overview|summary|utili[sz]ation)\b.*", re.IGNORECASE)
_COMMUNICATION = re.compile(r"communication|hccl|nccl|rccl|.*ccl communication", re.IGNORECASE)
_BY_DEVICE = re.compile(rf"(?:{_KINDS}) functions", re.IGNORECASE)
"""Exports of `torch.autograd.profiler`, in which a thread is a device."""
_COPY = re.compile(r"mem ?cpy|memory ?copy|copy(?!.*kernel)\b|sdma|[dh]to[dh]", re.IGNORECASE)
_MEMSET = re.compile(r"mem ?set", re.IGNORECASE)
_WAIT = re.compile(r"(?:event|notify|stream)_?(?:wait|record|reset)(?:_\w+)?|wait_?event", re.IGNORECASE)
# The share (0..1) of a communication lane's time that streams must hold so that it only repeats them; the
# number from which on a device's index is not believed; and what is added to a stream that is taken already.
_COVERED, _MOST_DEVICES, _OWN_STREAMS = 0.9, 4096, 1 << 20
(_KERNEL,), (_MEMCPY,), (_SET,) = names_of(Role.KERNEL), names_of(Role.COPY), names_of(Role.MEMSET)


@dataclass(frozen=True)
class _Stream:
    device: int
    stream: int


def read_device_lanes(
    durations: Durations, flows: pa.Table, names: NameCollector, integrity: Integrity
) -> Durations:
    """Make GPU work of the rows on lanes of devices: category, device, stream and correlation."""
    table = describe(durations, flows, names)
    lanes = [k for k, lane in enumerate(table.lanes) if lane.foreign]
    pids = _device_processes(table.lanes)
    found = [k for k in lanes if table.lanes[k].pid in pids or _is_stream_alone(table.lanes[k], table.lanes)]
    if not found:
        return durations
    summaries = _summaries(durations, table, found)
    streams = _number([k for k in found if k not in summaries], table.lanes)
    waits = _of_task(durations, _WAIT)
    rows = table.rows_on(streams)
    unread = table.rows_on(summaries) | (rows & waits)
    _state(durations, table, streams, rows & ~waits, unread, integrity)
    return _as_work(durations, table, streams, rows, unread)


def _device_processes(lanes: Sequence[LaneFacts]) -> set[str]:
    """Find processes that are devices, by a name or label, launches that end there, or GPU work in them."""
    host = {lane.pid for lane in lanes if lane.host}
    return {
        lane.pid
        for lane in lanes
        if lane.pid not in host
        and (any(_DEVICE.fullmatch(name) for name in lane.names) or lane.launched or lane.work)
    }


def _is_stream_alone(lane: LaneFacts, lanes: Sequence[LaneFacts]) -> bool:
    """Tell whether a thread is named like a stream, in a process without rows of a host."""
    host = {one.pid for one in lanes if one.host}
    return lane.pid not in host and bool(_STREAM.fullmatch(lane.thread))


def _summaries(durations: Durations, table: LaneTable, found: Sequence[int]) -> set[int]:
    """Find lanes that repeat what other lanes hold: an analysis, or the groups above the streams.

    Beside named streams of a process, its other named threads (`XLA Modules`, `Steps`) are such lanes. A
    process of communication is one if the streams cover nearly all of its time; else its groups are streams.
    """
    lanes = table.lanes
    streams = {lanes[k].pid for k in found if _STREAM.fullmatch(lanes[k].thread)}
    talks = {k for k in found if any(_COMMUNICATION.fullmatch(name) for name in lanes[k].names)}
    summaries = {
        k
        for k in found
        if any(_SUMMARY.fullmatch(name) for name in lanes[k].names)
        or (lanes[k].pid in streams and lanes[k].thread and not _STREAM.fullmatch(lanes[k].thread))
    }
    rest = [k for k in found if k not in summaries | talks]
    if _share_covered(durations, table, talks, rest) >= _COVERED:
        return summaries | talks
    return summaries | {k for k in talks if re.match(r"plane\b", lanes[k].thread, re.IGNORECASE)}


def _share_covered(durations: Durations, table: LaneTable, lanes: set[int], by: Sequence[int]) -> float:
    usable = durations.has_start & durations.has_dur & (durations.dur >= 0)
    mine, others = (np.flatnonzero(table.rows_on(chosen) & usable) for chosen in (lanes, by))
    spans, work = (
        ungrouped(durations.start[rows], durations.start[rows] + durations.dur[rows])
        for rows in (mine, others)
    )
    length = int((spans.end - spans.start).sum())
    return float(covered(spans, work).sum()) / length if length else 0.0


def _number(found: Sequence[int], lanes: Sequence[LaneFacts]) -> dict[int, _Stream]:
    """Find device and stream of each lane by its names, else by its order; no two lanes share both."""
    order: dict[str, int] = {}
    placed: dict[int, _Stream] = {}
    taken: defaultdict[int, set[int]] = defaultdict(set)
    for k in found:
        lane = lanes[k]
        tid = last_number(lane.tid)
        stated = (last_number(name) for name in (lane.label, lane.process) if _DEVICE.fullmatch(name))
        device = next((one for one in stated if one is not None and one < _MOST_DEVICES), None)
        if any(_BY_DEVICE.fullmatch(name) for name in lane.names):
            device, stream = tid or 0, 0
        else:
            device = order.setdefault(lane.pid, len(order)) if device is None else device
            named = last_number(lane.thread) if _STREAM.fullmatch(lane.thread) else None
            stream = next((one for one in (named, tid) if one is not None), len(placed))
        while stream in taken[device]:
            stream += _OWN_STREAMS
        taken[device].add(stream)
        placed[k] = _Stream(device, stream)
    return placed


def _of_task(durations: Durations, pattern: re.Pattern[str]) -> Flags:
    """Flag the rows whose name or type of task is of a kind."""
    tasks = durations.texts["task_type"]
    named, typed = (
        column.matching(
            np.array([bool(text and pattern.fullmatch(text)) for text in column.values], dtype=bool)
        )
        for column in (durations.name, tasks)
    )
    rows: Flags = named | typed
    return rows


def _as_work(
    durations: Durations, table: LaneTable, streams: dict[int, _Stream], rows: Flags, unread: Flags
) -> Durations:
    count = len(table.lanes)
    device, stream = np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.int64)
    for k, place in streams.items():
        device[k], stream[k] = place.device, place.stream
    numbers = dict(durations.numbers)
    numbers["device"] = _set(numbers["device"], rows & ~numbers["device"][1], device[table.of_row])
    numbers["stream"] = _set(numbers["stream"], rows & ~numbers["stream"][1], stream[table.of_row])
    link, linked = numbers["link"]
    ids = np.unique(link[rows & linked])
    calling = table.foreign & ~rows & linked & np.isin(link, ids)
    numbers["correlation"] = _set(numbers["correlation"], (rows | calling) & linked, link)
    category = _with(durations.category, unread, [SPAN])
    names = [_category(name) for name in durations.name.values]
    work = rows & ~unread & ~_annotates(durations, table, rows)
    category = _with(category, work, names, durations.name.codes)
    return replace(durations, category=category, numbers=numbers)


def _annotates(durations: Durations, table: LaneTable, rows: Flags) -> Flags:
    """Flag rows of kinds that nest (the own layers of an MTIA or HPU) and hold others: they stay."""
    nesting = rows & durations.category.matching(
        np.array([has_role(text, Role.DEVICE_ROW) for text in durations.category.values], dtype=bool)
    )
    index = np.flatnonzero(nesting & durations.has_start & durations.has_dur)
    start, end, lane = durations.start[index], (durations.start + durations.dur)[index], table.of_row[index]
    order = np.lexsort((-end, start, lane))
    start, end, lane = start[order], end[order], lane[order]
    holds = np.zeros(len(durations.start), dtype=bool)
    inner = (lane[1:] == lane[:-1]) & (start[1:] < end[:-1]) & (end[1:] <= end[:-1])
    holds[index[order][:-1][inner]] = True
    return holds


def _category(name: str | None) -> str:
    text = name or ""
    return _SET if _MEMSET.search(text) else _MEMCPY if _COPY.search(text) else _KERNEL


def _set(column: tuple[Ints, Flags], rows: Flags, values: Ints) -> tuple[Ints, Flags]:
    return np.where(rows, values, column[0]), column[1] | rows


def _with(column: TextColumn, rows: Flags, texts: Sequence[str], codes: Codes | None = None) -> TextColumn:
    """Put other texts into some rows: the only one of `texts`, or those at `codes`."""
    known = column.values.tolist()
    place = 0 if codes is None else codes
    return text_column(np.where(rows, place + len(known), column.codes), [*known, *texts])


def _state(
    durations: Durations,
    table: LaneTable,
    streams: dict[int, _Stream],
    work: Flags,
    unread: Flags,
    integrity: Integrity,
) -> None:
    processes = dict.fromkeys(
        table.lanes[k].process or table.lanes[k].label or table.lanes[k].pid for k in streams
    )
    shown = ", ".join(f"{name:.40}" for name in list(processes)[:4])
    what = f"events stand on {len(streams)} lanes of devices ({shown}): they are read as their work"
    integrity.add_places("device_rows_read", what, durations.position[work])
    what = "events of devices sum up other events, or wait in a stream: they are not read"
    integrity.add_places("device_rows_unread", what, durations.position[unread])
