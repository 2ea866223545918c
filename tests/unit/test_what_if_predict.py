"""What a change makes of a window, against plain replays; and the range around it."""

import dataclasses

import numpy as np
import pytest
import tiny
from hypothesis import assume, given
from hypothesis import strategies as st
from random_traces import replay, rows
from tiny import call, event, kernel, step, sync

from tracegraph.ingest.arrays import Flags, Ints
from tracegraph.ingest.causal.dependencies import Dependencies, causal_order
from tracegraph.ingest.causal.model import Model
from tracegraph.ingest.causal.rules import POLICIES
from tracegraph.ingest.causal.segments import WORK
from tracegraph.ingest.what_if.graph import graph_of
from tracegraph.ingest.what_if.overhead import BOUNDS, FROM_FILE, NO_OVERHEAD, Cost, Overhead
from tracegraph.ingest.what_if.predict import NAIVE, Change, Predictor, step_window, whole_window
from tracegraph.store.errors import InputError
from tracegraph.store.gaps import GAP_CODE, GAP_NAMES
from tracegraph.store.mechanisms import MECHANISMS
from tracegraph.workbench.what_if.answer import Question, answer

Chooser = np.random.Generator
seeds = st.integers(0, 2**32 - 1)


@st.composite
def models(draw: st.DrawFn) -> Model:
    events = draw(rows())
    assume(any(row["category"] != "cuda_sync" and row["start_ns"] != row["end_ns"] for row in events))
    return tiny.model(*events, policy=draw(st.sampled_from(list(POLICIES))))


def factors(model: Model, seed: int, most: float = 3.0) -> "np.ndarray[tuple[int], np.dtype[np.float64]]":
    """A factor a segment: nothing, as it was, or anything between."""
    chance = np.random.default_rng(seed)
    count = len(model.segments)
    return np.where(chance.random(count) < 0.5, 1.0, np.round(chance.random(count) * most, 2) // 0.5 / 2)


def counted(model: Model) -> Dependencies:
    """The dependencies that hold in a replay: at other times others would hold the GIL."""
    found = model.dependencies
    names = np.array([MECHANISMS[code].name for code in found.mechanism], dtype=object)
    columns = {
        field.name: getattr(found, field.name)[names != "GIL holder"] for field in dataclasses.fields(found)
    }
    return Dependencies(**columns)


def starts(model: Model, work: Ints, found: Dependencies, held: Ints | None = None) -> list[int]:
    """The starts of all segments, one after the other."""
    edges: list[list[tuple[int, int]]] = [[] for _ in work]
    for cause, effect, lag in zip(
        found.cause.tolist(), found.effect.tolist(), found.lag.tolist(), strict=True
    ):
        edges[effect].append((cause, lag))
    out = [model.window.start] * len(work)
    for at in causal_order(model.segments).tolist():
        arrivals = [out[cause] + int(work[cause]) + lag for cause, lag in edges[at]]
        out[at] = max([model.window.start if held is None else int(held[at]), *arrivals])
    return out


def last(model: Model, start: list[int], work: Ints) -> int:
    """When the last work on a lane that matters is complete."""
    segments = model.segments
    counts = (segments.kind == WORK) & (segments.event >= 0)
    of_lanes = counts & model.lanes.frame["matters"].to_numpy()[segments.lane]
    return int((np.array(start) + work)[of_lanes if of_lanes.any() else counts].max())


@given(models(), seeds)
def test_random_factors_against_a_plain_replay(model: Model, seed: int) -> None:
    segments, factor = model.segments, factors(model, seed)
    work = np.rint(segments.work * factor).astype(np.int64)
    changed = dataclasses.replace(
        model, segments=dataclasses.replace(segments, work=work), dependencies=counted(model)
    )
    expected = replay(changed).starts
    graph = graph_of(model)
    predicted = Predictor(graph, whole_window(graph)).predict(Change(factor))
    assert predicted.after.start.tolist() == expected
    assert predicted.naive.gain_ns == last(model, segments.start.tolist(), segments.work) - last(
        model, expected, work
    )
    assert predicted.naive.base_ns == model.window.end - model.window.start
    assert predicted.corrected == predicted.naive


@given(models())
def test_a_factor_of_one_changes_nothing(model: Model) -> None:
    graph = graph_of(model)
    predicted = Predictor(graph, whole_window(graph), COSTLY).predict(Change(np.ones(len(model.segments))))
    assert predicted.after.start.tolist() == model.segments.start.tolist()
    assert predicted.corrected.gain_ns == predicted.naive.gain_ns == predicted.inferred_share == 0


COSTLY = Overhead(FROM_FILE, {role: Cost(700, 300) for role in BOUNDS}, BOUNDS)


@given(models(), seeds)
def test_the_range_holds_the_prediction(model: Model, seed: int) -> None:
    graph = graph_of(model)
    predicted = Predictor(graph, whole_window(graph), COSTLY).predict(Change(factors(model, seed)))
    low, said, high = predicted.low, predicted.corrected, predicted.high
    assert low.speedup <= said.speedup <= high.speedup
    assert low.gain_ns <= said.gain_ns <= high.gain_ns


@given(models(), seeds)
def test_inferred_share(model: Model, seed: int) -> None:
    graph, segments = graph_of(model), model.segments
    factor = factors(model, seed, most=1)
    work = np.rint(segments.work * factor).astype(np.int64)
    found = counted(model)
    inferred = model.dependencies.effect[model.dependencies.binding & ~model.dependencies.recorded]
    held = np.full(len(segments), model.window.start)
    held[inferred] = segments.start[inferred]
    before = last(model, segments.start.tolist(), segments.work)
    gain = before - last(model, starts(model, work, found), work)
    sure = before - last(model, starts(model, work, found, held), work)
    said = Predictor(graph, whole_window(graph)).predict(Change(factor)).inferred_share
    assert said == pytest.approx(0 if gain <= 0 else 1 - sure / gain)


@given(models(), st.sampled_from(GAP_NAMES), seeds)
def test_removing_more_never_makes_the_window_longer(model: Model, gap: str, seed: int) -> None:
    graph = graph_of(model)
    predictor = Predictor(graph, whole_window(graph), COSTLY)
    some = factors(model, seed, most=1)
    more = np.where(np.random.default_rng(seed + 1).random(len(some)) < 0.5, some, 0)
    gains = [
        predictor.gain(change).gain_ns
        for change in (
            Change(some),
            Change(more),
            Change(more, (GAP_CODE[gap],)),
            Change(more, tuple(range(len(GAP_NAMES)))),
        )
    ]
    assert gains == sorted(gains)
    assert gains[0] >= 0


@given(models(), seeds)
def test_steps(model: Model, seed: int) -> None:
    graph, segments, factor = graph_of(model), model.segments, factors(model, seed)
    for one in graph.steps:
        if one.window_end == one.start:
            with pytest.raises(InputError, match="takes no time"):
                answer(graph, "run", Question(remove=("rank=0",), step=one.number))
            continue
        span = step_window(graph, one)
        inside = (segments.start >= one.start) & (segments.start < one.window_end)
        work = np.where(inside, np.rint(segments.work * factor), segments.work).astype(np.int64)
        predicted = Predictor(graph, span).predict(Change(factor))
        assert predicted.after.start.tolist() == starts(model, work, counted(model))
