"""The events of a run as numpy arrays with their lanes: what the causal model works on."""

import json
import math
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import pyarrow as pa

from tracegraph.ingest.arrays import Flags, Ints
from tracegraph.ingest.causal.flows import follow_backward, follow_launches
from tracegraph.ingest.text_columns import TextColumn, read_texts, with_role
from tracegraph.ingest.trace import TraceFile
from tracegraph.store.categories import GPU_WORK, NOT_IN_LANES, Role
from tracegraph.store.step_names import step_number

NONE = np.iinfo(np.int64).min
"""Stands for an absent number in an integer array."""


@dataclass(frozen=True)
class Events:
    """All events of a file in its order, one array an attribute; times in ns, `NONE` where absent."""

    source_index: Ints
    name: TextColumn
    category: TextColumn
    rank: Ints
    lane: Ints
    start: Ints
    end: Ints
    correlation: Ints
    """Joins GPU work and cuda_sync rows with the one call that carries it: see `correlations`."""
    written_correlation: Ints
    """As the file has it."""
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

    def of_role(self, *roles: Role) -> Flags:
        """Which events are of a category with one of `roles`."""
        return with_role(self.category, *roles)

    def shift_gpu(self, offset_ns: int, drift_ppb: int = 0, since_ns: int = 0) -> "Events":
        """The same events with all rows on the GPU's clock moved; cuda_sync rows are on the CPU's.

        By `offset_ns` at the time `since_ns`, and by `drift_ppb` ns more each second.
        """
        on_gpu = ~(self.on_thread | self.of_role(Role.SYNC))

        def move(times: Ints) -> Ints:
            more = np.rint((times - since_ns) * (drift_ppb * 1e-9)).astype(np.int64)
            return np.where(on_gpu, times + offset_ns + more, times)

        return replace(self, start=move(self.start), end=move(self.end))


@dataclass(frozen=True)
class Lanes:
    """The lanes of a run; lane ids are positions: threads by (pid, tid) first, then streams."""

    frame: pd.DataFrame
    """Columns rank, kind, name, pid, tid (text), device, stream (nullable Int64), matters (bool)."""

    @property
    def rank(self) -> Ints:
        """The rank of each lane."""
        return self.frame["rank"].to_numpy(dtype=np.int64)

    @property
    def is_thread(self) -> Flags:
        """Whether each lane is a CPU thread."""
        return (self.frame["kind"] == "thread").to_numpy()

    @property
    def process(self) -> Ints:
        """Number of the process that each lane belongs to; those of two ranks are never one."""
        numbers = self.frame.groupby(["rank", "pid"], sort=False).ngroup()
        return np.asarray(numbers, dtype=np.int64)

    @property
    def matters(self) -> Flags:
        """Whether the path may end on each lane (rule 9)."""
        return self.frame["matters"].to_numpy(dtype=bool)


def _numbers(table: pa.Table, column: str) -> Ints:
    filled = table[column].combine_chunks().fill_null(NONE)
    return np.asarray(filled.to_numpy(zero_copy_only=False), dtype=np.int64)


def _elements(table: pa.Table, category: TextColumn) -> Ints:
    """Elements of collectives as stated, of other annotations those of all inputs together."""
    stated = _numbers(table, "elements").copy()
    chosen = np.flatnonzero((stated == NONE) & with_role(category, Role.ANNOTATION))
    shapes = read_texts(table["shapes"]).take(chosen)
    counts = np.full(len(shapes.values), NONE, dtype=np.int64)
    for code in np.unique(shapes.codes).tolist():
        counts[code] = _count_elements(str(shapes.values[code]))
    stated[chosen] = counts[shapes.codes]
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
    category = read_texts(table["category"])
    is_gpu = with_role(category, *GPU_WORK)
    on_thread = ~(is_gpu | with_role(category, *NOT_IN_LANES))
    device, stream = _numbers(table, "device"), _numbers(table, "stream")
    pid, tid = read_texts(table["pid"]), read_texts(table["tid"])
    lane, keys = _number_lanes(on_thread, (pid, device), (tid, stream))
    correlation, sequence_number = _numbers(table, "correlation"), _numbers(table, "sequence_number")
    partners = correlation[on_thread & (correlation > 0)]
    unmatched = is_gpu & ~np.isin(correlation, partners)
    operators = with_role(category, Role.OPERATOR) & (sequence_number == NONE).all()
    events = Events(
        source_index=_numbers(table, "source_index"),
        name=read_texts(table["name"]),
        category=category,
        # One number for all rows of the file, which takes no memory.
        rank=np.broadcast_to(np.int64(trace.rank), len(lane)),
        lane=lane,
        start=_numbers(table, "start_ns"),
        end=_numbers(table, "end_ns"),
        correlation=correlation,
        written_correlation=correlation,
        device=device,
        stream=stream,
        sequence_number=sequence_number,
        forward_thread=_numbers(table, "forward_thread"),
        wait_on_stream=_numbers(table, "wait_on_stream"),
        wait_on_record=_numbers(table, "wait_on_record"),
        elements=_elements(table, category),
        launch_flow=follow_launches(table, trace.flows, with_role(category, Role.CALL), unmatched),
        forward_flow=follow_backward(table, trace.flows, operators),
        is_gpu=is_gpu,
        on_thread=on_thread,
    )
    return events, _describe_lanes(trace, events, keys)


def _number_lanes(
    on_thread: Flags, first: tuple[TextColumn, Ints], second: tuple[TextColumn, Ints]
) -> tuple[Ints, list[tuple[bool, str, str]]]:
    """Lane of each event, and the keys of the lanes: on a GPU or not, process or device, thread or stream.

    `first`, `second`: pid and tid as written, and the device and stream that stand for them on a GPU.
    """
    outer, outers = _distinct_places(on_thread, *first)
    inner, inners = _distinct_places(on_thread, *second)
    code, found = pd.factorize((outer * len(inners) + inner) * 2 + ~on_thread)
    keys = [
        (bool(lane & 1), outers[lane // 2 // len(inners)], inners[lane // 2 % len(inners)])
        for lane in found.tolist()
    ]
    order = sorted(range(len(keys)), key=lambda i: (keys[i][0], _sort_key(keys[i][1]), _sort_key(keys[i][2])))
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    return rank[code], [keys[i] for i in order]


def _distinct_places(on_thread: Flags, written: TextColumn, number: Ints) -> tuple[Ints, list[str]]:
    """For each event the position of its place among the distinct texts of places."""
    texts = {str(text): position for position, text in enumerate(written.values)}
    codes = written.codes.astype(np.int64)
    numbered = np.flatnonzero(~on_thread & (number != NONE))
    code, numbers = pd.factorize(number[numbered])
    place = [texts.setdefault(str(value), len(texts)) for value in numbers.tolist()]
    codes[numbered] = np.array(place, dtype=np.int64)[code]
    return codes, list(texts)


def _describe_lanes(trace: TraceFile, events: Events, keys: list[tuple[bool, str, str]]) -> Lanes:
    rows = []
    for on_gpu, first, second in keys:
        if on_gpu:
            name = f"GPU {first} stream {second}"
        else:
            name = trace.thread_names.get((first, second)) or f"thread {second}"
        rows.append(("stream" if on_gpu else "thread", name, first, second))
    frame = pd.DataFrame(rows, columns=["kind", "name", "pid", "tid"])
    frame.insert(0, "rank", trace.rank)
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
        (events.of_role(Role.OPERATOR), 0.05),
        (events.on_thread, 0.05),
    ):
        on_lane = np.bincount(events.lane[chosen & events.on_thread], minlength=count)
        if on_lane.sum():
            matters |= (on_lane > 0) & (on_lane >= share * on_lane.sum())
            break
    return matters


def recording_start(events: Events) -> int:
    """When the recording begins: the first start on any lane, ns; 0 where there is none."""
    placed = events.start[events.on_thread | events.is_gpu]
    return int(placed.min()) if len(placed) else 0


def is_annotation(events: Events) -> Flags:
    """Which events are annotations or steps, which go on while nothing is recorded."""
    is_step: Flags = step_numbers(events) != NONE
    return events.of_role(Role.ANNOTATION) | is_step


def is_passive(events: Events) -> Flags:
    """Which events may be waiting in their self time: annotations, steps and python frames do no work."""
    return is_annotation(events) | events.of_role(Role.FRAME)


def is_named(events: Events, *parts: str) -> Flags:
    """Which events have one of `parts` in their name."""
    named = np.array([any(part in str(name) for part in parts) for name in events.name.values], dtype=bool)
    return events.name.matching(named)


def is_call_named(events: Events, *parts: str) -> Flags:
    """Which events are runtime or driver calls with one of `parts` in their name."""
    return is_named(events, *parts) & events.of_role(Role.CALL)


def step_numbers(events: Events) -> Ints:
    """The N of each event on a thread that is named ProfilerStep#N, else `NONE`."""
    found = [step_number(str(name)) for name in events.name.values]
    numbers = np.array([NONE if number is None else number for number in found], dtype=np.int64)
    return np.where(events.on_thread, numbers[events.name.codes], NONE)
