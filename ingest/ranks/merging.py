"""From the parts of several ranks to one scene, with what the rules found, on the first rank's clock."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace
from typing import TypeVar

import numpy as np
import pandas as pd
import pyarrow as pa

from tracegraph.ingest.array_tables import join_rows
from tracegraph.ingest.arrays import Flags, shifted
from tracegraph.ingest.causal.events.callstack import CallStack
from tracegraph.ingest.causal.events.events import NONE, Events
from tracegraph.ingest.causal.events.lanes import Lanes
from tracegraph.ingest.causal.events.window import Window, find_window
from tracegraph.ingest.causal.graph.allocations import Allocations
from tracegraph.ingest.causal.launches.doubts import Doubts
from tracegraph.ingest.causal.launches.launches import Launches
from tracegraph.ingest.causal.launches.lost_launches import LostLaunches
from tracegraph.ingest.causal.rules.context import Scene
from tracegraph.ingest.causal.rules.edges import Found
from tracegraph.ingest.causal.steps.phases import Phases
from tracegraph.ingest.causal.steps.steps import Steps
from tracegraph.ingest.ranks.clocks import RankClock
from tracegraph.ingest.ranks.rank_part import Part
from tracegraph.ingest.text_columns import TextColumn

_DEVICES = 1 << 32
"""Keeps the device numbers of ranks apart, as a multiple of this: two hosts have a device 0 each."""
_INDICES = ("launch_flow", "forward_flow")
_TIMES = ("start", "end")
Shifted = TypeVar("Shifted", Events, Steps)


class Offsets:
    """Where the events and lanes of each part begin in the whole, and the clock of each part."""

    def __init__(self, parts: Sequence[Part], clocks: Mapping[int, RankClock]) -> None:
        events = [len(part.scene.events) for part in parts]
        lanes = [len(part.scene.lanes.frame) for part in parts]
        self.event = np.cumsum([0, *events]).tolist()
        self.lane = np.cumsum([0, *lanes]).tolist()
        self.clock = [clocks[part.rank] for part in parts]


def merge_scenes(parts: Sequence[Part], at: Offsets) -> Scene:
    """Make one scene of all ranks; ids, lanes and indices of one rank never mean those of another."""
    scenes = [part.scene for part in parts]
    events = _merge_events([part.rank for part in parts], scenes, at)
    frames = [
        scene.lanes.frame.assign(name=f"rank {part.rank}: " + scene.lanes.frame["name"])
        for part, scene in zip(parts, scenes, strict=True)
    ]
    lanes = Lanes(pd.concat(frames, ignore_index=True))
    return Scene(
        events=events,
        lanes=lanes,
        stack=_merge_stacks(scenes, at),
        launches=_merge_launches(scenes, at),
        steps=_merge_steps(scenes, at),
        phases=_merge_phases(scenes, at),
        window=_window(scenes, events, lanes, at),
        doubts=tuple(one for k, scene in enumerate(scenes) for one in _merge_doubts(scene, k, at)),
    )


def _window(scenes: Sequence[Scene], events: Events, lanes: Lanes, at: Offsets) -> Window:
    """Find the window of events; what ranks in short do without an event of theirs counts, too."""
    own = [
        at.clock[k].put_right(np.array([scene.window.start, scene.window.end]))
        for k, scene in enumerate(scenes)
        if scene.lanes.in_short.any()
    ]
    if len(own) < len(scenes):
        shown = find_window(events, lanes)
        own.append(np.array([shown.start, shown.end]))
    return Window(int(min(start for start, _ in own)), int(max(end for _, end in own)))


def merge_found(found: Sequence[Found], at: Offsets) -> Found:
    """Join the edges and waits of all ranks."""
    edges, waits = [], []
    for k, one in enumerate(found):
        put_right, lane, event = at.clock[k].put_right, at.lane[k], at.event[k]
        edges.append(
            replace(
                one.edges,
                cause_event=shifted(one.edges.cause_event, event),
                cause_lane=one.edges.cause_lane + lane,
                cause_time=put_right(one.edges.cause_time),
                effect_event=shifted(one.edges.effect_event, event),
                effect_lane=one.edges.effect_lane + lane,
                effect_time=put_right(one.edges.effect_time),
                arrival=put_right(one.edges.arrival),
            )
        )
        waits.append(
            replace(
                one.waits,
                lane=one.waits.lane + lane,
                start=put_right(one.waits.start),
                end=put_right(one.waits.end),
                event=shifted(one.waits.event, event),
            )
        )
    return Found(join_rows(edges), join_rows(waits))


def merge_stated(parts: Iterable[Part]) -> pa.Table:
    """Join what the files state of their events, each column with one dictionary."""
    return pa.concat_tables([part.stated for part in parts]).unify_dictionaries().combine_chunks()


def merge_allocations(parts: Sequence[Part], at: Offsets) -> Allocations:
    """Join the memory rows of all ranks."""
    return join_rows(
        [
            replace(
                part.allocations,
                rank=np.full(len(part.allocations), part.rank, dtype=np.int64),
                lane=shifted(part.allocations.lane, at.lane[k]),
                at=at.clock[k].put_right(part.allocations.at),
                event=shifted(part.allocations.event, at.event[k]),
            )
            for k, part in enumerate(parts)
        ]
    )


def _merge_events(ranks: Sequence[int], scenes: Sequence[Scene], at: Offsets) -> Events:
    parts = [scene.events for scene in scenes]
    columns: dict[str, object] = {}
    for name in (field.name for field in fields(Events)):
        values = [getattr(part, name) for part in parts]
        if isinstance(values[0], TextColumn):
            columns[name] = _join_texts(values)
            continue
        if name == "step_marker":
            columns[name] = values[0]
            continue
        if name in _TIMES:
            values = [at.clock[k].put_right(column) for k, column in enumerate(values)]
        elif name in _INDICES:
            values = [shifted(column, at.event[k]) for k, column in enumerate(values)]
        elif name == "lane":
            values = [column + at.lane[k] for k, column in enumerate(values)]
        elif name == "device":
            apart = zip(ranks, values, strict=True)
            values = [np.where(column == NONE, NONE, column + rank * _DEVICES) for rank, column in apart]
        columns[name] = np.concatenate(values)
    return Events(**columns)  # type: ignore[arg-type]


def _join_texts(columns: Sequence[TextColumn]) -> TextColumn:
    """Join the rows of all columns over one list of texts."""
    place: dict[object, int] = {}
    codes = []
    for column in columns:
        known = [place.setdefault(text, len(place)) for text in column.values.tolist()]
        codes.append(np.array(known, dtype=np.int32)[column.codes])
    return TextColumn(np.concatenate(codes), np.array(list(place), dtype=object))


def _merge_stacks(scenes: Sequence[Scene], at: Offsets) -> CallStack:
    stacks = [scene.stack for scene in scenes]
    moved = [at.clock[k].put_right for k in range(len(stacks))]
    firsts = [shifted(np.array([stack.first_overrun]), at.event[k])[0] for k, stack in enumerate(stacks)]
    return CallStack(
        parent=np.concatenate([shifted(stack.parent, at.event[k]) for k, stack in enumerate(stacks)]),
        piece_lane=np.concatenate([stack.piece_lane + at.lane[k] for k, stack in enumerate(stacks)]),
        piece_start=np.concatenate([moved[k](stack.piece_start) for k, stack in enumerate(stacks)]),
        piece_end=np.concatenate([moved[k](stack.piece_end) for k, stack in enumerate(stacks)]),
        piece_event=np.concatenate(
            [shifted(stack.piece_event, at.event[k]) for k, stack in enumerate(stacks)]
        ),
        overruns=sum(stack.overruns for stack in stacks),
        first_overrun=int(next((first for first in firsts if first >= 0), -1)),
    )


def _merge_launches(scenes: Sequence[Scene], at: Offsets) -> Launches:
    every = [scene.launches for scene in scenes]
    lost = [
        LostLaunches(*(shifted(getattr(one.lost, field.name), at.event[k]) for field in fields(LostLaunches)))
        for k, one in enumerate(every)
    ]
    calls = [shifted(one.call, at.event[k]) for k, one in enumerate(every)]
    return Launches(np.concatenate(calls), join_rows(lost))


def _merge_steps(scenes: Sequence[Scene], at: Offsets) -> Steps:
    moved = []
    for k, scene in enumerate(scenes):
        steps, put_right = scene.steps, at.clock[k].put_right
        moved.append(
            replace(
                steps,
                event=steps.event + at.event[k],
                lane=steps.lane + at.lane[k],
                start=put_right(steps.start),
                end=put_right(steps.end),
                window_end=put_right(steps.window_end),
            )
        )
    return join_rows(moved)


def _merge_phases(scenes: Sequence[Scene], at: Offsets) -> Phases:
    moved = []
    for k, scene in enumerate(scenes):
        phases, put_right = scene.phases, at.clock[k].put_right
        moved.append(
            replace(
                phases,
                lane=phases.lane + at.lane[k],
                end_lane=phases.end_lane + at.lane[k],
                start=put_right(phases.start),
                end=put_right(phases.end),
                window_end=put_right(phases.window_end),
            )
        )
    return join_rows(moved)


def _merge_doubts(scene: Scene, part: int, at: Offsets) -> Iterable[Doubts]:
    count, clock = at.lane[-1], at.clock[part]

    def spread(flags: Flags) -> Flags:
        whole = np.zeros(count, dtype=bool)
        whole[at.lane[part] : at.lane[part + 1]] = flags
        return whole

    for one in scene.doubts:
        holes = clock.put_right(one.holes[0]), clock.put_right(one.holes[1])
        yield replace(one, holes=holes, shared=spread(one.shared), lanes=spread(one.lanes))
