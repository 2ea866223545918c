"""What holds for the phases of every trace."""

import numpy as np

from tracegraph.ingest.causal.events.events import NONE
from tracegraph.ingest.causal.graph.model import Model
from tracegraph.ingest.causal.graph.solution import Solution
from tracegraph.vocabulary.phases import PHASE_NAMES


def listed(model: Solution) -> list[tuple[int | None, str, int, float, float, float, str]]:
    """The phases: step, name, occurrence, start, end and end of the window in µs, evidence."""
    phases = model.phases
    return [
        (
            None if phases.step[at] == NONE else int(phases.step[at]),
            PHASE_NAMES[phases.name[at]],
            int(phases.occurrence[at]),
            *(float(column[at]) / 1000 for column in (phases.start, phases.end, phases.window_end)),
            "recorded" if phases.recorded[at] else "inferred",
        )
        for at in range(len(phases))
    ]


def check_phases(model: Model) -> None:
    """Those of a rank follow each other, lie in their steps, and their windows hold the work of them."""
    phases, steps, events = model.phases, model.steps, model.events
    call = model.launches.call
    assert ((phases.confidence > 0) & (phases.confidence <= 1)).all()
    for rank in np.unique(phases.rank).tolist():
        mine = np.flatnonzero(phases.rank == rank)
        assert (phases.start[mine] < phases.end[mine]).all()
        assert (phases.start[mine][1:] >= phases.end[mine][:-1]).all()
        assert len(np.unique(phases.lane[mine])) == 1
        counts: dict[tuple[int, int], int] = {}
        for at in mine.tolist():
            key = int(phases.step[at]), int(phases.name[at])
            counts[key] = counts.get(key, 0) + 1
            assert phases.occurrence[at] == counts[key]
            # As of events: of steps that have begun, the last one.
            begun_steps = np.flatnonzero((steps.rank == rank) & (steps.start <= phases.start[at]))
            in_step = len(begun_steps) and phases.end[at] <= steps.end[begun_steps[-1]]
            assert phases.step[at] == (steps.number[begun_steps[-1]] if in_step else NONE)
            begun = events.start[call]
            launched = events.is_gpu & (call >= 0) & (events.rank == rank)
            launched &= (begun >= phases.start[at]) & (begun < phases.end[at])
            ends = [int(phases.end[at]), *events.end[launched].tolist()]
            assert phases.window_end[at] == max(ends)


def without_sink(model: Solution) -> list[int]:
    """The phases whose window no segment of theirs ends, so that nobody could ask for their path."""
    return [at for at in range(len(model.phases)) if not _is_ended(model, at)]


def _is_ended(model: Solution, at: int) -> bool:
    phases, segments = model.phases, model.segments
    lanes = segments.lane[segments.end == phases.window_end[at]]
    if phases.window_end[at] > phases.end[at]:
        return bool((~model.lanes.is_thread[lanes]).any())
    return bool(np.isin(lanes, [phases.lane[at], phases.end_lane[at]]).any())
