"""The numbers of steps that a user's annotations mark: the same rule for all ranks of a job."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from tracegraph.ingest.arrays import Ints
from tracegraph.ingest.causal.events.events import NONE
from tracegraph.ingest.causal.events.step_marks import number_steps
from tracegraph.ingest.ranks.rank_part import Part


def number_alike(parts: Sequence[Part]) -> list[Part]:
    """Give marked steps their numbers by one rule for all ranks: by digits only if all ranks have digits.

    In which step an event of a rank in short lies is then unknown: its numbers are those of steps not here.
    """
    marked = [part for part in parts if len(part.scene.steps.number)]
    names = [[str(name) for name in part.scene.events.name[part.scene.steps.event]] for part in marked]
    numbers = dict(zip([part.rank for part in marked], number_steps(names), strict=True))
    return [_renumbered(part, numbers.get(part.rank, ())) for part in parts]


def _renumbered(part: Part, numbers: Sequence[int]) -> Part:
    steps, events, phases = part.scene.steps, part.scene.events, part.scene.phases
    if not len(steps.number):
        unknown = np.full_like(steps.of_event, NONE)
        return replace(part, scene=replace(part.scene, steps=replace(steps, of_event=unknown)))
    new = np.array(numbers, dtype=np.int64)
    if np.array_equal(new, steps.number):
        return part
    order = np.argsort(steps.number)

    def moved(old: Ints) -> Ints:
        place = order[np.searchsorted(steps.number[order], old).clip(max=len(order) - 1)]
        return np.where(steps.number[place] == old, new[place], NONE)

    scene = replace(
        part.scene,
        steps=replace(steps, number=new, of_event=moved(steps.of_event)),
        events=replace(events, step_number=moved(events.step_number)),
        phases=replace(phases, step=moved(phases.step)),
    )
    return replace(part, scene=scene)
