"""A trace file in columns: what every reader returns and the causal model starts from."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from tracegraph.store.schema import node_labels

_TEXT = pa.dictionary(pa.int32(), pa.string())

EVENT_SCHEMA = pa.schema(
    [
        pa.field("source_index", pa.int64(), nullable=False),  # 0-based position in traceEvents
        pa.field("name", _TEXT, nullable=False),
        pa.field("category", _TEXT, nullable=False),  # today's spelling: Kernel -> kernel; "" when absent
        pa.field("pid", _TEXT, nullable=False),  # numbers and strings alike, as text
        pa.field("tid", _TEXT, nullable=False),
        pa.field("start_ns", pa.int64(), nullable=False),
        pa.field("end_ns", pa.int64(), nullable=False),  # start + duration, >= start
        pa.field("correlation", pa.int64()),
        pa.field("external_id", pa.int64()),  # of GPU work, calls and operators: the operator it belongs to
        pa.field("device", pa.int64()),
        pa.field("stream", pa.int64()),  # of GPU and cuda_sync rows; 4294967295 is read as -1 (all streams)
        pa.field("sequence_number", pa.int64()),
        pa.field("forward_thread", pa.int64()),  # "Fwd thread id": 0 in the forward pass, > 0 in the backward
        pa.field("wait_on_stream", pa.int64()),  # of cuda_sync rows
        pa.field("wait_on_record", pa.int64()),  # correlation of the cudaEventRecord call that is waited for
        pa.field("bytes", pa.int64()),
        pa.field("bandwidth", pa.int64()),  # B/s, of copies and memsets, as stated
        pa.field("elements", pa.int64()),
        pa.field("shapes", _TEXT),  # "Input Dims" as compact JSON text
        pa.field("inputs", _TEXT),  # likewise ["Input type", "Input Strides", "Concrete Inputs"] as JSON
        pa.field("collective", _TEXT),
        pa.field("group", _TEXT),
        pa.field("dtype", _TEXT),
        pa.field("group_ranks", _TEXT),  # JSON list, as Kineto writes it
        pa.field("group_size", pa.int64()),
        pa.field("group_sequence", pa.int64()),  # "Seq": counts the operations of a group
        pa.field("receiver", pa.int64()),  # "Dst Rank" and "Src Rank" of a send or receive
        pa.field("sender", pa.int64()),
    ]
)
"""Duration events (ph X and matched B/E pairs, but not the category Trace), in the order of the file.

A column that a reader finds is read, kept over scenarios and stored if `node_labels.EVENT` has a property of
its name. It is declared here, in the schema, and with the argument of the format that states it.
"""
EVENT_TEXTS = tuple(field.name for field in EVENT_SCHEMA if pa.types.is_dictionary(field.type))
EVENT_NUMBERS = tuple(name for name in EVENT_SCHEMA.names if name not in EVENT_TEXTS)
_OF_MODEL = ("source_index", "start_ns", "end_ns", "correlation", "sequence_number")
"""Columns that the causal model corrects: nodes take their values from it, not from the file."""
STATED_COLUMNS = tuple(
    name
    for name in EVENT_SCHEMA.names
    if name not in _OF_MODEL and any(one.name == name for one in node_labels.EVENT.properties)
)
"""What a file states of events, and their nodes carry unchanged."""

FLOW_SCHEMA = pa.schema(
    [
        pa.field("kind", _TEXT, nullable=False),  # cat of the flow: ac2g, fwdbwd, async
        pa.field("id", _TEXT, nullable=False),
        pa.field("is_start", pa.bool_(), nullable=False),  # ph s; else f or t
        pa.field("pid", _TEXT, nullable=False),
        pa.field("tid", _TEXT, nullable=False),
        pa.field("ts_ns", pa.int64(), nullable=False),
    ]
)
"""Flow events, which rules may use as evidence; they do not become nodes."""

LAUNCH_FLOWS = re.compile(
    r"ac2g|async|async_cpu_to_gpu|async_[a-z]pu|host_?to_?device|cpu_to_\w+|\w*kernel_?launch\w*",
    re.ASCII | re.IGNORECASE,
)
"""Kinds of flows that end at the work which they launch.

They are those of Kineto, of Ascend's profiler, and of exports of `torch.autograd.profiler` (cpu_to_cuda).
"""

MEMORY_SCHEMA = pa.schema(
    [
        pa.field("source_index", pa.int64(), nullable=False),
        pa.field("pid", _TEXT, nullable=False),
        pa.field("tid", _TEXT, nullable=False),
        pa.field("at_ns", pa.int64(), nullable=False),
        pa.field("device_type", pa.int64(), nullable=False),  # c10::DeviceType
        pa.field("device", pa.int64(), nullable=False),  # -1 for the CPU's memory
        pa.field("bytes", pa.int64(), nullable=False),  # negative if they are freed
        pa.field("allocated", pa.int64()),  # "Total Allocated" and "Total Reserved" of the device after it
        pa.field("reserved", pa.int64()),
        pa.field("address", pa.int64()),  # of the block, where the file states it
    ]
)
"""Memory rows (`[memory]`, of profile_memory=True) by time, those of one moment as in the file.

Either all rows of a device state what is allocated, or none does.
"""

COUNTER_SCHEMA = pa.schema(
    [
        pa.field("source_index", pa.int64(), nullable=False),  # of the range in which it was read
        pa.field("name", _TEXT, nullable=False),
        pa.field("value", pa.float64(), nullable=False),
    ]
)
"""Hardware counters: each range of the profiler as it states it, in the order of the file."""

OFF_CPU_SCHEMA = pa.schema(
    [
        pa.field("pid", _TEXT, nullable=False),
        pa.field("tid", _TEXT, nullable=False),
        pa.field("start_ns", pa.int64(), nullable=False),
        pa.field("end_ns", pa.int64(), nullable=False),
        pa.field("ready", pa.bool_()),  # whether the thread could have run; null where that is not recorded
    ]
)
"""Stretches in which the system did not run a thread, as it recorded them, between two turns on a CPU."""

OPERATION_SCHEMA = pa.schema(
    [
        pa.field("source_index", pa.int64(), nullable=False),  # of its event
        pa.field("rank", pa.int64(), nullable=False),
        pa.field("data_rank", pa.int64(), nullable=False),  # its data-parallel rank
        pa.field("stage", pa.int64(), nullable=False),  # of the pipeline
        pa.field("step", pa.int64(), nullable=False),
        pa.field("type", _TEXT, nullable=False),  # one of `operation_types.OPERATION_TYPES`
        pa.field(
            "sequence", pa.int64(), nullable=False
        ),  # counts those of its type in the step on the worker
        pa.field("chunk", pa.int64(), nullable=False),  # of the model in the stage, -1 for none
        pa.field("model_chunk", pa.int64(), nullable=False),  # the same, counted in the whole model
        pa.field("start_ns", pa.int64(), nullable=False),
        pa.field("end_ns", pa.int64(), nullable=False),
    ]
)
"""Rows of an operation log: what each event is in the program that all steps and data-parallel ranks run."""

ORDER_SCHEMA = pa.schema(
    [
        pa.field("cause", pa.int64(), nullable=False),
        pa.field("effect", pa.int64(), nullable=False),
        pa.field("stated", pa.bool_(), nullable=False),  # else it may follow it, where times agree
    ]
)
"""Source indices of GPU work, and of GPU work of the same rank that its program lets follow it."""


@dataclass(frozen=True)
class TraceFile:
    """One rank of one file. Times are integer ns, exactly as written."""

    path: str
    sha256: str
    rank: int
    events: pa.Table
    flows: pa.Table
    memory: pa.Table = field(default_factory=MEMORY_SCHEMA.empty_table)
    thread_names: dict[tuple[str, str], str] = field(default_factory=dict)  # by (pid, tid)
    process_names: dict[str, str] = field(default_factory=dict)  # by pid
    devices: list[str] = field(default_factory=list)
    device_memory: list[int | None] = field(default_factory=list)  # bytes by index of the device
    versions: dict[str, str] = field(default_factory=dict)
    other_phases: dict[str, int] = field(default_factory=dict)  # instants, counters, … : counted, not kept
    rank_stated: bool = True  # if false, the rank is 0 because the file does not state it
    world_size: int | None = None  # the number of ranks of its job, if the file states it
    counters: pa.Table = field(default_factory=COUNTER_SCHEMA.empty_table)
    part: str = ""  # the name of this rank in a file of several ranks
    operations: pa.Table = field(default_factory=OPERATION_SCHEMA.empty_table)
    orders: pa.Table = field(default_factory=ORDER_SCHEMA.empty_table)
    rank_of: dict[str, int] = field(default_factory=dict)  # by pid, if the file states several ranks so
    clock: str = ""  # what all files whose CPU times are on one clock share; empty if that is not known
    off_cpu: pa.Table = field(default_factory=OFF_CPU_SCHEMA.empty_table)


@dataclass(frozen=True)
class FileFacts:
    """What a run says of a file, and what it added to the times to bring them on one clock.

    Attributes
    ----------
    clock_offset_ns, clock_drift_ppb
        Added to the times of its GPU rows: ns at the window's start, and ns a second.
    rank_offset_ns, rank_drift_ppb
        Added to all its times, to bring them on the first rank's clock: ns, and ns a second.
    rank_spread_ns
        How far the ends of its collectives then still lie from those of other ranks; None if nothing shows
        it.
    world_size
        The number of ranks of its job, None if the file does not say it.
    device_memory
        Bytes by index of the device, None if the file does not say it.
    part
        The name that a file of several ranks gives to this one.
    clock
        What it shares with all files whose CPU times are on the same clock; empty if that is not known.
    in_short
        Whether only its operations with other ranks are kept.
    """

    path: str
    sha256: str
    rank: int
    devices: list[str]
    versions: dict[str, str]
    clock_offset_ns: int
    clock_drift_ppb: int
    rank_offset_ns: int = 0
    rank_drift_ppb: int = 0
    rank_spread_ns: int | None = None
    world_size: int | None = None
    device_memory: list[int | None] = field(default_factory=list)
    part: str = ""
    clock: str = ""
    in_short: bool = False

    def as_source(self) -> dict[str, object]:
        """Return the file's entry in a manifest."""
        return {"path": self.path, "sha256": self.sha256, "rank": self.rank}


def file_facts(trace: TraceFile, clock_offset_ns: int, clock_drift_ppb: int) -> FileFacts:
    """Collect the facts of a file on its own, before it is aligned with other ranks."""
    return FileFacts(
        trace.path,
        trace.sha256,
        trace.rank,
        trace.devices,
        trace.versions,
        clock_offset_ns,
        clock_drift_ppb,
        world_size=trace.world_size,
        device_memory=trace.device_memory,
        part=trace.part,
        clock=trace.clock,
    )


def table_in(schema: pa.Schema, columns: Mapping[str, "pa.Array[Any]"]) -> pa.Table:
    """Make a table in a schema such as EVENT_SCHEMA of at least one column; the others are null.

    Columns of one type that are null share their memory: in a report they are half of the table.
    """
    rows = len(next(iter(columns.values())))
    absent = {kind: pa.nulls(rows, kind) for kind in {one.type for one in schema if one.name not in columns}}
    arrays = [columns[one.name] if one.name in columns else absent[one.type] for one in schema]
    return pa.table(arrays, schema=schema)
