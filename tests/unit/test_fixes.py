"""What fixes change of a graph, on traces whose every time is worked out by hand; and how they are joined."""

from dataclasses import replace

import numpy as np
import pytest
import tiny
from hypothesis import assume, given
from hypothesis import strategies as st
from random_traces import rows
from tiny import call, event, kernel, step

from tracegraph.base.errors import InputError
from tracegraph.ingest.causal.events.events import NONE
from tracegraph.ingest.what_if.changes.change import Change, whole_window
from tracegraph.ingest.what_if.changes.edit import join_edits, no_edit
from tracegraph.ingest.what_if.fixes.fix import Scene
from tracegraph.ingest.what_if.fixes.fix_rows import find_fixes
from tracegraph.ingest.what_if.fixes.registry import ASKED, FIXES
from tracegraph.ingest.what_if.graph.graph import ReplayGraph, graph_of
from tracegraph.ingest.what_if.predictions.predict import Predictor
from tracegraph.ingest.what_if.scenarios.keep import find_scenario
from tracegraph.ingest.what_if.scenarios.kept_graph import read_graph
from tracegraph.ingest.what_if.scenarios.scenario import Scenario
from tracegraph.workbench.what_if.answer import Question, WhatIf, answer

READBACK = (
    event("forward", 0, 10),
    call("cudaLaunchKernel", 2, 4, 1),
    kernel("gemm", 8, 60, 1),
    call("cudaStreamSynchronize", 10, 64, 2),
    event("log", 64, 70),
    event("prepare", 70, 100),
    call("cudaLaunchKernel", 100, 102, 3),
    kernel("gemm", 106, 160, 3),
    call("cudaDeviceSynchronize", 102, 164, 4),
    event("end", 164, 166),
)
"""The host waits for a kernel, prepares the next one, and waits at the end, µs."""


def ask(graph: ReplayGraph, *fixes: tuple[str, str], **more: object) -> WhatIf:
    return answer(graph, "run", Question(fixes=fixes, overhead="none", **more))  # type: ignore[arg-type]


def gain_us(graph: ReplayGraph, *fixes: tuple[str, str], **more: object) -> float:
    return ask(graph, *fixes, **more).prediction.naive.gain_ns / 1000


def test_a_host_that_does_not_wait_goes_on_and_the_end_still_waits() -> None:
    # Prepared at 46 in place of 100: the second kernel starts at 61, right behind the first, as the stream
    # lets it: one gap of the file, none, follows another. The call waits no more for 50, works for 4 + 0.
    graph = graph_of(tiny.model(*READBACK))
    assert gain_us(graph, ("unsync", "name=cudaStreamSynchronize")) == pytest.approx(46)
    assert gain_us(graph, ("unsync", "wait=stream synchronize")) == pytest.approx(46)


def test_the_wait_at_the_end_is_not_what_held_the_run() -> None:
    graph = graph_of(tiny.model(*READBACK))
    assert gain_us(graph, ("unsync", "name=cudaDeviceSynchronize")) == 6


def loop(rounds: int, load: float, train: float) -> list[tiny.Row]:
    """A thread that loads and trains in turn, µs."""
    found: list[tiny.Row] = []
    at = 0.0
    for number in range(rounds):
        found += [
            step(number + 1, at, at + load + train),
            event("enumerate(DataLoader)#next", at, at + load, category="user_annotation"),
            event("decode", at + 1, at + load - 1),
            event("train", at + load, at + load + train),
        ]
        at += load + train
    return found


def test_what_is_loaded_by_one_thread_ahead_takes_the_longer_of_both() -> None:
    # A batch of 30 and a step of 20: batches are ready at 30, 60, 90 and 120, and the last step takes 20.
    graph = graph_of(tiny.model(*loop(4, 30, 20)))
    assert gain_us(graph, ("prefetch", "under=enumerate(DataLoader)*")) == 200 - 140
    assert gain_us(graph, ("prefetch", "phase=data loading")) == 200 - 140


def test_several_workers_make_batches_beside_each_other() -> None:
    # Two batches are ready at 30, and two at 60: 30, 50, 70 (ready at 60), 90.
    graph = graph_of(tiny.model(*loop(4, 30, 20)))
    assert gain_us(graph, ("prefetch", "phase=data loading"), workers=2) == 200 - 110


def test_no_more_is_loaded_ahead_than_is_said() -> None:
    # Steps take 100, batches 30: with one ahead the third is begun as the second is taken, in time.
    graph = graph_of(tiny.model(*loop(4, 30, 100)))
    assert gain_us(graph, ("prefetch", "phase=data loading"), depth=1) == 520 - 430
    assert gain_us(graph, ("prefetch", "phase=data loading"), depth=2) == 520 - 430


def test_what_another_thread_loads_already_is_left_as_it_is() -> None:
    found = []
    for number in range(12):
        at = number * 1000.0
        found += [
            event("load", at, at + 900, thread=2),
            event("enumerate(DataLoader)#next", at + 100, at + 910, category="user_annotation"),
            event("train", at + 910, at + 1090),
        ]
    graph = graph_of(tiny.model(*found))
    assert gain_us(graph, ("prefetch", "under=enumerate(DataLoader)*")) == 0


def launches(steps: int, host: float) -> list[tiny.Row]:
    """Steps of four launches each, an operator of `host` µs around each; kernels of 2 µs, 4 after a call."""
    found: list[tiny.Row] = []
    at, number = 0.0, 0
    for one in range(steps):
        begun = at
        for _ in range(4):
            number += 1
            found += [
                event("aten::mul", at, at + host),
                call("cudaLaunchKernel", at + host - 3, at + host - 1, number),
                kernel("mul", at + host + 3, at + host + 5, number),
            ]
            at += host
        found.append(step(one + 1, begun, at))
    return found


def test_a_captured_step_is_one_launch_and_its_kernels() -> None:
    # 3 steps of 4 launches of 10: 120 for the host, and 5 until the last kernel ends. Captured, the host
    # takes 2 a step for one launch; 12 kernels of 2 follow each other without a gap, the first at 2 + 4.
    graph = graph_of(tiny.model(*launches(3, 10)))
    base = ask(graph, ("capture", "under=aten::mul")).prediction.naive
    assert base.base_ns == 125_000
    assert base.predicted_ns == 30_000


def test_what_is_one_graph_launch_is_not_captured_again() -> None:
    graph = graph_of(
        tiny.model(
            event("run", 0, 50),
            call("cudaGraphLaunch", 10, 20, 1),
            kernel("a", 24, 40, 1),
            kernel("b", 40, 60, 1),
        )
    )
    assert gain_us(graph, ("capture", "under=run")) == 0


def test_fixes_are_joined_with_each_other_and_with_older_questions() -> None:
    graph = graph_of(tiny.model(*READBACK))
    together = answer(
        graph,
        "run",
        Question(
            fixes=(("unsync", "name=cudaStreamSynchronize"),), scale=((0.5, "name=gemm"),), overhead="none"
        ),
    )
    # Kernels of 26 and 27: from 8 to 34; the second call ends at 14 + 2 + 6 + 30 = 52, its kernel 56 to 83.
    assert together.prediction.naive.predicted_ns == 89_000
    assert "without waiting for the GPU in name=cudaStreamSynchronize" in str(together.question)
    assert together.as_json()["assumptions"] == list(ASKED["unsync"].assumptions)


def test_a_fix_that_there_is_not_and_numbers_that_are_none() -> None:
    graph = graph_of(tiny.model(*READBACK))
    with pytest.raises(InputError, match="ahead of itself"):
        ask(graph, ("prefetch", "name=log"), depth=0)
    with pytest.raises(InputError, match="'nothing' is no name"):
        ask(graph, ("unsync", "name=nothing"))


def test_a_run_shows_where_fixes_can_be_made() -> None:
    graph = graph_of(tiny.model(*loop(4, 30, 20)))
    found = find_fixes(Predictor(graph, whole_window(graph)))
    assert [(row["fix"], row["title"]) for row in found] == [("prefetch", "Load ahead, with 4 workers")]
    best = found[0]
    # Three of four batches; one worker, who takes longer than a step, would gain 60 µs.
    assert best["gain_ns"] == 90_000
    assert best["command"] == "tracegraph what-if --prefetch 'phase=data loading' --workers 4"
    assert "4 times the loop's thread loads its batch itself" in str(best["evidence"])


def test_every_fix_is_asked_for_by_the_options_that_it_names() -> None:
    """What a run shows is what its command asks for: the same segments, so the same gain."""
    for events in (READBACK, loop(4, 30, 20), launches(3, 10)):
        graph = graph_of(tiny.model(*events))
        predictor = Predictor(graph, whole_window(graph))
        for fix in FIXES:
            for one in fix.find(Scene(graph, graph.replay.run(graph.segments.work, graph.counted).on_path)):
                words = list(zip(one.options[::2], one.options[1::2], strict=True))
                asked = [(name[2:], text) for name, text in words if name[2:] in ASKED]
                workers = int(dict(words).get("--workers", 1))
                if asked:
                    assert (
                        gain_us(graph, *asked, workers=workers) * 1000 == predictor.gain(one.change).gain_ns
                    )


def scenario(found: WhatIf, events: list[tiny.Row]) -> Scenario:
    tables = tiny.tables(tiny.trace(*events), "base")
    return find_scenario(tables, found.graph, found.span, found.change, found.prediction)


@pytest.mark.parametrize(
    ("events", "fixes"),
    [
        (list(READBACK), [("unsync", "name=cudaStreamSynchronize")]),
        (loop(4, 30, 20), [("prefetch", "phase=data loading")]),
        (launches(3, 10), [("capture", "under=aten::mul")]),
    ],
)
def test_what_fixes_leave_can_be_kept(events: list[tiny.Row], fixes: list[tuple[str, str]]) -> None:
    tables = tiny.tables(tiny.trace(*events), "base")
    found = ask(read_graph(tables), *fixes)
    kept = scenario(found, events)
    assert kept.window.end - kept.window.start == found.prediction.naive.predicted_ns


@given(
    rows().filter(
        lambda found: any(
            row["category"] != "cuda_sync" and row["start_ns"] != row["end_ns"] for row in found
        )
    ),
    st.integers(0, 2**32 - 1),
)
def test_random_edits_keep_order_and_are_joined_in_any_order(events: list[tiny.Row], seed: int) -> None:
    """Nothing gets longer where waits end and work shrinks, and more of that gains no less."""
    graph = graph_of(tiny.model(*events))
    span, count = whole_window(graph), len(graph.segments)
    assume(span.counts.any())
    chance = np.random.default_rng(seed)
    freed = replace(no_edit(count), freed=chance.random(count) < 0.5)
    unawaited = replace(no_edit(count), unawaited=chance.random(count) < 0.5)
    shorter = replace(no_edit(count), factor=np.where(chance.random(count) < 0.5, 0.5, 1.0))
    queued = replace(no_edit(count), queue_lag=np.where(chance.random(count) < 0.5, 0, NONE))
    predictor, ones = Predictor(graph, span), np.ones(count)
    gains = [
        predictor.gain(Change(ones, edit=join_edits(edits))).gain_ns
        for edits in ([freed, unawaited, shorter, queued], [queued, freed, shorter, unawaited])
    ]
    assert gains[0] == gains[1]
    alone = [predictor.gain(Change(ones, edit=one)).gain_ns for one in (freed, unawaited, shorter, queued)]
    assert gains[0] >= max(alone)
    assert min(alone) >= 0
    said = predictor.predict(Change(ones, edit=join_edits([freed, unawaited, shorter, queued])))
    assert said.low.gain_ns <= said.corrected.gain_ns <= said.high.gain_ns <= said.most_ns
