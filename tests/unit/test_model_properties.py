"""Invariants of the causal graph on random traces, and agreement with an independent longest path."""

import dataclasses

import numpy as np
import pytest
import tiny
from hypothesis import given, settings
from hypothesis import strategies as st
from model_checks import check_all
from random_traces import replay, rows

from tracegraph.base.errors import InputError, TracegraphError
from tracegraph.ingest.arrays import Ints
from tracegraph.ingest.causal.events.event_arrays import read_events
from tracegraph.ingest.causal.graph.binding import walk
from tracegraph.ingest.causal.graph.invariants import check_model
from tracegraph.ingest.causal.graph.model import Model, make_model
from tracegraph.ingest.causal.rules import POLICIES
from tracegraph.ingest.causal.rules.context import find_context
from tracegraph.ingest.causal.rules.edges import Edges, Found
from tracegraph.ingest.integrity_findings import Integrity
from tracegraph.vocabulary.mechanisms import MECHANISMS


@st.composite
def graphs(draw: st.DrawFn) -> Model:
    """A random trace's segments under random edges between ports, few of which any rule would make."""
    events = draw(rows().filter(lambda found: any(lasts(row) for row in found)))
    context = find_context(*read_events(tiny.trace(*events)), Integrity("random"))
    count = draw(st.integers(0, 12))
    moment = st.integers(context.window.start, context.window.end)
    threads = np.flatnonzero(context.lanes.is_thread).tolist()
    inside = (context.events.start >= context.window.start) & (context.events.end <= context.window.end)
    work = np.flatnonzero(context.events.is_gpu & inside).tolist()

    def port(times: Ints) -> tuple[int, int, int]:
        if work and (not threads or draw(st.booleans())):
            chosen = draw(st.sampled_from(work))
            return chosen, int(context.events.lane[chosen]), int(times[chosen])
        return -1, draw(st.sampled_from(threads)), draw(moment)

    pairs = [(port(context.events.end), port(context.events.start)) for _ in range(count)]
    columns = [
        [*cause, *effect, min(draw(moment), effect[2]), draw(st.integers(0, len(MECHANISMS) - 1))]
        for cause, effect in pairs
        if cause[2] < effect[2]
    ]
    numbers = np.array(columns, dtype=np.int64).reshape(-1, 8).T
    edges = Edges(*numbers, np.ones(len(columns), dtype=bool), np.ones(len(columns)))
    found = Found(edges)
    return make_model(context, lambda _: found, "none")


def lasts(row: tiny.Row) -> bool:
    return row["category"] != "cuda_sync" and row["start_ns"] != row["end_ns"]


@settings(derandomize=True)
@given(graphs())
def test_random_graphs(model: Model) -> None:
    check_all(model)


@settings(derandomize=True)
@given(rows(), st.sampled_from(list(POLICIES)))
def test_invariants_and_the_independent_path(events: list[tiny.Row], policy: str) -> None:
    if not any(lasts(row) for row in events):
        with pytest.raises(InputError):
            tiny.model(*events)
        return
    check_all(tiny.model(*events, policy=policy))


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
    model = example()
    assert [tiny.label(model, i) for i in replay(model).path] == [
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
