"""Results of `rocprofv3 --output-format json`: work of GPUs and calls into HIP.

This is written from the documentation and tests of rocprofiler-sdk; no file was at hand to try.
"""

import re
from collections.abc import Iterable, Sequence
from functools import partial

import msgspec
import numpy as np
from msgspec import Struct, field

from tracegraph.base.errors import InputError
from tracegraph.ingest.arrays import Ints
from tracegraph.ingest.causal.events.events import NONE
from tracegraph.ingest.integrity_findings import Integrity
from tracegraph.ingest.readers.event_rows import EventRows, build_events, copy_rates
from tracegraph.ingest.readers.perfetto_text import draw_only_part
from tracegraph.ingest.readers.source_file import SourceFile
from tracegraph.ingest.readers.trace_format import TraceFormat, TracePart, read_only_part
from tracegraph.ingest.text_columns import TextColumn, text_column
from tracegraph.ingest.trace import FLOW_SCHEMA, TraceFile
from tracegraph.vocabulary.categories import Role, names_of

_HEAD = re.compile(rb'\s*\{\s*"rocprofiler-sdk-tool"\s*:')
_GPU = 2
"""The type of an agent that is a GPU."""
_DIRECTIONS = {
    "MEMORY_COPY_HOST_TO_HOST": "HtoH",
    "MEMORY_COPY_HOST_TO_DEVICE": "HtoD",
    "MEMORY_COPY_DEVICE_TO_HOST": "DtoH",
    "MEMORY_COPY_DEVICE_TO_DEVICE": "DtoD",
}
_MOST = 1 << 63
_COPY_LANE = 1 << 20
"""The number of the lane of a device's copies: their records name no queue."""
(_KERNEL,), (_COPY,) = names_of(Role.KERNEL), names_of(Role.COPY)
_CALL = names_of(Role.CALL)[0]


class _Handle(Struct):
    handle: int = NONE


class _Correlation(Struct):
    internal: int = NONE


class _Dispatch(Struct):
    agent_id: _Handle = field(default_factory=_Handle)
    queue_id: _Handle = field(default_factory=_Handle)
    kernel_id: int = NONE


class _Record(Struct):
    """A record of any kind; those of work alone have a dispatch, or bytes and agents."""

    start_timestamp: int = NONE
    end_timestamp: int = NONE
    kind: int = NONE
    operation: int = NONE
    thread_id: int = NONE
    correlation_id: _Correlation = field(default_factory=_Correlation)
    dispatch_info: _Dispatch = field(default_factory=_Dispatch)
    src_agent_id: _Handle = field(default_factory=_Handle)
    dst_agent_id: _Handle = field(default_factory=_Handle)
    bytes: int = NONE


class _Records(Struct):
    kernel_dispatch: list[_Record] = field(default_factory=list)
    memory_copy: list[_Record] = field(default_factory=list)
    hip_api: list[_Record] = field(default_factory=list)


class _Agent(Struct):
    id: _Handle = field(default_factory=_Handle)
    type: int = 0
    product_name: str = ""


class _Symbol(Struct):
    kernel_id: int = NONE
    formatted_kernel_name: str = ""


class _Kind(Struct):
    kind: str = ""
    operations: list[str] = field(default_factory=list)


class _Strings(Struct):
    buffer_records: list[_Kind] = field(default_factory=list)


class _Metadata(Struct):
    pid: int = 0


class _Process(Struct):
    metadata: _Metadata = field(default_factory=_Metadata)
    agents: list[_Agent] = field(default_factory=list)
    kernel_symbols: list[_Symbol] = field(default_factory=list)
    strings: _Strings = field(default_factory=_Strings)
    buffer_records: _Records = field(default_factory=_Records)


class _Document(Struct, rename={"processes": "rocprofiler-sdk-tool"}):
    processes: list[_Process]


def _parts(source: SourceFile, _: Integrity) -> list[TracePart]:
    """Take the results apart into their processes, each of which is a rank."""
    try:
        document = msgspec.json.decode(source.take(), type=_Document)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise InputError(
            f"{source.path} is no whole JSON of rocprofv3: {error}", "copy the file again, or record again"
        ) from None
    if not document.processes:
        raise InputError(f"{source.path} holds no process of rocprofv3", "record again")
    alone = len(document.processes) == 1
    return [
        TracePart(str(one.metadata.pid), partial(_read, source, one, alone)) for one in document.processes
    ]


def _read(source: SourceFile, process: _Process, alone: bool, integrity: Integrity) -> TraceFile:
    gpus = [agent for agent in process.agents if agent.type == _GPU]
    device_of = {agent.id.handle: number for number, agent in enumerate(gpus)}
    records = process.buffer_records
    found = [
        _kernels(records.kernel_dispatch, process.kernel_symbols, device_of),
        _copies(records.memory_copy, process.strings.buffer_records, device_of),
        _calls(records.hip_api, process),
    ]
    integrity.limits.check_events(source.path, sum(map(len, found)))
    return TraceFile(
        path=str(source.path),
        sha256=source.sha256,
        rank=0,
        events=build_events(found, integrity),
        flows=FLOW_SCHEMA.empty_table(),
        devices=[agent.product_name for agent in gpus],
        device_memory=[None] * len(gpus),
        rank_stated=False,
        part="" if alone else str(process.metadata.pid),
    )


def _kernels(records: Sequence[_Record], symbols: Iterable[_Symbol], device_of: dict[int, int]) -> EventRows:
    """Read kernels, on queues that are numbered in the order of their handles."""
    names = {symbol.kernel_id: symbol.formatted_kernel_name.removesuffix(".kd") for symbol in symbols}
    handles = [one.dispatch_info.queue_id.handle for one in records]
    number = {handle: place for place, handle in enumerate(sorted(set(handles)))}
    device = _ints(device_of.get(one.dispatch_info.agent_id.handle, 0) for one in records)
    name = _column(names.get(one.dispatch_info.kernel_id) for one in records)
    stream = _ints(number[handle] for handle in handles)
    numbers = {"correlation": _correlations(records), "device": device, "stream": stream}
    return EventRows(_KERNEL, name, *_times(records), device, stream, numbers)


def _copies(records: Sequence[_Record], kinds: Sequence[_Kind], device_of: dict[int, int]) -> EventRows:
    words = [_DIRECTIONS.get(_operation(one, kinds) or "", "") for one in records]
    name = _column(f"Memcpy {word}".rstrip() for word in words)
    ends = ((one.dst_agent_id.handle, one.src_agent_id.handle) for one in records)
    device = _ints(next((device_of[end] for end in pair if end in device_of), 0) for pair in ends)
    stream = np.full(len(records), _COPY_LANE)
    size = _ints(one.bytes for one in records)
    start, end = _times(records)
    place = {"correlation": _correlations(records), "device": device, "stream": stream}
    numbers = {**place, "bytes": size, "bandwidth": copy_rates(start, end, size)}
    return EventRows(_COPY, name, start, end, device, stream, numbers)


def _calls(records: Sequence[_Record], process: _Process) -> EventRows:
    name = _column(_operation(one, process.strings.buffer_records) for one in records)
    pid = np.full(len(records), process.metadata.pid)
    thread = _ints(one.thread_id for one in records)
    numbers = {"correlation": _correlations(records)}
    return EventRows(_CALL, name, *_times(records), pid, thread, numbers)


def _operation(record: _Record, kinds: Sequence[_Kind]) -> str | None:
    """Find what a record's operation is called, by its kind."""
    operations = kinds[record.kind].operations if 0 <= record.kind < len(kinds) else []
    return operations[record.operation] if 0 <= record.operation < len(operations) else None


def _times(records: Sequence[_Record]) -> tuple[Ints, Ints]:
    return _ints(one.start_timestamp for one in records), _ints(one.end_timestamp for one in records)


def _correlations(records: Sequence[_Record]) -> Ints:
    return _ints(one.correlation_id.internal for one in records)


def _ints(numbers: Iterable[int]) -> Ints:
    """Make a column of numbers; one that 64 bits do not hold stands for none, and is `NONE`."""
    known = (one if -_MOST < one < _MOST else NONE for one in numbers)
    return np.array(list(known), dtype=np.int64)


def _column(texts: Iterable[str | None]) -> TextColumn:
    listed = list(texts)
    return text_column(np.arange(len(listed)), listed)


ROCPROF = TraceFormat(
    name="JSON of rocprofv3",
    suffixes=(".json", ".json.gz"),
    sniff=lambda head: bool(_HEAD.match(head)),
    read=partial(read_only_part, _parts),
    parts=_parts,
    chrome_text=partial(draw_only_part, _parts),
)
"""The format of `rocprofv3 --kernel-trace --memory-copy-trace --hip-runtime-trace --output-format json`."""
