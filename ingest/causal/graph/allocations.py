"""Places the memory rows of a run in its causal model: thread, innermost operator, step, sum of sizes."""

from collections.abc import Mapping
from dataclasses import dataclass, fields

import numpy as np
import pandas as pd
import pyarrow as pa

from tracegraph.ingest.arrays import Flags, Ints
from tracegraph.ingest.causal.events.callstack import CallStack
from tracegraph.ingest.causal.events.events import NONE, Events
from tracegraph.ingest.causal.graph.solution import Solution
from tracegraph.ingest.causal.steps.steps import step_at
from tracegraph.ingest.text_columns import distinct_pairs, read_texts
from tracegraph.ingest.trace import TraceFile
from tracegraph.vocabulary.categories import Role


@dataclass(frozen=True)
class Allocations:
    """Memory rows by rank and time, one array per attribute; times in ns, `NONE` where absent.

    Attributes
    ----------
    device_type
        The c10::DeviceType.
    bytes
        The size; negative if it is freed.
    allocated, reserved
        The totals of the device after the row, in bytes, as stated.
    net
        The sum of the `bytes` of the device's rows up to this one.
    event
        The innermost operator open on its thread then, else the innermost event, -1 for none.
    """

    source_index: Ints
    rank: Ints
    lane: Ints
    at: Ints
    device_type: Ints
    device: Ints
    bytes: Ints
    allocated: Ints
    reserved: Ints
    net: Ints
    event: Ints
    step: Ints

    def __len__(self) -> int:
        return len(self.at)


def no_allocations() -> Allocations:
    """Make a table without rows."""
    return Allocations(*(np.empty(0, dtype=np.int64),) * len(fields(Allocations)))


def find_allocations(trace: TraceFile, model: Solution) -> Allocations:
    """Place the memory rows of one file in its model."""
    table = trace.memory
    at, device = _numbers(table, "at_ns"), _numbers(table, "device")
    device_type, sizes = _numbers(table, "device_type"), _numbers(table, "bytes")
    lane = _lanes(table, model)
    return Allocations(
        source_index=_numbers(table, "source_index"),
        rank=np.full(len(at), trace.rank, dtype=np.int64),
        lane=lane,
        at=at,
        device_type=device_type,
        device=np.where(device < 0, NONE, device),
        bytes=sizes,
        allocated=_numbers(table, "allocated"),
        reserved=_numbers(table, "reserved"),
        net=net_bytes(sizes, device_type, device),
        event=_innermost(model.stack, model.events, lane, at),
        step=step_at(model.steps, trace.rank, at),
    )


def net_bytes(sizes: Ints, *device: Ints) -> Ints:
    """Sum up the sizes of each device up to each row; rows are in order of time."""
    net = pd.Series(sizes).groupby(list(device)).cumsum()
    return np.asarray(net, dtype=np.int64)


def _numbers(table: pa.Table, column: str) -> Ints:
    return np.asarray(table[column].combine_chunks().fill_null(NONE).to_numpy(zero_copy_only=False))


def _lanes(table: pa.Table, model: Solution) -> Ints:
    """Find the lane of each row's thread, `NONE` if the thread has no events."""
    frame = model.lanes.frame
    threads = frame[model.lanes.is_thread]
    known: Mapping[tuple[str, str], int] = {
        (str(pid), str(tid)): int(lane)
        for pid, tid, lane in zip(threads["pid"], threads["tid"], threads.index, strict=True)
    }
    pid, tid = read_texts(table["pid"]), read_texts(table["tid"])
    pairs, place = distinct_pairs(pid.codes, tid.codes)
    lanes = [known.get((str(pid.values[p]), str(tid.values[t])), NONE) for p, t in pairs]
    return np.array(lanes, dtype=np.int64)[place]


def _innermost(stack: CallStack, events: Events, lane: Ints, at: Ints) -> Ints:
    """Find the event of each row: see `Allocations.event`."""
    event = np.full(len(at), -1, dtype=np.int64)
    for one in np.unique(lane[lane != NONE]).tolist():
        mine = np.flatnonzero(lane == one)
        first, last = np.searchsorted(stack.piece_lane, [one, one + 1])
        piece = first + np.searchsorted(stack.piece_start[first:last], at[mine], "right") - 1
        open_then = (piece >= first) & (at[mine] < np.append(stack.piece_end, NONE)[piece])
        event[mine[open_then]] = stack.piece_event[piece[open_then]]
    operator = _operator_around(event, stack, events.of_role(Role.OPERATOR))
    return np.where(operator >= 0, operator, event)


def _operator_around(event: Ints, stack: CallStack, is_operator: Flags) -> Ints:
    """Find the innermost operator that each event is or runs in, -1 for none."""
    found = event.copy()
    while (climbing := (found >= 0) & ~np.append(is_operator, True)[found]).any():
        found[climbing] = stack.parent[found[climbing]]
    return found
