"""What other threads do ahead, told in the threads that did it: each waits for what is not ready yet."""

from dataclasses import replace

import numpy as np

from tracegraph.base.errors import InputError
from tracegraph.ingest.array_tables import select_rows
from tracegraph.ingest.arrays import Flags, Ints
from tracegraph.ingest.causal.graph.dependencies import Dependencies
from tracegraph.ingest.causal.graph.segments import WAIT
from tracegraph.ingest.what_if.changes.change import Change
from tracegraph.ingest.what_if.changes.edit import Edit
from tracegraph.ingest.what_if.changes.threads import stretches
from tracegraph.ingest.what_if.graph.graph import ReplayGraph
from tracegraph.vocabulary.mechanisms import CODE, PROGRAM_ORDER


def on_own_lanes(graph: ReplayGraph, change: Change) -> Change:
    """The change where what threads do stays on the thread that it was recorded on.

    Works of a stream may overlap in a stored graph, those of a thread may not.
    """
    edit, on_thread = change.edit, graph.segments.on_thread
    if edit is None or not (edit.lane[on_thread] != 0).any():
        return change
    between = on_thread[edit.added.cause] & on_thread[edit.added.effect]
    added = select_rows(edit.added, ~between)
    return replace(change, edit=replace(edit, lane=np.where(on_thread, 0, edit.lane), added=added))


def told_on_own_lanes(graph: ReplayGraph, edit: Edit, start: Ints, work: Ints) -> tuple[Ints, Ints]:
    """Starts and work of a replay in which what is done ahead takes as long as its thread waits for it.

    A stored graph has the threads that were recorded: of a batch that is not ready the first segment takes
    the time until it is, the others none.

    Raises:
        InputError: what is done ahead launches, or waits for, something: nothing says on which thread then.
    """
    moved = (edit.lane != 0) & graph.segments.on_thread
    if not moved.any():
        return start, work
    if _is_entangled(graph.dependencies, moved):
        raise InputError(
            "work that other lanes do ahead, and that launches or waits for something, cannot be kept",
            "ask without --keep: the prediction is the same",
        )
    start, work = start.copy(), work.copy()
    for first, last in zip(*(one.tolist() for one in stretches(graph, moved)), strict=True):
        begun, ready = _begun(graph, start, work, first), _ready(graph, start, work, last)
        works = np.flatnonzero(graph.segments.kind[first : last + 1] != WAIT)
        at = first + int(works[0]) if len(works) else last + 1
        start[first:at], start[at : last + 1] = begun, ready
        work[first : last + 1] = 0
        if at <= last:
            start[at], work[at] = begun, ready - begun
    return start, work


def _is_entangled(found: Dependencies, moved: Flags) -> bool:
    touched = moved[found.cause] | moved[found.effect]
    return bool((touched & (found.mechanism != CODE[PROGRAM_ORDER])).any())


def _begun(graph: ReplayGraph, start: Ints, work: Ints, first: int) -> int:
    """When a thread gets to its segment `first`."""
    lane = graph.segments.lane
    begins = first == 0 or lane[first - 1] != lane[first]
    return graph.window.start if begins else int(start[first - 1] + work[first - 1])


def _ready(graph: ReplayGraph, start: Ints, work: Ints, last: int) -> int:
    """When a thread goes on after its segment `last`."""
    lane = graph.segments.lane
    ends = last + 1 == len(lane) or lane[last + 1] != lane[last]
    return int(start[last] + work[last]) if ends else int(start[last + 1])
