"""Iterations of servers: what their names say, and that they are steps."""

import pytest
import tiny
from tiny import Row, event

from tracegraph.ingest.causal.events.event_arrays import read_events
from tracegraph.ingest.causal.graph.model import build_model
from tracegraph.ingest.integrity.diagnosis import diagnose
from tracegraph.ingest.integrity_findings import Integrity
from tracegraph.vocabulary.iterations import Iteration, iteration_in


@pytest.mark.parametrize(
    ("name", "type_", "batch", "tokens"),
    [
        ("step[EXTEND bs=4 toks=4096]", "prefill", 4, 4096),
        ("step[DECODE bs=63]", "decode", 63, None),
        ("step[DECODE bs=2 g_sqsq=2 g_sqsk=30 g_sk=30]", "decode", 2, None),
        ("step[MIXED bs=2 c=1 g=1 c_sq=5 c_sk=8]", "mixed", 2, None),
        ("step[TARGET_VERIFY bs=4]", "decode", 4, None),
        ("step[IDLE]", "idle", None, None),
        ("prefill[bs=2 tok=16384]", "prefill", 2, 16384),
        ("decode[bs=64]", "decode", 64, None),
        ("decode batch_size: 8, num_tokens: 8", "decode", 8, 8),
        ("execute_context_1(512)_generation_0(0)", "prefill", 1, 512),
        ("execute_context_0(0)_generation_128(128)", "decode", 128, 128),
        ("execute_context_2(700)_generation_6(6)", "mixed", 8, 706),
        ("execute_context_0(0)_generation_0(0)", "idle", 0, 0),
        ("execute_context_1(sq512sk512)_generation_2(sq2sk90)", "mixed", 3, 514),
        ("execute_context_1(x)_generation_2(2)", "mixed", 3, None),
        ("execute_new_3_cached_0", "prefill", 3, None),
        ("execute_new_1_cached_8", "mixed", 9, None),
        ("[Executor] _forward_step 7: 1 ctx reqs, 512 ctx tkns, 8 gen reqs", "mixed", 9, 520),
        ("[Executor] _forward_step 7: 0 ctx reqs, 8 gen reqs", "decode", 8, None),
    ],
)
def test_what_a_name_says(name: str, type_: str, batch: int | None, tokens: int | None) -> None:
    assert iteration_in(name) == Iteration(type_, batch, tokens)


@pytest.mark.parametrize(
    "name",
    ["ProfilerStep#3", "train_step 3", "decode", "decode_image", "step[3]", "load_batch batch=3",
     "Optimizer.step#SGD.step", "jpeg_decoder(width=4)", "nccl:all_reduce", "step[FOO bs=4]"],
)  # fmt: skip
def test_other_names_mark_no_iteration(name: str) -> None:
    assert iteration_in(name) is None


def mark(name: str, start: float, end: float, thread: int = 1) -> Row:
    return event(name, start, end, category="user_annotation", thread=thread)


def steps(*rows: Row) -> tuple[str, list[tuple[int, str]]]:
    found = build_model(*read_events(tiny.trace(*rows)), Integrity("t"))
    names = found.events.name[found.steps.event]
    return found.events.step_marker, list(zip(found.steps.number.tolist(), names, strict=True))


PREFILL, DECODE = "step[EXTEND bs=4 toks=100]", "step[DECODE bs=4]"


def test_iterations_are_steps_in_their_order() -> None:
    rows = [mark(PREFILL, 0, 50), event("a", 1, 40), mark(DECODE, 60, 70), mark(DECODE, 80, 90)]
    inner = mark("prefill[bs=1]", 5, 9)
    marker, found = steps(*rows, inner, mark(DECODE, 3, 4, thread=2), event("b", 3, 4, thread=2))
    assert marker == "serving iteration"
    assert found == [(0, PREFILL), (1, DECODE), (2, DECODE)]


def test_the_profilers_steps_come_first_and_one_iteration_is_none() -> None:
    assert steps(tiny.step(3, 0, 100), mark(DECODE, 10, 20), mark(DECODE, 30, 40)) == (
        "ProfilerStep#",
        [(3, "ProfilerStep#3")],
    )
    assert steps(mark(DECODE, 10, 20), event("a", 11, 19)) == ("ProfilerStep#", [])


def test_what_a_server_does_before_an_iteration_is_no_step_that_was_cut() -> None:
    rows = [event("get_next_batch", 0, 50), mark(DECODE, 60, 70), event("a", 61, 69), mark(DECODE, 80, 90)]
    integrity = Integrity("t")
    diagnose(build_model(*read_events(tiny.trace(*rows)), integrity), integrity)
    assert "begins_mid_step" not in {finding.code for finding in integrity}


def test_the_node_of_a_step_says_what_the_name_says() -> None:
    table = tiny.tables(tiny.trace(mark(PREFILL, 0, 50), event("a", 1, 40), mark(DECODE, 60, 70))).nodes[
        "Step"
    ]
    rows = table.select(["type", "batch", "tokens"]).to_pylist()
    assert rows == [
        {"type": "prefill", "batch": 4, "tokens": 100},
        {"type": "decode", "batch": 4, "tokens": None},
    ]
