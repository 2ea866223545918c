"""Findings about single entries of a trace: twice there, of unknown kind, without a name, cut off."""

from collections import Counter
from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from tracegraph.ingest.findings import Integrity, percent
from tracegraph.ingest.integrity.device_rows import on_named_lanes
from tracegraph.ingest.text_columns import distinct_pairs, read_texts, with_role
from tracegraph.ingest.trace import TraceFile
from tracegraph.vocabulary.categories import GPU_WORK, NOT_IN_LANES, Role, is_known

_ASYNC = ("b", "e", "n", "S", "T", "p", "F")
_COUNTED = ("i", "I", "C", "N", "O", "D", "v", "V", "P", "R", "c", "M")
"""Instants, counters, objects, dumps, samples, marks, metadata: entries without a duration."""
_HASH = np.array(
    [0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0xD6E8FEB86659FD93, 3], np.uint64
)


def check_entries(trace: TraceFile, integrity: Integrity) -> None:
    """Record what is odd about single entries of the table."""
    _check_repeated(trace.events, integrity)
    _check_categories(trace, integrity)
    _check_streams(trace.events, integrity)
    _check_names(trace, integrity)
    _check_phases(trace.other_phases, integrity)


def _check_phases(phases: Mapping[str, int], integrity: Integrity) -> None:
    """Record the entries that are neither durations, flows nor metadata, by their phase."""
    spans = {phase: count for phase, count in phases.items() if phase in _ASYNC}
    message = f"entries of asynchronous spans ({_listed(spans)}) are not read: their time is not in the graph"
    integrity.add("async_unread", "warning", sum(spans.values()), message)
    unknown = {p: n for p, n in phases.items() if p not in _ASYNC and p not in _COUNTED}
    message = f"entries of an unknown kind ({_listed(unknown)}) are not read"
    integrity.add("phase_unknown", "warning", sum(unknown.values()), message)


def _listed(counts: Mapping[str, int]) -> str:
    most = Counter(counts).most_common(6)
    more = ", …" if len(counts) > len(most) else ""
    return ", ".join(f"{text[:40] or 'none'} {count:,}" for text, count in most) + more


def _check_repeated(events: pa.Table, integrity: Integrity) -> None:
    """Events that are there twice: same name, category, place, times and correlation, with a duration."""
    start, end = (events[name].to_numpy() for name in ("start_ns", "end_ns"))
    columns = [read_texts(events[name]).codes for name in ("name", "category", "pid", "tid")]
    columns.append(events["correlation"].fill_null(-1).to_numpy())
    mixed = start.view(np.uint64) * np.uint64(31) + end.view(np.uint64) * np.uint64(1_000_003)
    for column, factor in zip(columns, _HASH, strict=True):
        mixed = mixed + column.astype(np.uint64) * factor
    order = np.argsort(mixed, kind="stable")
    first, second = order[:-1], order[1:]
    alike = (mixed[first] == mixed[second]) & (end[first] > start[first])
    for column in (start, end, *columns):
        alike &= column[first] == column[second]
    repeated = np.sort(second[alike])
    if len(repeated):
        place = events["source_index"][int(repeated[0])]
        message = f"events stand in the file more than once and count each time; first again at {place}"
        integrity.add("event_repeated", "warning", len(repeated), message)


def _check_categories(trace: TraceFile, integrity: Integrity) -> None:
    """Events of categories without rules, and among them those that look like work of a device."""
    category = read_texts(trace.events["category"])
    counts = np.bincount(category.codes, minlength=len(category.values))
    distinct = dict(zip(category.values.tolist(), counts.tolist(), strict=True))
    missing = distinct.pop("")
    unknown = {text: n for text, n in distinct.items() if n and not is_known(text)}
    message = f"events of categories without rules ({_listed(unknown)}) count as work of their thread"
    integrity.add("category_unknown", "info", sum(unknown.values()), message)
    message = "events have no category and count as work of their thread"
    integrity.add("category_missing", "info", missing, message)
    _check_device_rows(trace, integrity)


def _check_device_rows(trace: TraceFile, integrity: Integrity) -> None:
    events, found = trace.events, on_named_lanes(trace)
    length = (events["end_ns"].to_numpy() - events["start_ns"].to_numpy()).astype(np.float64)
    share = float(length[found].sum() / max(length.sum(), 1.0))
    if found.any():
        first = events["source_index"][int(np.flatnonzero(found)[0])]
        message = (
            f"events stand on a device's lane but not in a category of GPU work: they count as a CPU "
            f"thread's ({percent(share)} of all events' time); the first at source index {first}"
        )
        integrity.add("gpu_category_unknown", "error", int(found.sum()), message, share)


def _check_streams(events: pa.Table, integrity: Integrity) -> None:
    """Streams whose work comes from several processes: files that were joined."""
    rows = np.flatnonzero(with_role(read_texts(events["category"]), *GPU_WORK))
    device, stream = (events[name].fill_null(-2).to_numpy()[rows] for name in ("device", "stream"))
    with_pid, _ = distinct_pairs(distinct_pairs(device, stream)[1], read_texts(events["pid"]).codes[rows])
    lanes, processes = np.unique([lane for lane, _ in with_pid], return_counts=True)
    shared = int((processes > 1).sum()) if len(lanes) else 0
    message = (
        "streams hold work of several processes, as when files are joined: they are taken for one stream"
    )
    integrity.add("stream_shared", "error", shared, message)


def _check_names(trace: TraceFile, integrity: Integrity) -> None:
    """Threads without a name, and work of devices that the file does not describe."""
    events = trace.events
    category = read_texts(events["category"])
    rows = np.flatnonzero(~with_role(category, *GPU_WORK, *NOT_IN_LANES, Role.OVERHEAD))
    pid, tid = (read_texts(events[name]) for name in ("pid", "tid"))
    pairs, _ = distinct_pairs(pid.codes[rows], tid.codes[rows])
    lanes = [(pid.values[p], tid.values[t]) for p, t in pairs]
    unnamed = [lane for lane in lanes if lane not in trace.thread_names]
    if unnamed:
        message = (
            f"threads have no name in the file, such as {unnamed[0][1]:.40} of process {unnamed[0][0]:.40}"
        )
        integrity.add("thread_unnamed", "info", len(unnamed), message)
    work = with_role(category, *GPU_WORK).any()
    message = "the file does not describe its GPUs (no deviceProperties)"
    integrity.add("device_unknown", "info", int(work and not trace.devices), message)
