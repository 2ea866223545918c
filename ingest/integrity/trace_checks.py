"""Findings about a whole trace: what is complete, and what its times can resolve."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tracegraph.ingest.arrays import Flags
from tracegraph.ingest.causal.events.external_ids import joined_by_external_id
from tracegraph.ingest.findings import Integrity, percent
from tracegraph.ingest.integrity.device_rows import of_devices
from tracegraph.ingest.integrity.entry_checks import check_entries
from tracegraph.ingest.integrity.memory_checks import check_memory
from tracegraph.ingest.microseconds import EXACT_FLOAT_US
from tracegraph.ingest.text_columns import read_texts, with_role
from tracegraph.ingest.trace import TraceFile
from tracegraph.vocabulary.categories import GPU_WORK, NOT_IN_LANES, Role

_QUARTERS_NS = (0, 200, 250, 500, 750, 800)
"""Fractions of absolute times that went through float64: quarters, whose shortest forms are .2 and .8."""

_PART = 0.01
"""A process with a smaller part of the CPU events is a by-product, such as a monitor's thread."""


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
    message = f"distributedInfo names no rank: {trace.rank} is taken"
    integrity.add("rank_missing", "info", int(matters and not trace.rank_stated), message)
    others = (trace.world_size or 1) - 1
    message = (
        f"the file is of rank {trace.rank} alone: what {others + 1:,} ranks wait for each other is unknown"
    )
    integrity.add("other_ranks", "info", others, message)


def _check_processes(events: pa.Table, on_device: Flags, integrity: Integrity) -> None:
    """Processes with a good part of the CPU events: several are ranks, or a parent and its workers."""
    # the profiler's own overhead has the pid -1
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
    integrity.add("several_processes", "warning", len(large) * (len(large) > 1), message)
    shown = ", ".join(f"{pid:.40}" for pid in small[:4])
    message = f"processes have a few CPU events each, under {percent(_PART)} of all: {shown}"
    integrity.add("process_stray", "info", len(small), message)


def _check_calls(events: pa.Table, integrity: Integrity) -> None:
    """Calls that share a correlation id."""
    correlation = events["correlation"].fill_null(-1).to_numpy()
    calls = correlation[_of_role(events, Role.CALL) & (correlation >= 0)]
    ids, counts = np.unique(calls, return_counts=True)
    repeated = ids[counts > 1]
    if len(repeated):
        message = f"correlation ids are used by several calls, such as {repeated[0]}"
        integrity.add("correlation_repeated", "info", len(repeated), message)


def _check_external_ids(events: pa.Table, integrity: Integrity) -> None:
    rows = joined_by_external_id(events)
    message = (
        "GPU activities have no correlation id: External id joins them with calls, where one can be meant"
    )
    integrity.add("joined_by_external_id", "info", int(rows.sum()), message)


def _check_resolution(events: pa.Table, integrity: Integrity) -> None:
    """Times that the file holds less exactly than in nanoseconds."""
    start = events["start_ns"].to_numpy()
    if not (start % 1000).any():
        message = "events start at whole microseconds: shorter gaps and orders cannot be told"
        integrity.add("times_whole_us", "info", len(start), message)
    elif np.isin(start % 1000, _QUARTERS_NS).all() and np.abs(start).max() >= EXACT_FLOAT_US * 1000:
        message = "events start at quarters of a microsecond: a tool wrote absolute times as floating point"
        integrity.add("times_rounded", "warning", len(start), message)


def _check_flows(flows: pa.Table, integrity: Integrity) -> None:
    """Flows that start without an end, end without a start, or start twice."""
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
            integrity.add(code, "info", len(cases), f"{what}, such as {example}")


def _of_role(events: pa.Table, *roles: Role) -> Flags:
    return with_role(read_texts(events["category"]), *roles)
