"""Steps that a user's annotations mark: which events, their numbers, and what is said where none does."""

import re

import pytest
import tiny
from tiny import Row, call, event, kernel

from tracegraph.base.errors import InputError
from tracegraph.ingest.causal.events.event_arrays import read_events
from tracegraph.ingest.causal.events.events import NONE
from tracegraph.ingest.causal.events.step_marks import number_steps, refuse_unmarked, suggest_marker
from tracegraph.ingest.causal.graph.model import Model, build_model
from tracegraph.ingest.causal.graph.stack_frames import find_frames
from tracegraph.ingest.causal.rules.context import find_context
from tracegraph.ingest.integrity_findings import Integrity
from tracegraph.ingest.ranks.rank_part import build_checked


def mark(name: str, start: float, end: float, *, thread: int = 1) -> Row:
    return event(name, start, end, category="user_annotation", thread=thread)


def model(*rows: Row, marker: str) -> Model:
    return build_model(*read_events(tiny.trace(*rows), marker), Integrity("tiny.json"))


def steps(*rows: Row, marker: str) -> list[tuple[int, str, float, float]]:
    """Number, name, start and end in µs."""
    found = find_context(*read_events(tiny.trace(*rows), marker), Integrity("tiny.json"))
    names = found.events.name[found.steps.event]
    rows_ = zip(found.steps.number, names, found.steps.start, found.steps.end, strict=True)
    return [(int(number), name, start / 1000, end / 1000) for number, name, start, end in rows_]


@pytest.mark.parametrize(
    ("ranks", "numbers"),
    [
        ([["step_7", "step_8"]], [[7, 8]]),
        ([["iteration 17/100", "iteration 18/100"]], [[17, 18]]),
        ([["epoch 1 step 5", "epoch 1 step 6"]], [[5, 6]]),
        # Both numbers differ, one falls: the one that rises.
        ([["loss 9 step 1", "loss 5 step 2"]], [[1, 2]]),
        ([["train", "train", "train"]], [[0, 1, 2]]),
        ([["epoch 1 step 1", "epoch 1 step 2", "epoch 2 step 1"]], [[0, 1, 2]]),
        ([["step 1", "warm-up 2"]], [[0, 1]]),
        ([["step 99999999999999999999"]], [[0]]),
        # One rule for all ranks.
        ([["step_3", "step_4"], ["step_4", "step_5"]], [[3, 4], [4, 5]]),
        ([["step_3", "step_4"], ["step_4", "step_4"]], [[0, 1], [0, 1]]),
        ([], []),
    ],
)
def test_numbers(ranks: list[list[str]], numbers: list[list[int]]) -> None:
    assert number_steps(ranks) == numbers


def test_steps_are_the_outermost_on_the_thread_that_is_in_them_longest() -> None:
    found = steps(
        mark("step_5", 0, 10),
        mark("step_5_inner", 2, 8),
        mark("step_6", 10, 20),
        mark("step_9", 3, 7, thread=2),
        event("step_7", 20, 30),  # an operator is no annotation
        tiny.step(1, 0, 30),
        marker="step_*",
    )
    assert found == [(5, "step_5", 0, 10), (6, "step_6", 10, 20)]


def test_a_marker_is_a_glob_of_stars_and_question_marks_only() -> None:
    rows = [mark(f"[a] s.{n}", n * 10, n * 10 + 5) for n in (1, 2)]
    assert [one[0] for one in steps(*rows, marker="[a] s.?")] == [1, 2]
    assert steps(mark("a s-1", 0, 1), marker="[a] s.?") == []


def test_marked_steps_have_windows_and_events_and_one_frame() -> None:
    found = model(
        mark("train 1", 0, 10),
        call("cudaLaunchKernel", 2, 4, 1),
        kernel("gemm", 6, 14, 1),
        mark("train 2", 20, 30),
        event("op", 22, 24),
        marker="train *",
    )
    assert found.steps.window_end.tolist() == [14_000, 30_000]
    of_event = dict(zip(found.events.name[slice(None)], found.steps.of_event.tolist(), strict=True))
    assert (of_event["gemm"], of_event["op"], of_event["train 2"]) == (1, 2, 2)
    frames = find_frames(found)
    assert "train *" in set(frames.name[slice(None)])
    assert not {"train 1", "train 2"} & set(frames.name[slice(None)])


def test_no_annotation_of_that_name() -> None:
    rows = [mark(f"step_{n}", n * 10, n * 10 + 9) for n in range(5)]
    rows += [mark("load", n * 10, n * 10 + 2) for n in range(3)] + [mark("once", 90, 99)]
    events, _ = read_events(tiny.trace(*rows), "steps*")
    listed = "annotations that repeat, the longest first: 'step_*' (5), 'load' (3)"
    with pytest.raises(InputError, match=re.escape(f"--step-marker 'steps*' says; {listed}")):
        refuse_unmarked([events], "steps*")
    with pytest.raises(InputError, match="no annotation of it repeats"):
        refuse_unmarked([read_events(tiny.trace(event("op", 0, 1)), "x")[0]], "x")
    other, _ = read_events(tiny.trace(*rows), "step_*")
    refuse_unmarked([events, other], "step_*")  # in one of the files is enough


@pytest.mark.parametrize(
    ("rows", "marker"),
    [
        ([mark(f"train {n}", n * 10, n * 10 + 9) for n in range(3)], "train *"),
        ([mark("train", n * 10, n * 10 + 9) for n in range(3)], "train"),
        # Too few, too little of the time, or steps are there.
        ([mark("train", n * 10, n * 10 + 9) for n in range(2)], None),
        ([mark("train", n * 10, n * 10 + 3) for n in range(3)], None),
        ([mark("train", n * 10, n * 10 + 9) for n in range(3)] + [tiny.step(1, 0, 5)], None),
    ],
)
def test_a_marker_is_suggested(rows: list[Row], marker: str | None) -> None:
    operators = [event("op", 0, 1), event("op", 28, 29)]
    events, _ = read_events(tiny.trace(*rows, *operators))
    assert suggest_marker(events) == marker


def test_the_suggestion_says_the_command() -> None:
    rows = [event("op", 0, 1), *(mark(f"a b {n}", n * 10, n * 10 + 9) for n in range(3))]
    trace = tiny.trace(*rows)
    integrity = Integrity("my trace.json")
    build_checked(trace, integrity)
    found = next(one.message for one in integrity if one.code == "steps_missing")
    assert found.endswith("tracegraph report 'my trace.json' --step-marker 'a b *'")
    assert (read_events(trace)[0].step_number == NONE).all()
