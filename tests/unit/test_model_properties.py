"""Invariants of the causal graph on random traces, and agreement with an independent longest path."""

import dataclasses

import numpy as np
import pytest
import tiny
from hypothesis import given, settings
from hypothesis import strategies as st
from model_checks import check_all
from random_traces import graphs, lasts, replay, rows

from tracegraph.base.errors import InputError, TracegraphError
from tracegraph.ingest.causal.graph.binding import walk
from tracegraph.ingest.causal.graph.invariants import check_model
from tracegraph.ingest.causal.graph.model import Model
from tracegraph.ingest.causal.rules import POLICIES


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
