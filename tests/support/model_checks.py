"""Invariants of every causal graph, and agreement with an independent longest path."""

import numpy as np
from phase_checks import check_phases
from random_traces import replay

from tracegraph.ingest.causal.graph.invariants import check_model
from tracegraph.ingest.causal.graph.model import Model
from tracegraph.ingest.causal.graph.segments import WAIT


def check_tiling(model: Model) -> None:
    """Threads tile the window; the path does, too, with the holes that binding lags explain."""
    segments, window = model.segments, model.window
    for lane in np.unique(segments.lane[segments.on_thread]):
        mine = segments.lane == lane
        bounds = np.append(segments.start[mine], window.end)
        assert bounds[0] == window.start
        assert (segments.end[mine] == bounds[1:]).all()
    at = model.sink
    assert segments.end[at] == window.end
    while model.binding.edge[at] >= 0:
        edge = model.binding.edge[at]
        cause = model.dependencies.cause[edge]
        assert segments.completion[cause] + model.dependencies.lag[edge] == segments.start[at]
        at = int(cause)
    assert segments.start[at] == window.start


def check_edges(model: Model) -> None:
    segments, found = model.segments, model.dependencies
    assert (segments.start[found.effect] - segments.completion[found.cause] == found.gap).all()
    assert (found.gap >= 0).all()
    assert (found.lag[found.binding] == found.gap[found.binding]).all()
    # A cause that was complete at the start and lost a close race counts as 1 ns too early.
    assert ((found.lag >= -1) & (found.lag <= found.gap)).all()
    causes = np.bincount(found.effect[found.binding], minlength=len(segments))
    assert (causes[segments.start > model.window.start] == 1).all()
    assert (segments.work[segments.kind == WAIT] == 0).all()
    assert (model.slack >= 0).all()
    assert model.slack[model.sink] == 0


def check_all(model: Model) -> None:
    """The invariants hold, and the independent oracle replays every start and walks the same path."""
    check_tiling(model)
    check_edges(model)
    check_model(model)
    check_phases(model)
    answer = replay(model)
    assert answer.starts == model.segments.start.tolist()
    walked = [i for i in answer.path if model.on_path[i]]
    assert set(walked) == set(np.flatnonzero(model.on_path).tolist())
    assert all(model.segments.kind[i] == WAIT for i in answer.path if not model.on_path[i])
