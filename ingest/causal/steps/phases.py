"""Phases: which stretches of a rank's main thread are forward, backward, optimizer, and why we know."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from tracegraph.ingest.array_tables import join_rows
from tracegraph.ingest.arrays import Flags, Floats, Ints
from tracegraph.ingest.causal.events.callstack import CallStack
from tracegraph.ingest.causal.events.events import NONE, Events
from tracegraph.ingest.causal.events.lanes import Lanes
from tracegraph.ingest.causal.launches.backward_passes import Passes
from tracegraph.ingest.causal.launches.launches import Launches
from tracegraph.ingest.causal.steps.hooks import HookedPass, find_hooks, hooked_passes
from tracegraph.ingest.causal.steps.inferred_phases import (
    BackwardPass,
    backward_passes,
    forward_begin,
    is_engine,
    numbered_operators,
    updates,
)
from tracegraph.ingest.causal.steps.phase_names import phase_of
from tracegraph.ingest.causal.steps.steps import Steps, issue_times
from tracegraph.vocabulary.categories import Role
from tracegraph.vocabulary.phases import BACKWARD, FORWARD, OPTIMIZER, PHASE_NAMES

_SURE, _PASS, _HOOKED, _LINKED, _OPERATORS = 1.0, 0.98, 0.95, 0.9, 0.6
"""The confidence of a phase that an annotation names; of a backward pass by the engine's work; of a pass by
the hooks of a library; of a forward pass by the operators whose gradients it computes; and of an optimizer by
operators that update parameters."""


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


@dataclass(frozen=True)
class _Stretch:
    """A phase before its step and occurrence are known."""

    name: str
    start: int
    end: int
    end_lane: int
    recorded: bool
    confidence: float


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
        found = _told(events, stack, lane, passes, hooks, _recorded(events, named, lane), bounds)
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


def _recorded(events: Events, named: Ints, lane: int) -> list[_Stretch]:
    """List the phases that annotations of a thread name, in order; one inside another is a part of it."""
    found = np.flatnonzero((named >= 0) & (events.lane == lane))
    found = found[np.lexsort((-events.end[found], events.start[found]))]
    until = np.append(NONE, np.maximum.accumulate(events.end[found]))[: len(found)]
    return [
        _Stretch(PHASE_NAMES[named[at]], int(events.start[at]), int(events.end[at]), lane, True, _SURE)
        for at in found[events.start[found] >= until].tolist()
    ]


_Bounds = tuple[Ints, Ints, Ints]
"""Start, end (ns) and number of the steps of a rank."""


def _told(
    events: Events,
    stack: CallStack,
    lane: int,
    passes: Passes,
    hooks: Ints,
    recorded: list[_Stretch],
    steps: _Bounds,
) -> list[_Stretch]:
    """Add to the recorded phases of a thread those that can be inferred, in order."""
    own = backward_passes(events, stack, passes, lane)
    hooked = hooked_passes(events, hooks, lane, own)
    hooked = [one for one in hooked if not _meets(recorded, one.start, one.end)]
    known = recorded + [
        _with_hooks(_Stretch(BACKWARD, one.start, one.end, one.end_lane, False, _PASS), hooked, lane)
        for one in own
        if not _meets(recorded, one.start, one.end)
    ]
    known.sort(key=lambda one: one.start)
    known += _forwards(events, stack, lane, own, known, steps, hooked)
    known += [
        _Stretch(one.name, one.start, one.end, lane, False, _HOOKED)
        for one in hooked
        if not _meets(known, one.start, one.end)
    ]
    known.sort(key=lambda one: one.start)
    known += _optimizers(events, lane, known, steps)
    return sorted((one for one in known if one.start < one.end), key=lambda one: one.start)


def _with_hooks(found: _Stretch, hooked: Sequence[HookedPass], lane: int) -> _Stretch:
    """Let a backward pass last from the first of its hooks on, and until the last has ended."""
    own = [one for one in hooked if one.name == found.name and _meets([found], one.start, one.end)]
    end = max([found.end, *(one.end for one in own)])
    return replace(
        found,
        start=min([found.start, *(one.start for one in own)]),
        end=end,
        end_lane=lane if end > found.end else found.end_lane,
    )


def _meets(known: Sequence[_Stretch], start: int, end: int) -> bool:
    return any(one.start < end and one.end > start for one in known)


def _forwards(
    events: Events,
    stack: CallStack,
    lane: int,
    passes: Sequence[BackwardPass],
    known: Sequence[_Stretch],
    steps: _Bounds,
    hooked: Sequence[HookedPass],
) -> list[_Stretch]:
    """Find forward passes that no annotation names, one for each backward pass, by hooks or its operators."""
    operators = numbered_operators(events, lane)
    backwards = [one for one in known if one.name == BACKWARD]
    found: list[_Stretch] = []
    for one in passes:
        mine = next((phase for phase in backwards if phase.start <= one.start < phase.end), None)
        if mine is None:
            continue
        before = [phase.end for phase in backwards if phase.end <= mine.start]
        after = max(_begin_of_step(steps, mine.start), before[-1] if before else NONE)
        if any(phase.name == FORWARD and after <= phase.start < mine.start for phase in known):
            continue
        told = [forward_begin(events, stack, lane, one, after, operators)]
        told += [hook.start for hook in hooked if hook.name == FORWARD and after <= hook.start < mine.start]
        begin = min((at for at in told if at is not None), default=None)
        if begin is None:
            continue
        begin = max([begin, *(phase.end for phase in known if phase.start <= begin < phase.end)])
        if begin > mine.start:  # its operators ran inside the backward pass itself: no forward pass before
            continue
        end = min(phase.start for phase in known if phase.start >= begin)
        if begin < end and not _meets(found, begin, end):
            found.append(_Stretch(FORWARD, begin, end, lane, False, _LINKED))
    return found


def _begin_of_step(steps: _Bounds, time: int) -> int:
    at = int(np.searchsorted(steps[0], time, "right")) - 1
    return int(steps[0][at]) if at >= 0 and time < steps[1][at] else NONE


def _optimizers(events: Events, lane: int, known: Sequence[_Stretch], steps: _Bounds) -> list[_Stretch]:
    """Find updates of parameters after a backward pass, up to the next phase or the end of the step."""
    operators = updates(events, lane)
    found = []
    for place, one in enumerate(known):
        if one.name != BACKWARD or not len(operators):
            continue
        at = int(np.searchsorted(steps[0], one.start, "right")) - 1
        limits = [int(steps[1][at])] if at >= 0 and one.start < steps[1][at] else []
        limits += [phase.start for phase in known[place + 1 : place + 2]]
        inside = operators[(events.start[operators] >= one.end)]
        inside = inside[events.end[inside] <= min(limits)] if limits else inside
        if len(inside):
            first, last = int(events.start[inside].min()), int(events.end[inside].max())
            found.append(_Stretch(OPTIMIZER, first, last, lane, False, _OPERATORS))
    return found


def _of_rank(
    events: Events, issued: Ints, rank: int, lane: int, found: Sequence[_Stretch], steps: _Bounds
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
