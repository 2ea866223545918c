"""Phases: which stretches of a rank's main thread are forward, backward, optimizer, and why we know."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tracegraph.ingest.array_tables import join_rows
from tracegraph.ingest.arrays import Flags, Floats, Ints
from tracegraph.ingest.causal.events.callstack import CallStack
from tracegraph.ingest.causal.events.events import NONE, Events
from tracegraph.ingest.causal.events.lanes import Lanes
from tracegraph.ingest.causal.launches.backward_passes import Passes
from tracegraph.ingest.causal.launches.launches import Launches
from tracegraph.ingest.causal.steps.hooks import find_hooks
from tracegraph.ingest.causal.steps.inferred_phases import is_engine
from tracegraph.ingest.causal.steps.phase_names import phase_of
from tracegraph.ingest.causal.steps.steps import Steps, issue_times
from tracegraph.ingest.causal.steps.thread_phases import Bounds, Stretch, phases_of_thread
from tracegraph.vocabulary.categories import Role
from tracegraph.vocabulary.phases import PHASE_NAMES


@dataclass(frozen=True)
class Phases:
    """Phases by rank and time; times in ns. Phases of one rank never overlap.

    Attributes
    ----------
    step
        The number of the step in which the phase lies, `NONE` for none.
    name
        The position in `PHASE_NAMES`.
    occurrence
        Which of the phases of its name in the step it is, counted from 1.
    lane, end_lane
        The thread of which the phase is a stretch, and the lane whose work ends it.
    window_end
        The later of its end and the end of the GPU work that threads launched in it.
    recorded
        Whether an annotation names it; else it is inferred from what ran.
    confidence
        How likely it is that phase, 0 to 1.
    """

    rank: Ints
    step: Ints
    name: Ints
    occurrence: Ints
    lane: Ints
    end_lane: Ints
    start: Ints
    end: Ints
    window_end: Ints
    recorded: Flags
    confidence: Floats

    def __len__(self) -> int:
        return len(self.start)

    @property
    def cuts(self) -> tuple[Ints, Ints]:
        """Lanes and times at which the phases begin and end."""
        return np.tile(self.lane, 2), np.concatenate([self.start, self.end])


def find_phases(
    events: Events, lanes: Lanes, stack: CallStack, launches: Launches, steps: Steps, passes: Passes
) -> Phases:
    """Find the phases of all ranks: those that annotations name, else those that can be inferred.

    A backward pass lasts while the autograd engine works, until its caller goes on. Its forward pass begins
    with the first operator whose gradient it computes, and ends when the next phase begins. An optimizer is
    recognised by the fused or multi-tensor operators that update parameters.

    Parameters
    ----------
    passes
        Where the autograd engine works, and for which thread.
    """
    named, hooks = _named(events), find_hooks(events)
    issued = issue_times(events, launches)
    parts = []
    for rank in np.unique(lanes.rank).tolist():
        lane = _main_lane(events, lanes, steps, passes, named, rank)
        if lane is None:
            continue
        own = steps.rank == rank
        bounds = steps.start[own], steps.end[own], steps.number[own]
        found = phases_of_thread(events, stack, lane, passes, hooks, named, bounds)
        parts.append(_of_rank(events, issued, rank, lane, found, bounds))
    nothing = np.empty(0, dtype=np.int64)
    return join_rows(parts or [_of_rank(events, issued, 0, 0, [], (nothing, nothing, nothing))])


def _named(events: Events) -> Ints:
    """Find the phase that each event on a thread names, as a position in `PHASE_NAMES`, -1 for none."""
    named = np.full(len(events), -1, dtype=np.int64)
    for role in (Role.ANNOTATION, Role.OPERATOR):
        told = [phase_of(str(text), is_annotation=role is Role.ANNOTATION) for text in events.name.values]
        codes = np.array([-1 if one is None else PHASE_NAMES.index(one) for one in told], dtype=np.int64)
        chosen = events.of_role(role) & events.on_thread & (events.end > events.start)
        named[chosen] = codes[events.name.codes[chosen]]
    return named


def _main_lane(
    events: Events, lanes: Lanes, steps: Steps, passes: Passes, named: Ints, rank: int
) -> int | None:
    """Choose the thread of a rank whose stretches are its phases, None if there is no sign of one.

    It is the thread of the rank's steps, else of the annotations that name phases, else the one that waits
    for most backward passes, or runs most of them itself.
    """
    of_rank = lanes.rank == rank
    marks = np.flatnonzero((named >= 0) & of_rank[events.lane])
    engine = np.flatnonzero(is_engine(events) & of_rank[events.lane])
    engine = engine[~np.isin(events.lane[engine], passes.engine)]
    spent = (events.end - events.start).astype(np.float64)
    for found, weights in (
        (steps.lane[steps.rank == rank], None),
        (events.lane[marks], spent[marks]),
        (passes.caller[of_rank[passes.caller]], None),
        (events.lane[engine], spent[engine]),
    ):
        if len(found):
            return int(np.bincount(found, weights).argmax())
    return None


def _of_rank(
    events: Events, issued: Ints, rank: int, lane: int, found: Sequence[Stretch], steps: Bounds
) -> Phases:
    """Make the phases of a rank with their steps, occurrences and windows."""
    start = np.array([one.start for one in found], dtype=np.int64)
    end = np.array([one.end for one in found], dtype=np.int64)
    name = np.array([PHASE_NAMES.index(one.name) for one in found], dtype=np.int64)
    begun = np.searchsorted(steps[0], start, "right") - 1
    padded = [np.append(column, NONE) for column in steps]
    step = np.where((begun >= 0) & (end <= padded[1][begun]), padded[2][begun], NONE)
    times: dict[tuple[int, int], int] = {}
    occurrence = []
    for key in zip(step.tolist(), name.tolist(), strict=True):
        times[key] = times.get(key, 0) + 1
        occurrence.append(times[key])
    window_end = end.copy()
    if len(start):
        work = np.flatnonzero(events.is_gpu & (events.rank == rank))
        at = np.searchsorted(start, issued[work], "right") - 1
        inside = (at >= 0) & (issued[work] < end[at])
        np.maximum.at(window_end, at[inside], events.end[work[inside]])
    return Phases(
        rank=np.full(len(found), rank, dtype=np.int64),
        step=step,
        name=name,
        occurrence=np.array(occurrence, dtype=np.int64),
        lane=np.full(len(found), lane, dtype=np.int64),
        end_lane=np.array([one.end_lane for one in found], dtype=np.int64),
        start=start,
        end=end,
        window_end=window_end,
        recorded=np.array([one.recorded for one in found], dtype=bool),
        confidence=np.array([one.confidence for one in found], dtype=np.float64),
    )
