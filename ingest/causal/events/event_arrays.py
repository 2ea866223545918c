"""From the event table of a file to the arrays that the causal model works on."""

import json
import math

import numpy as np
import pyarrow as pa

from tracegraph.ingest.arrays import Flags, Ints
from tracegraph.ingest.causal.events.events import NONE, Events
from tracegraph.ingest.causal.events.external_ids import follow_external_ids
from tracegraph.ingest.causal.events.flows import follow_backward, follow_launches
from tracegraph.ingest.causal.events.lanes import Lanes, describe_lanes, number_lanes
from tracegraph.ingest.causal.events.step_marks import marked_steps, profiler_steps, serving_steps
from tracegraph.ingest.text_columns import TextColumn, read_texts, with_role
from tracegraph.ingest.trace import TraceFile
from tracegraph.vocabulary.categories import GPU_WORK, NOT_IN_LANES, Role


def read_events(trace: TraceFile, step_marker: str | None = None) -> tuple[Events, Lanes]:
    """Turn the event table of a file into arrays and give every event its lane.

    `step_marker`: a glob for the annotations that mark steps, instead of the profiler's.
    """
    table = trace.events
    category = read_texts(table["category"])
    is_gpu = with_role(category, *GPU_WORK)
    on_thread = ~(is_gpu | with_role(category, *NOT_IN_LANES))
    device, stream = _numbers(table, "device"), _numbers(table, "stream")
    pid, tid = read_texts(table["pid"]), read_texts(table["tid"])
    lane, keys = number_lanes(on_thread, (pid, device), (tid, stream))
    correlation, sequence_number = _numbers(table, "correlation"), _numbers(table, "sequence_number")
    partners = correlation[on_thread & (correlation > 0)]
    unmatched = is_gpu & ~np.isin(correlation, partners)
    launchers = with_role(category, Role.CALL), on_thread & ~with_role(category, Role.CALL)
    operators = with_role(category, Role.OPERATOR) & (sequence_number == NONE).all()
    name, start, end = read_texts(table["name"]), _numbers(table, "start_ns"), _numbers(table, "end_ns")
    annotation = on_thread & with_role(category, Role.ANNOTATION)
    events = Events(
        source_index=_numbers(table, "source_index"),
        name=name,
        category=category,
        # One number for all rows of the file, which takes no memory.
        rank=np.broadcast_to(np.int64(trace.rank), len(lane)),
        lane=lane,
        start=start,
        end=end,
        correlation=correlation,
        written_correlation=correlation,
        device=device,
        stream=stream,
        sequence_number=sequence_number,
        forward_thread=_numbers(table, "forward_thread"),
        wait_on_stream=_numbers(table, "wait_on_stream"),
        wait_on_record=_numbers(table, "wait_on_record"),
        elements=count_elements(table, category),
        launch_flow=_followed(trace, launchers, unmatched),
        forward_flow=follow_backward(table, trace.flows, operators),
        step_number=_step_numbers(name, (on_thread, annotation), lane, (start, end), step_marker),
        is_gpu=is_gpu,
        on_thread=on_thread,
        clipped=np.broadcast_to(np.int64(0), len(lane)),
    )
    return events, describe_lanes(trace, events, keys)


def _step_numbers(
    name: TextColumn, on_thread: tuple[Flags, Flags], lane: Ints, times: tuple[Ints, Ints], marker: str | None
) -> Ints:
    """The number of each event that marks a step: by the user's marker, the profiler's, else as a server's
    iteration; `on_thread`: which events are on a thread, and which are annotations there."""
    if marker is not None:
        return marked_steps(name, on_thread[1], lane, times, marker)
    numbers = profiler_steps(name, on_thread[0])
    return numbers if (numbers != NONE).any() else serving_steps(name, on_thread[1], lane, times)


def _followed(trace: TraceFile, launchers: tuple[Flags, Flags], unmatched: Flags) -> Ints:
    """The launching call of GPU work that no correlation joins with one: by flows, else by `External id`."""
    by_flow = follow_launches(trace.events, trace.flows, launchers, unmatched)
    by_id = follow_external_ids(trace.events, unmatched & (by_flow < 0))
    return np.where(by_flow >= 0, by_flow, by_id)


def _numbers(table: pa.Table, column: str) -> Ints:
    filled = table[column].combine_chunks().fill_null(NONE)
    return np.asarray(filled.to_numpy(zero_copy_only=False), dtype=np.int64)


def count_elements(table: pa.Table, category: TextColumn) -> Ints:
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
