"""A rank in short: its operations with other ranks, and how long after which of them each of them came.

What the rank did between them, on all its threads and streams, becomes one lag before each operation (`work
in short`), from the end of the operation that its own graph leads back to, and further lags that hold it up
once that one comes sooner. A lane of its own holds what comes before the first operations, another one what
comes after the last. So the graph of the job has the ranks meet at the same times as in full, with as many
rows as there are operations.
"""

from dataclasses import dataclass, fields, replace

import numpy as np
import pandas as pd

from tracegraph.ingest.array_tables import select_rows
from tracegraph.ingest.arrays import Flags, Ints
from tracegraph.ingest.causal.events.callstack import CallStack
from tracegraph.ingest.causal.events.events import NONE, Events
from tracegraph.ingest.causal.events.lanes import Lanes
from tracegraph.ingest.causal.graph.model import RankModel
from tracegraph.ingest.causal.launches.launches import Launches
from tracegraph.ingest.causal.launches.lost_launches import no_lost_launches
from tracegraph.ingest.causal.rules.context import Scene
from tracegraph.ingest.causal.rules.edges import Found
from tracegraph.ingest.ranks.short.lags import find_lags
from tracegraph.ingest.text_columns import TextColumn, text_column
from tracegraph.vocabulary.categories import LIBRARY_COLLECTIVE
from tracegraph.vocabulary.lane_kinds import IN_SHORT

_BEFORE, _AFTER = "before the first operations", "after the last operation"
"""Names of the two lanes that hold what comes before and after all operations."""
_UNREAD = (
    *("correlation", "written_correlation", "device", "stream", "sequence_number", "forward_thread"),
    *("wait_on_stream", "wait_on_record", "step_number"),
)
"""Numbers that join an event with others, which are not here."""


@dataclass(frozen=True)
class Short:
    """The operations of a rank as a scene, and what holds between them, by the policy of its graph."""

    scene: Scene
    found: Found


def in_short(model: RankModel, operations: Ints) -> Short:
    """Reduce a rank to operations in which it took part; these are its events."""
    lane, of_old = _apart(model.events, operations)
    events = _events(model.events, operations, lane)
    matters = np.append(np.zeros(len(of_old), dtype=bool), [True, True])
    matters[lane[events.end == model.window.end]] = True
    count = len(matters)
    doubts = [
        replace(one, shared=np.zeros(count, dtype=bool), lanes=np.ones(count, dtype=bool))
        for one in model.scene.doubts
    ]
    scene = Scene(
        events=events,
        lanes=_lanes(model.lanes, of_old, matters),
        stack=_stack(events),
        launches=Launches(np.full(len(events), -1, dtype=np.int64), no_lost_launches()),
        steps=replace(
            select_rows(replace(model.steps, of_event=model.steps.event), _nothing()),
            of_event=model.steps.of_event[operations],
        ),
        phases=select_rows(model.phases, _nothing()),
        window=model.window,
        doubts=tuple(doubts),
    )
    return Short(scene, find_lags(model, operations, lane))


def _nothing() -> Ints:
    return np.empty(0, dtype=np.int64)


def _apart(events: Events, rows: Ints) -> tuple[Ints, Ints]:
    """Put operations on lanes on which none overlaps another; return these, and of which old lane each is."""
    until: dict[int, list[list[int]]] = {}
    of_old: list[int] = []
    lane = np.zeros(len(rows), dtype=np.int64)
    for at in np.lexsort((events.end[rows], events.start[rows], events.lane[rows])).tolist():
        old, start, end = (int(column[rows[at]]) for column in (events.lane, events.start, events.end))
        mine = until.setdefault(old, [])
        free = next((one for one in mine if one[1] <= start), None)
        if free is None:
            free = [len(of_old), end]
            mine.append(free)
            of_old.append(old)
        lane[at], free[1] = free[0], end
    return lane, np.array(of_old, dtype=np.int64)


def _events(events: Events, rows: Ints, lane: Ints) -> Events:
    """Take the operations, as work of lanes that is neither of a GPU nor what a rule looks at."""
    count = len(rows)
    kept = {field.name: getattr(events, field.name) for field in fields(Events)}
    columns: dict[str, object] = {
        name: column[rows] for name, column in kept.items() if isinstance(column, np.ndarray)
    }
    columns |= dict.fromkeys(_UNREAD, np.full(count, NONE, dtype=np.int64))
    columns |= dict.fromkeys(("launch_flow", "forward_flow"), np.full(count, -1, dtype=np.int64))
    names, code = np.unique(events.name.codes[rows], return_inverse=True)
    columns |= {
        "name": TextColumn(code.reshape(-1).astype(np.int32), events.name.values[names]),
        "category": text_column(np.zeros(count, dtype=np.int32), [LIBRARY_COLLECTIVE]),
        "lane": lane,
        "is_gpu": np.zeros(count, dtype=bool),
        "on_thread": np.ones(count, dtype=bool),
    }
    return replace(events, **columns)  # type: ignore[arg-type]


def _lanes(lanes: Lanes, of_old: Ints, matters: Flags) -> Lanes:
    """Describe the lanes of operations as those of the file, and the two around them."""
    outer = lanes.frame.iloc[[0, 0]].assign(name=[_BEFORE, _AFTER])
    outer[["device", "stream"]] = pd.NA
    frame = pd.concat([lanes.frame.iloc[of_old], outer.astype(lanes.frame.dtypes)], ignore_index=True)
    return Lanes(frame.assign(kind=IN_SHORT, matters=matters))


def _stack(events: Events) -> CallStack:
    """Make a piece of each operation, and what is between two of a lane, in which no event is open."""
    rows = np.lexsort((events.end, events.start, events.lane))
    rows = rows[events.end[rows] > events.start[rows]]
    lane, start, end = events.lane[rows], events.start[rows], events.end[rows]
    idle = np.flatnonzero((lane[1:] == lane[:-1]) & (start[1:] > end[:-1]))
    lanes = np.concatenate([lane, lane[idle]])
    begin, until = np.concatenate([start, end[idle]]), np.concatenate([end, start[idle + 1]])
    order = np.lexsort((begin, lanes))
    return CallStack(
        parent=np.full(len(events), -1, dtype=np.int64),
        piece_lane=lanes[order],
        piece_start=begin[order],
        piece_end=until[order],
        piece_event=np.append(rows, np.full(len(idle), -1))[order],
        overruns=0,
        first_overrun=-1,
    )
