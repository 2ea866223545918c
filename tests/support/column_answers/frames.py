"""The call stacks of a path, each walked up from its own event."""

from collections import defaultdict

import pandas as pd

from column_answers.off_path import all_work
from tracegraph.ingest.causal.graph.model import Model
from tracegraph.ingest.causal.graph.path_rows import find_stretches
from tracegraph.ingest.causal.graph.segments import WORK
from tracegraph.vocabulary.gaps import GAP_NAMES

Stack = tuple[tuple[str, str], ...]


def time_by_stack(model: Model) -> dict[tuple[Stack, str], int]:
    """Time on the path by name and category of the frames, outermost first, and by the lag's name or ''."""
    segments, rows = model.segments, find_stretches(model)
    spent: defaultdict[tuple[Stack, str], int] = defaultdict(int)
    for segment, event, gap, start, end in zip(
        rows.segment, rows.event, rows.gap_name, rows.start, rows.end, strict=True
    ):
        is_lag = event < 0 and start < segments.start[segment]
        stack = _stack(model, int(segment))
        if segments.kind[segment] != WORK:
            stack = (*stack, (GAP_NAMES[segments.gap_name[segment]], "gap"))
        spent[stack, GAP_NAMES[gap] if is_lag else ""] += int(end - start)
    return dict(spent)


def off_path_by_stack(model: Model) -> dict[tuple[Stack, str], int]:
    """Time of work that is not on the path, in the same form."""
    work = all_work(model)
    spent: defaultdict[tuple[Stack, str], int] = defaultdict(int)
    for segment, duration_ns in work.loc[~work["on_path"], ["segment", "duration_ns"]].itertuples(
        index=False
    ):
        spent[_stack(model, int(segment)), ""] += int(duration_ns)
    return dict(spent)


def _stack(model: Model, segment: int) -> Stack:
    """The frames of a segment's event, outermost first."""
    events = model.events
    inner = int(model.segments.event[segment])
    stack = [] if inner >= 0 else [_lane(model, int(model.segments.lane[segment]))]
    while inner >= 0:
        name = str(events.name[inner])
        shown = "ProfilerStep#" if name.rstrip("0123456789") == "ProfilerStep#" else name
        stack.append((shown, str(events.category[inner])))
        outer = int(model.launches.call[inner] if events.is_gpu[inner] else model.stack.parent[inner])
        if outer < 0:
            stack.append(_lane(model, int(events.lane[inner])))
        inner = outer
    return tuple(reversed(stack))


def stacks_of(frames: pd.DataFrame) -> dict[tuple[Stack, str], int]:
    """The same from the rows of `path_frames`."""
    above: dict[int, Stack] = {}
    spent = {}
    for row in frames.itertuples(index=False):
        outer = () if pd.isna(row.parent) else above[int(row.parent)]
        above[int(row.frame)] = (*outer, (row.name, row.category))
        if row.duration_ns:
            spent[above[int(row.frame)], "" if pd.isna(row.lag) else row.lag] = int(row.duration_ns)
    return spent


def _lane(model: Model, lane: int) -> tuple[str, str]:
    row = model.lanes.frame.iloc[lane]
    return str(row["name"]), str(row["kind"])
