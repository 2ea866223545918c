"""The events of one rank as numpy arrays with their lanes: what the causal model works on."""

import json
import math
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa

from tracegraph.ingest.flows import follow_backward, follow_launches
from tracegraph.ingest.trace import GPU_WORK, NOT_IN_LANES, TraceFile

Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
Texts = npt.NDArray[np.object_]

NONE = np.iinfo(np.int64).min
"""Stands for an absent number in an integer array."""


@dataclass(frozen=True)
class Events:
    """All events of a file in its order, one array an attribute; times in ns, `NONE` where absent."""

    source_index: Ints
    name: Texts
    category: Texts
    lane: Ints
    start: Ints
    end: Ints
    correlation: Ints
    device: Ints
    stream: Ints
    sequence_number: Ints
    forward_thread: Ints
    wait_on_stream: Ints
    wait_on_record: Ints
    elements: Ints
    launch_flow: Ints
    """Index of the call that a flow joins with GPU work whose correlation finds none; -1 for none."""
    forward_flow: Ints
    """Index of the forward operator that a flow joins with an operator, where no operator has a number."""
    is_gpu: Flags
    on_thread: Flags

    def __len__(self) -> int:
        return len(self.start)

    def shift_gpu(self, offset_ns: int) -> "Events":
        """The same events with all rows on the GPU's clock moved; cuda_sync rows are on the CPU's."""
        moved = np.where(self.on_thread | (self.category == "cuda_sync"), 0, offset_ns)
        return replace(self, start=self.start + moved, end=self.end + moved)


@dataclass(frozen=True)
class Lanes:
    """The lanes of a rank; lane ids are positions: threads by (pid, tid) first, then streams."""

    frame: pd.DataFrame
    """Columns kind, name, pid, tid (text), device, stream (nullable Int64), matters (bool)."""

    @property
    def is_thread(self) -> Flags:
        """Whether each lane is a CPU thread."""
        return (self.frame["kind"] == "thread").to_numpy()

    @property
    def matters(self) -> Flags:
        """Whether the path may end on each lane (rule 9)."""
        return self.frame["matters"].to_numpy(dtype=bool)


def _numbers(table: pa.Table, column: str) -> Ints:
    filled = table[column].combine_chunks().fill_null(NONE)
    return np.asarray(filled.to_numpy(zero_copy_only=False), dtype=np.int64)


def _texts(table: pa.Table, column: str) -> Texts:
    encoded = table[column].combine_chunks()
    values = np.array([*encoded.dictionary.to_pylist(), ""], dtype=object)
    texts: Texts = values[encoded.indices.fill_null(len(values) - 1).to_numpy(zero_copy_only=False)]
    return texts


def _elements(table: pa.Table, category: Texts) -> Ints:
    """Elements of collectives as stated, of other annotations those of all inputs together."""
    stated = _numbers(table, "elements").copy()
    chosen = np.flatnonzero((stated == NONE) & (category == "user_annotation"))
    shapes = _texts(table.select(["shapes"]).take(chosen), "shapes") if len(chosen) else chosen
    for at, text in zip(chosen.tolist(), shapes.tolist(), strict=True):
        if text:
            stated[at] = _count_elements(str(text))
    return stated


def _count_elements(shapes: str) -> int:
    """Elements of all tensors in "Input Dims", `NONE` where it is no list of lists of small numbers."""
    try:
        sizes = json.loads(shapes)
        total = sum(math.prod(size) for size in sizes if isinstance(size, list) and size)
    except (TypeError, ValueError, RecursionError):
        return NONE
    return total if isinstance(total, int) and 0 <= total < 1 << 53 else NONE


def _sort_key(text: str) -> tuple[int, int, str]:
    return (0, int(text), "") if text.isascii() and text.isdigit() and len(text) < 19 else (1, 0, text)


def read_events(trace: TraceFile) -> tuple[Events, Lanes]:
    """Turn the event table of a file into arrays and give every event its lane."""
    table = trace.events
    category = _texts(table, "category")
    is_gpu = np.isin(category, GPU_WORK)
    on_thread = ~(is_gpu | np.isin(category, NOT_IN_LANES))
    pid, tid = _texts(table, "pid"), _texts(table, "tid")
    device, stream = _numbers(table, "device"), _numbers(table, "stream")
    first = np.where(on_thread | (device == NONE), pid, device.astype(str).astype(object))
    second = np.where(on_thread | (stream == NONE), tid, stream.astype(str).astype(object))
    keys = pd.MultiIndex.from_arrays([~on_thread, first, second])
    codes, distinct = pd.factorize(keys)
    order = sorted(
        range(len(distinct)),
        key=lambda i: (distinct[i][0], _sort_key(distinct[i][1]), _sort_key(distinct[i][2])),
    )
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    lane = rank[codes] if len(codes) else np.empty(0, dtype=np.int64)
    correlation, sequence_number = _numbers(table, "correlation"), _numbers(table, "sequence_number")
    partners = correlation[on_thread & (correlation > 0)]
    unmatched = is_gpu & ~np.isin(correlation, partners)
    operators = (category == "cpu_op") & (sequence_number == NONE).all()
    events = Events(
        source_index=_numbers(table, "source_index"),
        name=_texts(table, "name"),
        category=category,
        lane=lane,
        start=_numbers(table, "start_ns"),
        end=_numbers(table, "end_ns"),
        correlation=correlation,
        device=device,
        stream=stream,
        sequence_number=sequence_number,
        forward_thread=_numbers(table, "forward_thread"),
        wait_on_stream=_numbers(table, "wait_on_stream"),
        wait_on_record=_numbers(table, "wait_on_record"),
        elements=_elements(table, category),
        launch_flow=follow_launches(table, trace.flows, unmatched),
        forward_flow=follow_backward(table, trace.flows, operators),
        is_gpu=is_gpu,
        on_thread=on_thread,
    )
    return events, _describe_lanes(trace, events, [distinct[i] for i in order])


def _describe_lanes(trace: TraceFile, events: Events, keys: list[tuple[bool, str, str]]) -> Lanes:
    rows = []
    for on_gpu, first, second in keys:
        if on_gpu:
            name = f"GPU {first} stream {second}"
        else:
            name = trace.thread_names.get((first, second)) or f"thread {second}"
        rows.append(("stream" if on_gpu else "thread", name, first, second))
    frame = pd.DataFrame(rows, columns=["kind", "name", "pid", "tid"])
    on_stream = frame["kind"] == "stream"
    for column, source in (("device", "pid"), ("stream", "tid")):
        is_number = on_stream & frame[source].str.fullmatch(r"-?[0-9]{1,18}")
        frame[column] = pd.to_numeric(frame[source].where(is_number)).astype("Int64")
    # Some files write a stream's tid as text of their own, such as "stream 7": lanes keep what is written.
    first_event = np.unique(events.lane, return_index=True)[1]
    for column in ("pid", "tid"):
        frame[column] = trace.events[column].take(first_event).cast("string").to_pylist()
    frame["matters"] = _lanes_that_matter(events, len(frame))
    return Lanes(frame)


def _lanes_that_matter(events: Events, count: int) -> Flags:
    """Rule 9: threads with a ProfilerStep, else those with 5 % of the operators; streams with work."""
    matters: Flags = np.bincount(events.lane[events.is_gpu], minlength=count) > 0
    is_step = step_numbers(events) != NONE
    for chosen, share in (
        (is_step, 0.0),
        (events.category == "cpu_op", 0.05),
        (events.on_thread, 0.05),
    ):
        on_lane = np.bincount(events.lane[chosen & events.on_thread], minlength=count)
        if on_lane.sum():
            matters |= (on_lane > 0) & (on_lane >= share * on_lane.sum())
            break
    return matters


def is_passive(events: Events) -> Flags:
    """Which events may be waiting in their self time: annotations and python frames, which do no work."""
    passive: Flags = np.isin(events.category, ("user_annotation", "python_function"))
    return passive


def is_call_named(events: Events, *parts: str) -> Flags:
    """Which events are runtime or driver calls with one of `parts` in their name."""
    calls = np.flatnonzero(np.isin(events.category, ("cuda_runtime", "cuda_driver")))
    found = np.zeros(len(events), dtype=bool)
    found[calls] = [any(part in str(name) for part in parts) for name in events.name[calls].tolist()]
    return found


def step_numbers(events: Events) -> Ints:
    """The N of each event on a thread that is named ProfilerStep#N, else `NONE`."""
    numbers = np.full(len(events), NONE, dtype=np.int64)
    names = pd.Series(events.name, dtype=object)
    found = names[events.on_thread].astype(str)
    found = found[found.str.startswith("ProfilerStep#")].str.extract(r"^ProfilerStep#(\d{1,18})$")[0].dropna()
    numbers[found.index.to_numpy()] = found.astype(np.int64).to_numpy()
    return numbers
