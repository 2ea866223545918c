"""Stretches of a thread in which libraries ran their hooks before and after modules of one pass."""

from dataclasses import dataclass

import numpy as np

from tracegraph.ingest.arrays import Ints
from tracegraph.ingest.causal.events.events import Events
from tracegraph.ingest.causal.steps.inferred_phases import BackwardPass
from tracegraph.ingest.causal.steps.phase_names import begins_pass, hook_of
from tracegraph.vocabulary.categories import Role
from tracegraph.vocabulary.phases import FORWARD


@dataclass(frozen=True)
class HookedPass:
    """A forward or backward pass from the first of its hooks to the last; ns."""

    name: str
    start: int
    end: int


def find_hooks(events: Events) -> Ints:
    """Find the annotations of hooks on all threads, by start."""
    told = [hook_of(str(name)) for name in events.name.values]
    named = events.name.matching(np.array([one is not None for one in told], dtype=bool))
    at = np.flatnonzero(named & events.of_role(Role.ANNOTATION))
    return at[np.argsort(events.start[at], kind="stable")]


def hooked_passes(events: Events, hooks: Ints, lane: int, passes: list[BackwardPass]) -> list[HookedPass]:
    """Find the passes of a thread by the annotations of hooks, as `find_hooks` has them, in order.

    Hooks of one kind that follow each other are of one pass. Those of a forward pass inside a backward one
    belong to what is computed again, and begin none.
    """
    found: list[HookedPass] = []
    for event in hooks[events.lane[hooks] == lane].tolist():
        name, start, end = str(events.name[event]), int(events.start[event]), int(events.end[event])
        phase = hook_of(name)
        if phase is None or (phase == FORWARD and any(one.start <= start < one.end for one in passes)):
            continue
        if found and found[-1].name == phase and not begins_pass(name):
            found[-1] = HookedPass(phase, found[-1].start, max(end, found[-1].end))
        else:
            found.append(HookedPass(phase, start, end))
    return found
