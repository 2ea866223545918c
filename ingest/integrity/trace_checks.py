"""Findings about a trace: odd entries and memory rows, what is missing, how exact its times are."""

from collections import Counter
from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tracegraph.ingest.arrays import Flags
from tracegraph.ingest.causal.events.external_ids import joined_by_external_id
from tracegraph.ingest.data_frames import whole_frame
from tracegraph.ingest.integrity.device_rows import of_devices, on_named_lanes
from tracegraph.ingest.integrity_findings import Integrity, percent
from tracegraph.ingest.microseconds import EXACT_FLOAT_US
from tracegraph.ingest.text_columns import distinct_pairs, read_texts, with_role
from tracegraph.ingest.trace import TraceFile
from tracegraph.vocabulary.categories import GPU_WORK, NOT_IN_LANES, Role, is_known

_COLUMNS = ["source_index", "device_type", "device", "bytes", "allocated"]
_ASYNC = ("b", "e", "n", "S", "T", "p", "F")
_COUNTED = ("i", "I", "C", "N", "O", "D", "v", "V", "P", "R", "c", "M")
"""Instants, counters, objects, dumps, samples, marks and metadata: known entries without a duration."""
# Odd constants that mix five columns to one number: equal rows get equal numbers, others rarely do.
_HASH = np.array(
    [0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0xD6E8FEB86659FD93, 3], np.uint64
)
_QUARTERS_NS = (0, 200, 250, 500, 750, 800)
"""Fractions of absolute times that went through float64: quarters, whose shortest forms are .2 and .8."""

_PART = 0.01
"""A process with a smaller share of the CPU events is a by-product, such as a monitor's thread."""


def check_memory(memory: pa.Table, integrity: Integrity) -> None:
    """Record what is not known about a device's memory, from a table in MEMORY_SCHEMA."""
    rows = whole_frame(memory.select(_COLUMNS))
    before = rows.groupby(["device_type", "device"])["allocated"].shift()
    jumps = rows["source_index"][(rows["allocated"] - before - rows["bytes"]).fillna(0).ne(0)]
    what = "memory rows state a total that is not the one before with their size: rows are missing"
    integrity.add_places("memory_total_jumps", what, jumps.tolist())
    without = int(rows["allocated"].isna().sum())
    message = "memory rows state no totals: what was allocated before the recording is unknown"
    integrity.add("memory_without_totals", without, message)


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
    integrity.add("async_unread", sum(spans.values()), message)
    unknown = {p: n for p, n in phases.items() if p not in _ASYNC and p not in _COUNTED}
    message = f"entries of an unknown kind ({_listed(unknown)}) are not read"
    integrity.add("phase_unknown", sum(unknown.values()), message)


def _listed(counts: Mapping[str, int]) -> str:
    most = Counter(counts).most_common(6)
    more = ", …" if len(counts) > len(most) else ""
    return ", ".join(f"{text[:40] or 'none'} {count:,}" for text, count in most) + more


def _check_repeated(events: pa.Table, integrity: Integrity) -> None:
    """Record events that are in the file twice: with a duration, and the same in name, place and times.

    They must also agree in category and correlation id.
    """
    start, end = (events[name].to_numpy() for name in ("start_ns", "end_ns"))
    columns = [read_texts(events[name]).codes for name in ("name", "category", "pid", "tid")]
    columns.append(events["correlation"].fill_null(-1).to_numpy())
    mixed = start.view(np.uint64) * np.uint64(31) + end.view(np.uint64) * np.uint64(1_000_003)
    for column, factor in zip(columns, _HASH, strict=True):
        mixed = mixed + column.astype(np.uint64) * factor
    in_order = np.sort(mixed)
    again = in_order[1:][in_order[1:] == in_order[:-1]]
    maybe = np.flatnonzero(np.isin(mixed, again)) if len(again) else np.empty(0, dtype=np.int64)
    order = maybe[np.argsort(mixed[maybe], kind="stable")]
    first, second = order[:-1], order[1:]
    alike = (mixed[first] == mixed[second]) & (end[first] > start[first])
    for column in (start, end, *columns):
        alike &= column[first] == column[second]
    repeated = np.sort(second[alike])
    if len(repeated):
        place = events["source_index"][int(repeated[0])]
        message = f"events stand in the file more than once and count each time; first again at {place}"
        integrity.add("event_repeated", len(repeated), message)


def _check_categories(trace: TraceFile, integrity: Integrity) -> None:
    """Record events of categories without rules, and those among them that look like work of a device."""
    category = read_texts(trace.events["category"])
    counts = np.bincount(category.codes, minlength=len(category.values))
    distinct = dict(zip(category.values.tolist(), counts.tolist(), strict=True))
    missing = distinct.pop("")
    unknown = {text: n for text, n in distinct.items() if n and not is_known(text)}
    message = f"events of categories without rules ({_listed(unknown)}) count as work of their thread"
    integrity.add("category_unknown", sum(unknown.values()), message)
    message = "events have no category and count as work of their thread"
    integrity.add("category_missing", missing, message)
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
        integrity.add("gpu_category_unknown", int(found.sum()), message, share)


def _check_streams(events: pa.Table, integrity: Integrity) -> None:
    """Record streams whose work comes from several processes, as when files were joined."""
    rows = np.flatnonzero(with_role(read_texts(events["category"]), *GPU_WORK))
    device, stream = (events[name].fill_null(-2).to_numpy()[rows] for name in ("device", "stream"))
    with_pid, _ = distinct_pairs(distinct_pairs(device, stream)[1], read_texts(events["pid"]).codes[rows])
    lanes, processes = np.unique([lane for lane, _ in with_pid], return_counts=True)
    shared = int((processes > 1).sum()) if len(lanes) else 0
    message = (
        "streams hold work of several processes, as when files are joined: they are taken for one stream"
    )
    integrity.add("stream_shared", shared, message)


def _check_names(trace: TraceFile, integrity: Integrity) -> None:
    """Record threads without a name, and work of devices that the file does not describe."""
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
        integrity.add("thread_unnamed", len(unnamed), message)
    work = with_role(category, *GPU_WORK).any()
    message = "the file does not describe its GPUs (no deviceProperties)"
    integrity.add("device_unknown", int(work and not trace.devices), message)


def check_trace(trace: TraceFile, integrity: Integrity) -> None:
    """Record what a reader of the results must know about the input, whatever its format was."""
    on_gpu = _of_role(trace.events, *GPU_WORK)
    _check_rank(trace, on_gpu, integrity)
    _check_processes(trace.events, on_gpu | of_devices(trace), integrity)
    _check_calls(trace.events, integrity)
    _check_external_ids(trace.events, integrity)
    _check_resolution(trace.events, integrity)
    _check_flows(trace.flows, integrity)
    check_memory(trace.memory, integrity)
    check_entries(trace, integrity)


def _check_rank(trace: TraceFile, on_gpu: Flags, integrity: Integrity) -> None:
    matters = bool(on_gpu.any()) or trace.events["collective"].null_count < trace.events.num_rows
    message = f"the file names no rank: {trace.rank} is taken"
    integrity.add("rank_missing", int(matters and not trace.rank_stated), message)
    others = (trace.world_size or 1) - 1
    message = (
        f"the file is of rank {trace.rank} alone: what {others + 1:,} ranks wait for each other is unknown"
    )
    integrity.add("other_ranks", others, message)


def _check_processes(events: pa.Table, on_device: Flags, integrity: Integrity) -> None:
    """Record processes with a good part of the CPU events: several ranks, or a parent and its workers."""
    # The profiler's own overhead has the pid -1.
    on_cpu = ~on_device & ~_of_role(events, *NOT_IN_LANES, Role.OVERHEAD)
    counts = pc.value_counts(events["pid"].combine_chunks().filter(pa.array(on_cpu))).to_pylist()
    if len(counts) < 2:
        return
    total = sum(entry["counts"] for entry in counts)
    parts = {str(entry["values"]): entry["counts"] / total for entry in counts}
    large = sorted((pid for pid, part in parts.items() if part >= _PART), key=lambda pid: -parts[pid])
    small = sorted(pid for pid in parts if pid not in large)
    shown = ", ".join(f"{pid:.40} ({percent(parts[pid])})" for pid in large[:4])
    message = (
        f"processes have CPU events: {shown}; the file is read as one rank, and hand-overs between its "
        "processes are found only where a rule sees them"
    )
    integrity.add("several_processes", len(large) * (len(large) > 1), message)
    shown = ", ".join(f"{pid:.40}" for pid in small[:4])
    message = f"processes have a few CPU events each, under {percent(_PART)} of all: {shown}"
    integrity.add("process_stray", len(small), message)


def _check_calls(events: pa.Table, integrity: Integrity) -> None:
    """Record calls that share a correlation id."""
    correlation = events["correlation"].fill_null(-1).to_numpy()
    calls = correlation[_of_role(events, Role.CALL) & (correlation >= 0)]
    ids, counts = np.unique(calls, return_counts=True)
    repeated = ids[counts > 1]
    if len(repeated):
        message = f"correlation ids are used by several calls, such as {repeated[0]}"
        integrity.add("correlation_repeated", len(repeated), message)


def _check_external_ids(events: pa.Table, integrity: Integrity) -> None:
    rows = joined_by_external_id(events)
    message = (
        "GPU activities have no correlation id: External id joins them with calls, where one can be meant"
    )
    integrity.add("joined_by_external_id", int(rows.sum()), message)


def _check_resolution(events: pa.Table, integrity: Integrity) -> None:
    """Record that the file holds its times less exactly than in nanoseconds."""
    start = events["start_ns"].to_numpy()
    if not (start % 1000).any():
        message = "events start at whole microseconds: shorter gaps and orders cannot be told"
        integrity.add("times_whole_us", len(start), message)
    elif np.isin(start % 1000, _QUARTERS_NS).all() and np.abs(start).max() >= EXACT_FLOAT_US * 1000:
        message = "events start at quarters of a microsecond: a tool wrote absolute times as floating point"
        integrity.add("times_rounded", len(start), message)


def _check_flows(flows: pa.Table, integrity: Integrity) -> None:
    """Record flows that start without an end, end without a start, or start twice."""
    kinds, ids = read_texts(flows["kind"]), read_texts(flows["id"])
    width = len(ids.values)
    keys = kinds.codes.astype(np.int64) * width + ids.codes
    is_start = flows["is_start"].to_numpy()
    starts, times = np.unique(keys[is_start], return_counts=True)
    ends = np.unique(keys[~is_start])
    for code, what, cases in (
        ("flow_without_end", "flows start and never end", starts[~np.isin(starts, ends)]),
        ("flow_without_start", "flows end and never start", ends[~np.isin(ends, starts)]),
        ("flow_id_repeated", "flow ids start more than once", starts[times > 1]),
    ):
        if len(cases):
            kind, flow_id = divmod(int(cases[0]), width)
            example = f"{kinds.values[kind]} {ids.values[flow_id]}"
            integrity.add(code, len(cases), f"{what}, such as {example}")


def _of_role(events: pa.Table, *roles: Role) -> Flags:
    return with_role(read_texts(events["category"]), *roles)
