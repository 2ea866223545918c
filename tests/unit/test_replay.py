"""Slack and replays without some of the work, against plain passes over all edges."""

import dataclasses

import numpy as np
import tiny
from hypothesis import assume, given
from hypothesis import strategies as st
from random_traces import replay, rows
from tiny import call, event, kernel

from tracegraph.ingest.array_tables import select_rows
from tracegraph.ingest.causal.graph.dependencies import Dependencies, causal_order
from tracegraph.ingest.causal.graph.model import Model
from tracegraph.ingest.causal.graph.segments import GAP
from tracegraph.vocabulary.mechanisms import CODE


def counted(model: Model) -> Dependencies:
    """The dependencies that hold in a replay: at other times others would hold the GIL."""
    found = model.dependencies
    return select_rows(found, found.mechanism != CODE["GIL holder"])


def naive_slack(model: Model) -> list[int]:
    """latest(s) = min over all effects e of latest(e) - work(e) - lag, one segment after the other."""
    segments, found = model.segments, counted(model)
    gives_way = (segments.kind == GAP) & (segments.end == model.window.end) & segments.on_thread
    gives_way[model.sink] = False
    work = np.where(gives_way, 0, segments.work).tolist()
    latest = [model.window.end] * len(segments)
    for at in causal_order(segments)[::-1].tolist():
        out = np.flatnonzero(found.cause == at).tolist()
        effects = [(int(found.effect[i]), int(found.lag[i])) for i in out]
        bounds = [latest[effect] - work[effect] - lag for effect, lag in effects]
        latest[at] = min(bounds, default=model.window.end)
    return [end - int(done) for end, done in zip(latest, segments.completion, strict=True)]


@given(rows(), st.integers(0, 3))
def test_random_traces(events: list[tiny.Row], removed: int) -> None:
    assume(any(row["category"] != "cuda_sync" and row["start_ns"] != row["end_ns"] for row in events))
    model = tiny.model(*events)
    assert model.slack.tolist() == naive_slack(model)
    names = ["op", "frame", "k", "cudaLaunchKernel"]
    segments = model.segments
    chosen = (segments.event >= 0) & (model.events.name[segments.event] == names[removed])
    work = np.where(chosen, 0, segments.work)
    without = dataclasses.replace(segments, work=work)
    expected = replay(dataclasses.replace(model, segments=without, dependencies=counted(model)))
    ends = np.array(expected.starts) + work
    outcome = model.replay.without(chosen, segments.event >= 0)
    assert outcome.end == ends[segments.event >= 0].max()
    nothing = model.replay.without(np.zeros(len(segments), dtype=bool), segments.event >= 0)
    assert nothing.end == segments.completion[segments.event >= 0].max()


def test_without_a_kernel_the_thread_beside_it_is_critical() -> None:
    model = tiny.model(
        event("op", 0, 3),
        call("l", 3, 5, 1),
        kernel("k", 8, 108, 1),
        event("beside", 5, 60),
        call("cudaDeviceSynchronize", 60, 110, 2),
    )
    names = model.events.name[model.segments.event]
    outcome = model.replay.without(names == "k", model.segments.event >= 0)
    assert outcome.end == 62_000
    on_path = {str(name) for name in names[outcome.on_path & (model.segments.work > 0)]}
    assert on_path == {"op", "l", "beside", "cudaDeviceSynchronize"}


def test_the_last_work_of_a_thread_may_end_as_late_as_the_window() -> None:
    model = tiny.model(event("long", 0, 100), event("short", 0, 30, thread=2))
    segments = model.segments
    slack = {tiny.label(model, i): int(model.slack[i]) for i in range(len(segments))}
    assert slack["short@0"] == 70_000
    assert slack["long@0"] == 0
