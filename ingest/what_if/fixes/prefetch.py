"""Load ahead: other threads do, some rounds early, what a thread does between its other work."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from tracegraph.base.units import short_ns
from tracegraph.ingest.array_tables import count_in_groups, join_rows
from tracegraph.ingest.arrays import Flags, Ints
from tracegraph.ingest.causal.graph.dependencies import Dependencies
from tracegraph.ingest.causal.graph.segments import WAIT
from tracegraph.ingest.what_if.changes.edit import Edit, assumed, no_edit
from tracegraph.ingest.what_if.changes.threads import stretches
from tracegraph.ingest.what_if.fixes.fix import Candidate, Fix, Scene, asked_for, made_in
from tracegraph.ingest.what_if.graph.graph import ReplayGraph
from tracegraph.ingest.what_if.graph.phase_work import of_phase
from tracegraph.ingest.what_if.settings import Settings
from tracegraph.vocabulary.gaps import GAP_CODE, WAITING_FOR_THREAD
from tracegraph.vocabulary.mechanisms import CODE, MECHANISMS, RESUME
from tracegraph.vocabulary.phases import DATA_LOADING, PHASE_NAMES

# The numbers of worker threads that are tried.
_WORKERS = (1, 4)
_BY_THREAD = np.array([mechanism.gap == WAITING_FOR_THREAD for mechanism in MECHANISMS])


def prefetch(graph: ReplayGraph, chosen: Flags, depth: int = 2, workers: int = 1) -> Edit:
    """Let one of `workers` threads in turn make each stretch of chosen segments as a batch.

    A batch is begun when the one `depth` times `workers` before it is taken. The loop's thread takes it as
    soon as it gets there and the batch is ready. If another thread makes the batches already, nothing
    changes.
    """
    segments, edit = graph.segments, no_edit(len(graph.segments))
    first, last = stretches(graph, chosen & ~_waits_for_threads(graph, chosen))
    if not len(first):
        return edit
    number, earlier = count_in_groups(segments.lane[first]), depth * workers
    marks = np.zeros(len(segments) + 1, dtype=np.int64)
    marks[first] = 1 + number % workers
    marks[last + 1] -= 1 + number % workers
    lane = np.cumsum(marks)[:-1]
    later = np.flatnonzero(number >= earlier)
    begun, taken = first[later], later - earlier
    follows = last[last + 1 < len(segments)]
    follows = follows[segments.lane[follows + 1] == segments.lane[follows]]
    has_before = first[taken] > 0
    has_before[has_before] = (segments.lane[first[taken] - 1] == segments.lane[begun])[has_before]
    added = [
        _assumed(graph, follows, follows + 1),
        _assumed(graph, (first[taken] - 1)[has_before], begun[has_before]),
        _assumed(graph, last[taken], begun),
    ]
    return replace(edit, lane=lane, added=join_rows(added))


def _assumed(graph: ReplayGraph, cause: Ints, effect: Ints) -> Dependencies:
    segments = graph.segments
    gap = segments.start[effect] - segments.completion[cause]
    return assumed(gap, cause, effect, np.full(len(cause), CODE[RESUME]), 0)


def _waits_for_threads(graph: ReplayGraph, chosen: Flags) -> Flags:
    """Flag the segments of threads that wait for another thread in a chosen segment: that one works ahead."""
    segments, found = graph.segments, graph.dependencies
    waits = (segments.kind == WAIT) & (segments.gap_name == GAP_CODE[WAITING_FOR_THREAD]) & chosen
    woken = found.effect[found.binding & _BY_THREAD[found.mechanism]]
    waits[woken[chosen[woken]]] = True
    waiting = np.zeros(int(segments.lane.max(initial=-1)) + 1, dtype=bool)
    waiting[segments.lane[waits & segments.on_thread]] = True
    held: Flags = segments.on_thread & waiting[segments.lane]
    return held


def _find(scene: Scene) -> Iterator[Candidate]:
    """Yield loading on the path, done by one thread beside the loop and by several."""
    graph, segments = scene.graph, scene.graph.segments
    if not (graph.phases.name == PHASE_NAMES.index(DATA_LOADING)).any():
        return
    chosen = of_phase(graph, DATA_LOADING)
    host = chosen & segments.on_thread
    spent = int(scene.on_path_ns[host].sum())
    if spent < scene.least_ns or _waits_for_threads(graph, host).any():
        return
    batches, selector = len(stretches(graph, host)[0]), f"phase={DATA_LOADING}"
    for workers in _WORKERS:
        more = () if workers == 1 else ("--workers", str(workers))
        yield Candidate(
            selector=selector,
            options=(*asked_for(FIX.name, [selector]), *more),
            change=made_in(graph, prefetch(graph, chosen, workers=workers)),
            evidence=f"{batches:,} times the loop's thread loads its batch itself, {short_ns(spent)} of the "
            "path",
            assumptions=() if workers == 1 else (f"{workers} cores are free for the workers",),
            title=None if workers == 1 else f"Load ahead, with {workers} workers",
        )


def _edit(graph: ReplayGraph, chosen: Flags, settings: Settings) -> Edit:
    return prefetch(graph, chosen, settings.depth, settings.workers)


FIX = Fix(
    name="prefetch",
    title="Load ahead",
    recognised="data loading on the path, in the thread of the loop",
    replayed="other threads make the batches, as many ahead as `--depth` (2) times `--workers` (1)",
    how="DataLoader(..., num_workers=N, prefetch_factor=2, persistent_workers=True, pin_memory=True)",
    refuted_by="workers that are as slow together: too few cores, or one file, lock or bus that they share",
    assumptions=("a worker takes as long for a batch as the loop's thread did, and has a core of its own",),
    find=_find,
    asked="with {} done ahead by other threads",
    edit=_edit,
)
