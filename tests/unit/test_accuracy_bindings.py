"""Binding edges against the truth's causes, and what is seen around silences: on traces of a few rows."""

from typing import Any

import pandas as pd
import pytest
import tiny
from tiny import Row, call, event, kernel, step

from benchmarks.accuracy import calibration, silences
from benchmarks.accuracy.bindings import judge_bindings

ROWS: list[Row] = [
    event("before", 0, 10),
    call("launch", 10, 14, 1),
    kernel("k", 17, 40, 1),
    call("cudaStreamSynchronize", 15, 44, 2),
    event("after", 46, 60),
    event("poll", 20, 25, thread=2),
    event("poll", 50, 55, thread=2),
]
TRUE = {
    "launch": (1, 10, 0, "seq", 0),
    "bare": (-1, 14, 1, "seq", 0),
    "sync begins": (3, 15, -1, "seq", 0),
    "kernel": (2, 17, 1, "launch", 3),
    "sync ends": (3, 43.5, 2, "sync", 3.5),
    "bare again": (-1, 44, 3, "seq", 0),
    "after": (4, 46, -1, "seq", 0),
}


def judged(rows: list[Row], **changes: tuple[int, float, int, str, float]) -> dict[str, bool]:
    """Effects of the model with whether their binding edge is right."""
    true = TRUE | {name.replace("_", " "): row for name, row in changes.items()}
    bindings = [[0, e, at, 0, cause, kind, lag] for e, at, cause, kind, lag in true.values()]
    model = tiny.model(*rows)
    truth: dict[str, Any] = {"bindings": bindings, "args": {"int_us": False}}
    found = judge_bindings(model, truth)
    effects = [tiny.label(model, int(effect)) for effect in model.dependencies.effect[found.edge]]
    return dict(zip(effects, found.right.tolist(), strict=True))


def test_every_edge_of_a_true_model_is_right() -> None:
    found = judged(ROWS)
    assert {"launch@10", "k@17", "after@46"} <= set(found)
    assert [effect for effect in found if effect.startswith("cudaStreamSynchronize")]
    assert all(found.values())


@pytest.mark.parametrize(
    ("changes", "wrong"),
    [
        pytest.param({"kernel": (2, 17, 0, "launch", 7)}, [], id="same thread, the call has no row"),
        pytest.param({"kernel": (2, 17, 3, "launch", 1)}, ["k@17"], id="another call of the thread"),
        pytest.param({"kernel": (2, 17, 6, "launch", 1)}, ["k@17"], id="another thread"),
        pytest.param({"after": (4, 46, 2, "sync", 6)}, ["after@46"], id="waited, for us in program order"),
        pytest.param({"after": (4, 45.9, 2, "sync", 6)}, [], id="begun earlier: goes on in program order"),
        pytest.param({"kernel": (2, 17, 2, "seq", 0)}, ["k@17"], id="the work before on its stream"),
    ],
)
def test_a_wrong_cause(changes: dict[str, tuple[int, float, int, str, float]], wrong: list[str]) -> None:
    assert [effect for effect, right in judged(ROWS, **changes).items() if not right] == wrong


def test_a_wait_is_judged_by_the_truths_nearest_start_of_its_kind() -> None:
    ends = {"sync_ends": (3, 43.5, 1, "join", 3.5)}
    [wrong] = [effect for effect, right in judged(ROWS, **ends).items() if not right]
    assert wrong.startswith("cudaStreamSynchronize@4")
    rows = [*ROWS[:3], call("cudaStreamSynchronize", 15, 144, 2), event("after", 146, 160), *ROWS[5:]]
    rows[2] = kernel("k", 17, 140, 1)
    [wrong] = [effect for effect, right in judged(rows, after=(4, 146, 3, "seq", 0)).items() if not right]
    assert wrong.startswith("cudaStreamSynchronize@14"), "the truth has no such start within 50 µs"


def test_a_long_call_and_a_silence_with_what_was_seen() -> None:
    model = tiny.model(
        step(1, 0, 1000),
        call("launch", 10, 20, 1),
        kernel("k", 25, 600, 1),
        *(call("query", 21 + 2 * i, 22 + 2 * i, 10 + i) for i in range(5)),
        call("query", 100, 400, 20),
        event("helper", 900, 955, thread=2),
    )
    found = silences.describe_stretches("tiny.json", model)
    silence, query = (next(s for s in found if part in s.what) for part in ("Step", "query"))
    assert (silence.what, silence.length_ns) == ("user_annotation: ProfilerStep#1", 600_000)
    assert silence.gpu == "busy 0.33, 1 ended"
    assert silence.gpu_end == "none"
    assert silence.thread_end == "active 0.09; −45.000 µs helper (thread 2)"
    assert query.usual == "median 1.000 µs of 6; 1 alike"
    assert (query.gpu, query.after) == ("busy 1.00, 0 ended", "ProfilerStep#1")
    assert silence.why == "an annotation, nothing inside; no Python stacks: untraced Python"
    assert query.why == "unknown: GPU busy, nothing ended near"


def test_a_call_beside_an_idle_gpu_works_for_itself() -> None:
    launches = [
        row
        for i in range(5)
        for row in (call("l", 20 * i, 20 * i + 2, i), kernel("k", 20 * i + 5, 20 * i + 9, i))
    ]
    free = call("cudaFree", 200, 1200, 9)
    found = silences.describe_stretches("tiny.json", tiny.model(*launches, free))[0]
    assert found.why == "first call of its name in the file; GPU idle: the call's own work"


def test_a_bin_that_says_too_much_is_marked_unless_it_has_few_edges() -> None:
    columns = ["mechanism", "evidence", "bin", "edges", "confidence", "right", "left_out"]
    rows = [[0, 0, 6, 100, 100.0, 97, 3], [1, 0, 6, 100, 100.0, 100, 0], [2, 1, 4, 29, 25.0, 2, 0]]
    text = calibration.describe_calibration({"half": pd.DataFrame(rows, columns=columns)})
    assert "229 binding edges; 3 more have no counterpart" in text
    assert "| 0.99 to 1.00 | 200 | 1.000 | 0.985 |  |" in text
    assert "| launch | recorded | 100 | 1.000 | 0.970 | +0.030 |" in text
    assert "| 0.80 to 0.90 | 29 | 0.862 | too few |  |" in text
