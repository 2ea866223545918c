"""From the event table of a file to the arrays that the causal model works on."""

import json
import math
import re
from collections.abc import Sequence

import numpy as np
import pandas as pd
import pyarrow as pa

from tracegraph.ingest.arrays import Flags, Ints
from tracegraph.ingest.causal.events.events import NONE, Events
from tracegraph.ingest.causal.events.external_ids import follow_external_ids
from tracegraph.ingest.causal.events.lanes import Lanes, describe_lanes, number_lanes
from tracegraph.ingest.causal.events.step_marks import marked_steps, profiler_steps, serving_steps
from tracegraph.ingest.text_columns import TextColumn, read_texts, with_role
from tracegraph.ingest.trace import LAUNCH_FLOWS, TraceFile
from tracegraph.vocabulary.categories import GPU_WORK, NOT_IN_LANES, Role
from tracegraph.vocabulary.iterations import ITERATION
from tracegraph.vocabulary.step_names import STEP_PREFIX

_KEYS = ["pid", "tid", "ts"]
_ID = ["kind", "id"]
_BACKWARD_FLOWS = re.compile(r"fwdbwd|forward_backward")


def follow_launches(events: pa.Table, flows: pa.Table, causes: Sequence[Flags], wanted: Flags) -> Ints:
    """Find for each `wanted` GPU activity the event whose flow ends at its start.

    Parameters
    ----------
    causes
        Which events may be that event; earlier masks are preferred.

    Returns
    -------
    Ints
        For each event the index of its cause, -1 where there is none or the event is not wanted.
    """
    found = np.full(events.num_rows, -1, dtype=np.int64)
    for allowed in causes:
        left = wanted & (found < 0)
        found = np.where(found < 0, _follow(events, flows, LAUNCH_FLOWS, allowed, left), found)
    return found


def follow_backward(events: pa.Table, flows: pa.Table, operators: Flags) -> Ints:
    """Find for each operator the forward operator whose flow ends at its start, -1 for none."""
    return _follow(events, flows, _BACKWARD_FLOWS, operators, operators)


def _follow(events: pa.Table, flows: pa.Table, kinds: re.Pattern[str], causes: Flags, effects: Flags) -> Ints:
    """Find the cause of each effect by the flows of these `kinds`, -1 for none.

    An id that several causes share says nothing. It is left out before the ends are looked up, so that no
    table has more rows than there are flows.
    """
    found = np.full(events.num_rows, -1, dtype=np.int64)
    if not effects.any() or not causes.any() or not flows.num_rows:
        return found
    kind = read_texts(flows["kind"])
    meant = kind.matching(np.array([kinds.fullmatch(str(text)) is not None for text in kind.values]))
    frame = flows.filter(pa.array(meant)).to_pandas().rename(columns={"ts_ns": "ts"})
    frame[_ID] = frame[_ID].astype(str)
    begins = frame[frame["is_start"]].merge(_starts(events, causes), on=_KEYS)
    begins = begins.drop_duplicates([*_ID, "event"]).drop_duplicates(_ID, keep=False)
    ends = (
        frame[~frame["is_start"]].merge(_starts(events, effects), on=_KEYS).drop_duplicates([*_ID, "event"])
    )
    joined = ends.merge(begins, on=_ID, suffixes=("", "_of_cause"), validate="many_to_one")
    joined = joined[joined["event"] != joined["event_of_cause"]]
    # If several ids join an effect with different causes, its cause is not known.
    joined = joined.drop_duplicates(["event", "event_of_cause"]).drop_duplicates("event", keep=False)
    found[joined["event"].to_numpy(np.int64)] = joined["event_of_cause"].to_numpy(np.int64)
    return found


def _starts(events: pa.Table, chosen: Flags) -> pd.DataFrame:
    """List pid, tid, ts and index of the chosen events; of a thread's simultaneous ones the longest."""
    index = np.flatnonzero(chosen)
    rows = events.select(["pid", "tid", "start_ns", "end_ns"]).take(index).to_pandas()
    rows = rows.rename(columns={"start_ns": "ts"}).assign(event=index)
    rows = rows.astype({"pid": object, "tid": object}).sort_values("end_ns", ascending=False, kind="stable")
    distinct: pd.DataFrame = rows.drop_duplicates(_KEYS).drop(columns="end_ns")
    return distinct


def read_events(trace: TraceFile, step_marker: str | None = None) -> tuple[Events, Lanes]:
    """Turn the event table of a file into arrays and give every event its lane.

    Parameters
    ----------
    step_marker
        A glob for the annotations that mark steps, instead of the profiler's own.
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
    # A file without threads has its steps on streams.
    marking = on_thread if on_thread.any() else with_role(category, Role.GPU_ANNOTATION)
    step_number, common_marker = _marked(name, (marking, annotation), lane, (start, end), step_marker)
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
        step_number=step_number,
        is_gpu=is_gpu,
        on_thread=on_thread,
        clipped=np.broadcast_to(np.int64(0), len(lane)),
        step_marker=common_marker,
    )
    return events, describe_lanes(trace, events, keys)


def _marked(
    name: TextColumn, marking: tuple[Flags, Flags], lane: Ints, times: tuple[Ints, Ints], marker: str | None
) -> tuple[Ints, str]:
    """Find the number of each event that marks a step, `NONE` for all others, and what their names share.

    The user's marker decides, else the profiler's steps, else a server's iterations.
    `marking`: which events the profiler's steps are among, and which are annotations on threads. `times`:
    starts and ends.
    """
    if marker is not None:
        return marked_steps(name, marking[1], lane, times, marker), marker
    numbers = profiler_steps(name, marking[0])
    if (numbers != NONE).any():
        return numbers, STEP_PREFIX
    numbers = serving_steps(name, marking[1], lane, times)
    return numbers, ITERATION if (numbers != NONE).any() else STEP_PREFIX


def _followed(trace: TraceFile, launchers: tuple[Flags, Flags], unmatched: Flags) -> Ints:
    """Find the call of GPU work that no correlation joins with one: by flows, else by `External id`."""
    if not unmatched.any():
        return np.broadcast_to(np.int64(-1), len(unmatched))
    by_flow = follow_launches(trace.events, trace.flows, launchers, unmatched)
    by_id = follow_external_ids(trace.events, unmatched & (by_flow < 0))
    return np.where(by_flow >= 0, by_flow, by_id)


def _numbers(table: pa.Table, column: str) -> Ints:
    """Read a column of numbers; one without any takes no memory, and a file of a CPU has ten of these."""
    if table[column].null_count == table.num_rows:
        return np.broadcast_to(np.int64(NONE), table.num_rows)
    filled = table[column].combine_chunks().fill_null(NONE)
    return np.asarray(filled.to_numpy(zero_copy_only=False), dtype=np.int64)


def count_elements(table: pa.Table, category: TextColumn) -> Ints:
    """Count the elements of each collective, as stated, and of other annotations' inputs together."""
    stated = _numbers(table, "elements")
    chosen = np.flatnonzero((stated == NONE) & with_role(category, Role.ANNOTATION))
    shapes = read_texts(table["shapes"]).take(chosen)
    counts = np.full(len(shapes.values), NONE, dtype=np.int64)
    for code in np.unique(shapes.codes).tolist():
        counts[code] = _count_elements(str(shapes.values[code]))
    if (counts == NONE).all():
        return stated
    elements = stated.copy()
    elements[chosen] = counts[shapes.codes]
    return elements


def _count_elements(shapes: str) -> int:
    """Count the elements of all tensors in "Input Dims".

    `NONE` if it is not a list of lists of numbers, or if there are 2**53 or more, which a float no longer
    holds exactly.
    """
    try:
        sizes = json.loads(shapes)
        total = sum(math.prod(size) for size in sizes if isinstance(size, list) and size)
    except (TypeError, ValueError, RecursionError):
        return NONE
    return total if isinstance(total, int) and 0 <= total < 1 << 53 else NONE
