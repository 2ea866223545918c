"""The phases of one thread: those that annotations name, and beside them those that can be inferred."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from tracegraph.ingest.arrays import Ints
from tracegraph.ingest.causal.events.callstack import CallStack
from tracegraph.ingest.causal.events.events import NONE, Events
from tracegraph.ingest.causal.launches.backward_passes import Passes
from tracegraph.ingest.causal.steps.hooks import HookedPass, hooked_passes
from tracegraph.ingest.causal.steps.inferred_phases import (
    BackwardPass,
    backward_passes,
    forward_begin,
    gradient_operators,
    numbered_operators,
    updates,
)
from tracegraph.vocabulary.phases import BACKWARD, FORWARD, OPTIMIZER, PHASE_NAMES

_SURE, _PASS, _HOOKED, _LINKED, _OPERATORS = 1.0, 0.98, 0.95, 0.9, 0.6
"""The confidence of a phase that an annotation names; of a backward pass by the engine's work; of a pass by
the hooks of a library; of a forward pass by the operators whose gradients it computes; and of an optimizer by
operators that update parameters. All but the first are estimates, the lower, the more else it can be: the
names of the engine's work are its own, but other code uses the operators of an optimizer, too."""
Bounds = tuple[Ints, Ints, Ints]
"""Start, end (ns) and number of the steps of a rank."""


@dataclass(frozen=True)
class Stretch:
    """A phase before its step and occurrence are known; times in ns."""

    name: str
    start: int
    end: int
    end_lane: int
    recorded: bool
    confidence: float


class _Times:
    """Starts and ends of many stretches, which a question for each of them looks at all at once."""

    def __init__(self, stretches: Sequence[Stretch | HookedPass]) -> None:
        self.start = np.array([one.start for one in stretches], dtype=np.int64)
        self.end = np.array([one.end for one in stretches], dtype=np.int64)

    def meeting(self, start: int, end: int) -> Ints:
        """Find those that share time with a stretch."""
        return np.flatnonzero((self.start < end) & (self.end > start))

    def around(self, time: int) -> Ints:
        """Find those that are open at a time."""
        return np.flatnonzero((self.start <= time) & (time < self.end))


def phases_of_thread(
    events: Events, stack: CallStack, lane: int, passes: Passes, hooks: Ints, named: Ints, steps: Bounds
) -> list[Stretch]:
    """Find the phases of a thread, in order: those that are recorded, and those that can be inferred.

    Parameters
    ----------
    hooks
        The annotations of hooks, by time.
    named
        The phase that each event names, as a position in `PHASE_NAMES`, -1 for none.
    """
    known = _recorded(events, named, lane)
    recorded = _Times(known)
    own = backward_passes(events, stack, passes, lane)
    hooked = [
        one
        for one in hooked_passes(events, hooks, lane, own)
        if not len(recorded.meeting(one.start, one.end))
    ]
    backward_hooks = [one for one in hooked if one.name == BACKWARD]
    times = _Times(backward_hooks)
    for one in own:
        if not len(recorded.meeting(one.start, one.end)):
            mine = [backward_hooks[at] for at in times.meeting(one.start, one.end).tolist()]
            known.append(_with_hooks(one, mine, lane))
    known.sort(key=lambda one: one.start)
    known += _forwards(events, stack, lane, own, known, steps, hooked)
    told = _Times(known)
    known += [
        Stretch(one.name, one.start, one.end, lane, False, _HOOKED)
        for one in hooked
        if not len(told.meeting(one.start, one.end))
    ]
    known.sort(key=lambda one: one.start)
    known += _optimizers(events, lane, known, steps)
    return sorted((one for one in known if one.start < one.end), key=lambda one: one.start)


def _recorded(events: Events, named: Ints, lane: int) -> list[Stretch]:
    """List the phases that annotations of a thread name, in order; one inside another is a part of it."""
    found = np.flatnonzero((named >= 0) & (events.lane == lane))
    found = found[np.lexsort((-events.end[found], events.start[found]))]
    until = np.append(NONE, np.maximum.accumulate(events.end[found]))[: len(found)]
    return [
        Stretch(PHASE_NAMES[named[at]], int(events.start[at]), int(events.end[at]), lane, True, _SURE)
        for at in found[events.start[found] >= until].tolist()
    ]


def _with_hooks(one: BackwardPass, hooks: Sequence[HookedPass], lane: int) -> Stretch:
    """Let a backward pass last from the first of its hooks on, and until the last has ended."""
    found = Stretch(BACKWARD, one.start, one.end, one.end_lane, False, _PASS)
    end = max([one.end, *(hook.end for hook in hooks)])
    return replace(
        found,
        start=min([one.start, *(hook.start for hook in hooks)]),
        end=end,
        end_lane=lane if end > one.end else one.end_lane,
    )


def _forwards(
    events: Events,
    stack: CallStack,
    lane: int,
    passes: Sequence[BackwardPass],
    known: Sequence[Stretch],
    steps: Bounds,
    hooked: Sequence[HookedPass],
) -> list[Stretch]:
    """Find forward passes that no annotation names, one for each backward pass, by hooks or its operators."""
    operators, gradients = numbered_operators(events, lane), gradient_operators(events)
    times, backwards = _Times(known), _Times([one for one in known if one.name == BACKWARD])
    forward = _Times([one for one in known if one.name == FORWARD]).start
    hooks = _Times([one for one in hooked if one.name == FORWARD]).start
    found: list[Stretch] = []
    for one in passes:
        mine = backwards.around(one.start)
        if not len(mine):
            continue
        until = int(backwards.start[mine[0]])
        before = backwards.end[backwards.end <= until]
        after = max([_begin_of_step(steps, until), *before[-1:].tolist()])
        if ((after <= forward) & (forward < until)).any():
            continue
        told = hooks[(after <= hooks) & (hooks < until)].tolist()
        told.append(forward_begin(events, stack, lane, one, after, operators, gradients))
        begin = min((at for at in told if at is not None), default=None)
        if begin is None:
            continue
        begin = int(times.end[times.around(begin)].max(initial=begin))
        if begin > until:  # its operators ran inside the backward pass itself: no forward pass before
            continue
        end = int(times.start[times.start >= begin].min())
        if begin < end and not any(other.start < end and other.end > begin for other in found):
            found.append(Stretch(FORWARD, begin, end, lane, False, _LINKED))
    return found


def _begin_of_step(steps: Bounds, time: int) -> int:
    at = int(np.searchsorted(steps[0], time, "right")) - 1
    return int(steps[0][at]) if at >= 0 and time < steps[1][at] else NONE


def _optimizers(events: Events, lane: int, known: Sequence[Stretch], steps: Bounds) -> list[Stretch]:
    """Find updates of parameters after a backward pass, up to the next phase or the end of the step."""
    operators = updates(events, lane)
    found = []
    for place, one in enumerate(known):
        if one.name != BACKWARD or not len(operators.events):
            continue
        at = int(np.searchsorted(steps[0], one.start, "right")) - 1
        limits = [int(steps[1][at])] if at >= 0 and one.start < steps[1][at] else []
        limits += [phase.start for phase in known[place + 1 : place + 2]]
        limit = min(limits, default=int(events.end[operators.events].max()))
        inside = operators.between(one.end, limit + 1)
        inside = inside[events.end[inside] <= limit]
        if len(inside):
            first, last = int(events.start[inside].min()), int(events.end[inside].max())
            found.append(Stretch(OPTIMIZER, first, last, lane, False, _OPERATORS))
    return found
