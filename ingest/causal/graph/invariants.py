"""Checks what must hold of every causal graph, after each ingest: one that breaks it is never stored."""

from collections.abc import Iterator

import numpy as np

from tracegraph.base.errors import TracegraphError
from tracegraph.ingest.causal.graph.segments import WAIT
from tracegraph.ingest.causal.graph.solution import Solution


def check_model(model: Solution, *, replayed: bool = True) -> None:
    """Check the segments, dependencies and path of a run.

    Parameters
    ----------
    replayed
        Whether to check its replay, too; who uses only the path need not pay for one.

    Raises
    ------
    TracegraphError
        A rule is broken; the message names the first one. That is a fault of tracegraph, not of the trace.
    """
    for rule, holds in _rules(model, replayed=replayed):
        if not holds:
            raise TracegraphError(
                f"the causal graph of this trace is inconsistent: {rule} does not hold",
                "nothing was stored; this is a fault of tracegraph, please report it with the trace",
            )


def _rules(model: Solution, *, replayed: bool) -> Iterator[tuple[str, bool]]:
    segments, found, window = model.segments, model.dependencies, model.window
    start, bound = segments.start, found.binding
    follows = (segments.lane[1:] == segments.lane[:-1]) & segments.on_thread[1:]
    first = np.append(True, ~follows) & segments.on_thread
    last = np.append(~follows, True) & segments.on_thread
    yield "that threads start with the window", bool((start[first] == window.start).all())
    yield "that threads end with the window", bool((segments.end[last] == window.end).all())
    yield "that threads are tiled", bool((segments.end[:-1][follows] == start[1:][follows]).all())
    yield "that nothing ends before it starts", bool((segments.end >= start).all())
    yield "that waits do no work", not segments.work[segments.kind == WAIT].any()
    gap = start[found.effect] - segments.completion[found.cause]
    yield "that effects follow their causes", bool(((gap >= 0) & (gap == found.gap)).all())
    yield "that binding lags are the observed gaps", bool((found.lag == found.gap)[bound].all())
    yield "that a replay starts nothing late", bool((found.lag <= found.gap).all())
    causes = np.bincount(found.effect[bound], minlength=len(segments))
    needed = start > window.start
    yield "that every start has one binding cause", bool(((causes == 1) | ~needed & (causes == 0)).all())
    yield "that the path ends with the window", int(segments.end[model.sink]) == window.end
    yield "that the path begins with the window", int(start[_root(model)]) == window.start
    if replayed:
        yield "that nothing has negative slack", bool((model.slack >= 0).all())


def _root(model: Solution) -> int:
    """Find where the path begins: at its first segment, or at the waits before it, which it passes by."""
    on_path = np.flatnonzero(model.on_path)
    at = int(on_path[model.segments.start[on_path].argmin()])
    while model.binding.edge[at] >= 0:
        at = int(model.dependencies.cause[model.binding.edge[at]])
    return at
