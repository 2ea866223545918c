"""The call stacks of all segments as one tree of frames, with GPU work below its launching call."""

from dataclasses import dataclass

import numpy as np

from tracegraph.ingest.arrays import Flags, Ints, placed_behind
from tracegraph.ingest.causal.events.ancestors import nearest_above
from tracegraph.ingest.causal.events.events import Events
from tracegraph.ingest.causal.graph.segments import WORK
from tracegraph.ingest.causal.graph.solution import Solution
from tracegraph.ingest.text_columns import TextColumn, with_role
from tracegraph.vocabulary.categories import GAP, Role
from tracegraph.vocabulary.gaps import GAP_NAMES
from tracegraph.vocabulary.step_names import counted_as


@dataclass(frozen=True)
class Frames:
    """Frames by position: a name and category that the frame `parent` called.

    The first frames are the roots, one for each lane with the lane's name, kind and position. All steps share
    one name.

    Attributes
    ----------
    parent
        The frame that called this one, -1 for a root.
    depth
        How many calls the frame is away from its root.
    lane
        The lane of the frame's root.
    of_segment
        The innermost frame of each segment; a wait or gap has a frame of its own, named as the gap.
    """

    parent: Ints
    depth: Ints
    lane: Ints
    name: TextColumn
    category: TextColumn
    of_segment: Ints

    def __len__(self) -> int:
        return len(self.parent)

    @property
    def operator(self) -> Ints:
        """The innermost operator among each frame and the frames that it was called from, -1 for none."""
        own = np.where(with_role(self.category, Role.OPERATOR), np.arange(len(self)), -1)
        return nearest_above(own, self.parent)


class _Tree:
    """Frames as they are found: parents before what they call."""

    def __init__(self, roots: Ints, names: int, categories: int) -> None:
        self._names, self._categories = names, categories
        self.columns = [(np.full(len(roots), -1), roots[:, 0], roots[:, 1])]
        self.size = len(roots)

    def add(self, parent: Ints, name: Ints, category: Ints) -> Ints:
        """Find or add the frame of each call: one for all of the same parent, name and category."""
        key = (parent * self._names + name) * self._categories + category
        distinct, frame = np.unique(key, return_inverse=True)
        above, code = np.divmod(distinct, self._names * self._categories)
        self.columns.append((above, *np.divmod(code, self._categories)))
        first, self.size = self.size, self.size + len(distinct)
        return np.asarray(first + frame, dtype=np.int64)


def find_frames(solution: Solution) -> Frames:
    """Find the frames of all events on threads, of GPU work that they launched, and of waits and gaps."""
    events, lanes, segments = solution.events, solution.lanes.frame, solution.segments
    marked = [(str(name), events.step_marker) for name in events.name[solution.steps.event]]
    name = events.name.renamed(counted_as((str(name) for name in events.name.values), marked))
    first_lane, first_gap = len(name.values), len(name.values) + len(lanes)
    names = np.array([*name.values, *lanes["name"], *GAP_NAMES], dtype=object)
    kinds = sorted(set(lanes["kind"]))
    categories = np.array([*events.category.values, *kinds, GAP], dtype=object)
    kind = np.array([len(events.category.values) + kinds.index(one) for one in lanes["kind"]], dtype=np.int64)
    roots = np.stack([first_lane + np.arange(len(lanes)), kind], axis=1)
    tree = _Tree(roots, len(names), len(categories))
    of_event = _of_events(solution, tree, name.codes.astype(np.int64))
    # The root of a lane has its position.
    innermost = np.where(segments.event >= 0, of_event[segments.event], segments.lane)
    silent = np.flatnonzero(segments.kind != WORK)
    gap_name = placed_behind(first_gap, segments.gap_name[silent])
    innermost[silent] = tree.add(innermost[silent], gap_name, np.full(len(silent), len(categories) - 1))
    parent, code, category = (np.concatenate(parts) for parts in zip(*tree.columns, strict=True))
    depth, lane = np.zeros(len(lanes), dtype=np.int64), np.arange(len(lanes))
    for above, *_ in tree.columns[1:]:
        depth, lane = np.append(depth, depth[above] + 1), np.append(lane, lane[above])
    return Frames(
        parent=parent,
        depth=depth,
        lane=lane,
        name=TextColumn(code.astype(np.int32), names),
        category=TextColumn(category.astype(np.int32), categories),
        of_segment=innermost,
    )


def _of_events(solution: Solution, tree: _Tree, name: Ints) -> Ints:
    """Find the frame of each event, level by level of the call tree; without a call, its lane's root."""
    events, call = solution.events, solution.launches.call
    category = events.category.codes.astype(np.int64)
    frame = events.lane.copy()
    caller = np.where(events.is_gpu, call, solution.stack.parent)
    for level in _levels(events, caller):
        above = np.where(caller[level] >= 0, frame[caller[level]], events.lane[level])
        frame[level] = tree.add(above, name[level], category[level])
    return frame


def _levels(events: Events, caller: Ints) -> list[Ints]:
    """Split the events on threads and the GPU work into those without a caller, then those these called."""
    left = np.flatnonzero(events.on_thread | events.is_gpu)
    reached: Flags = np.zeros(len(events) + 1, dtype=bool)
    reached[-1] = True
    levels = []
    while len(left):
        now = reached[caller[left]]
        levels.append(left[now])
        reached[left[now]] = True
        left = left[~now]
    return levels
