"""Invariants of the causal graph on random traces, and agreement with an independent longest path."""

import dataclasses

import numpy as np
import oracle
import pytest
import tiny
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tracegraph.ingest.binding import walk
from tracegraph.ingest.dependencies.edges import MECHANISMS
from tracegraph.ingest.invariants import check_model
from tracegraph.ingest.model import Model
from tracegraph.ingest.segments import WAIT
from tracegraph.store.errors import InputError, TracegraphError

CALLS = ("cudaLaunchKernel", "cudaStreamSynchronize", "cudaDeviceSynchronize", "cudaEventSynchronize")
moments = st.integers(0, 60)
lengths = st.integers(0, 25)


@st.composite
def rows(draw: st.DrawFn) -> list[tiny.Row]:
    """Events that overlap at will on 3 threads; GPU work with shared, clashing or absent correlations."""
    out: list[tiny.Row] = []
    for _ in range(draw(st.integers(1, 14))):
        begin, thread = draw(moments), draw(st.integers(1, 3))
        end = begin + draw(lengths)
        number = draw(st.one_of(st.none(), st.integers(1, 3)))
        out.append(
            draw(
                st.sampled_from(
                    [
                        tiny.event("op", begin, end, thread=thread),
                        tiny.event("frame", begin, end, thread=thread, category="python_function"),
                        tiny.step(begin, begin, end, thread=thread),
                        tiny.event("fw", begin, end, thread=thread, sequence_number=number, forward_thread=0),
                        tiny.event("bw", begin, end, thread=thread, sequence_number=number, forward_thread=1),
                    ]
                )
            )
        )
    for correlation in range(1, draw(st.integers(1, 8))):
        begin, stream = draw(moments), draw(st.sampled_from([7, 20]))
        name = draw(st.sampled_from(CALLS))
        out.append(tiny.call(name, begin, begin + draw(lengths), correlation, thread=draw(st.integers(1, 3))))
        late = begin + draw(st.integers(-5, 20))
        shared = draw(st.sampled_from([correlation, correlation, 1, None]))
        work = tiny.kernel("k", late, late + draw(lengths), shared, stream=stream)
        out.append({**work, "device": draw(st.sampled_from([0, 0, 1]))})
        if draw(st.booleans()):
            wait = {"wait_on_stream": 7, "wait_on_record": draw(st.integers(1, 8))}
            kind = draw(st.sampled_from(["Stream Sync", "Context Sync", "Event Sync", "Stream Wait Event"]))
            out.append(tiny.sync(kind, begin, begin + 1, correlation, stream=stream, **wait))
    # Some rules look at waits of 100 µs and more only.
    scale = draw(st.sampled_from([1, 20]))
    for row in out:
        row.update({name: scale * int(str(row[name])) for name in ("start_ns", "end_ns")})
    return draw(st.permutations(out))


def replay(model: Model) -> oracle.Answer:
    """The oracle on the model's segments and edges, binding flags left out."""
    found = model.dependencies
    names = [MECHANISMS[code].name for code in found.mechanism.tolist()]
    columns = zip(found.cause.tolist(), found.effect.tolist(), found.lag.tolist(), names, strict=True)
    edges = [oracle.Edge(*column) for column in columns]
    return oracle.longest_path(model.segments.work.tolist(), edges, model.window.start, model.sink)


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
    assert ((found.lag >= 0) & (found.lag <= found.gap)).all()
    causes = np.bincount(found.effect[found.binding], minlength=len(segments))
    assert (causes[segments.start > model.window.start] == 1).all()
    assert (segments.work[segments.kind == WAIT] == 0).all()
    assert (model.slack >= 0).all()
    assert model.slack[model.sink] == 0


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(rows())
def test_invariants_and_the_independent_path(events: list[tiny.Row]) -> None:
    lasting = [row for row in events if row["category"] != "cuda_sync" and row["start_ns"] != row["end_ns"]]
    if not lasting:
        with pytest.raises(InputError):
            tiny.model(*events)
        return
    model = tiny.model(*events)
    check_tiling(model)
    check_edges(model)
    check_model(model)
    answer = replay(model)
    assert answer.starts == model.segments.start.tolist()
    walked = [i for i in answer.path if model.on_path[i]]
    assert set(walked) == set(np.flatnonzero(model.on_path).tolist())
    assert all(model.segments.kind[i] == WAIT for i in answer.path if not model.on_path[i])


def example() -> Model:
    """Two kernels, one awaited: launch, stream order, synchronisation and program order are all binding."""
    return tiny.model(
        tiny.event("op", 0, 3),
        tiny.call("l", 3, 5, 1),
        tiny.kernel("a", 8, 30, 1),
        tiny.call("l", 5, 7, 2),
        tiny.kernel("b", 31, 50, 2),
        tiny.call("cudaStreamSynchronize", 7, 55, 3),
        tiny.sync("Stream Sync", 7, 55, 3, stream=7),
        tiny.event("op", 60, 70),
    )


def test_the_oracle_agrees_on_the_example() -> None:
    answer = replay(example())
    assert [tiny.label(example(), i) for i in answer.path] == [
        "op@0",
        "l@3",
        "a@8",
        "b@31",
        "cudaStreamSynchronize@50",
        "(untraced CPU time)@55",
        "op@60",
    ]


@pytest.mark.parametrize("which", range(2))
def test_a_moved_binding_flag_is_seen(which: int) -> None:
    model = example()
    assert set(np.flatnonzero(model.on_path).tolist()) == set(replay(model).path)
    found = model.dependencies
    several = [
        i for i in range(len(found)) if found.binding[i] and (found.effect == found.effect[i]).sum() > 1
    ]
    moved = [i for i in several if model.on_path[found.effect[i]]]
    edge = moved[which]
    other = next(i for i in range(len(found)) if found.effect[i] == found.effect[edge] and i != edge)
    bound = model.binding.edge.copy()
    bound[found.effect[edge]] = other
    binding = dataclasses.replace(model.binding, edge=bound)
    on_path = walk(model.segments, found, binding, model.sink)
    assert set(np.flatnonzero(on_path).tolist()) != set(replay(model).path)


def test_a_longer_lag_or_a_missing_edge_is_seen() -> None:
    model = example()
    found = model.dependencies
    for edge in np.flatnonzero(found.binding & model.on_path[found.effect]).tolist():
        longer = found.lag.copy()
        longer[edge] += 1
        mutant = dataclasses.replace(model, dependencies=dataclasses.replace(found, lag=longer))
        assert replay(mutant).starts != model.segments.start.tolist()
        fields = {f.name: np.delete(getattr(found, f.name), edge) for f in dataclasses.fields(found)}
        mutant = dataclasses.replace(model, dependencies=type(found)(**fields))
        assert replay(mutant).path != replay(model).path


@pytest.mark.parametrize(
    ("column", "rule"),
    [("lag", "binding lags"), ("gap", "follow their causes"), ("binding", "one binding cause")],
)
def test_a_broken_graph_is_not_stored(column: str, rule: str) -> None:
    model = example()
    broken = getattr(model.dependencies, column).copy()
    edge = np.flatnonzero(model.dependencies.binding)[3]
    broken[edge] = not broken[edge] if column == "binding" else broken[edge] + 1
    dependencies = dataclasses.replace(model.dependencies, **{column: broken})
    check_model(model)
    with pytest.raises(TracegraphError, match=rule):
        check_model(dataclasses.replace(model, dependencies=dependencies))
