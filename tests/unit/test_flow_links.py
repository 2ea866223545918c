"""Flows as the link where a file holds no ids."""

import pytest
import tiny
from tiny import call, event, flow, kernel


def test_a_flow_launches_work_without_a_correlation() -> None:
    launch = {**call("l", 0, 4, 1), "correlation": None}
    work = kernel("k", 6, 20, None)
    model = tiny.model(launch, work, flows=flow("ac2g", launch, work))
    assert tiny.dependencies(model, "INVOCATION") == {("l@0", "launch", "k@6")}


def test_a_correlation_is_believed_before_a_flow() -> None:
    launch, other, work = call("l", 0, 4, 1), call("m", 4, 5, 2), kernel("k", 6, 20, 1)
    model = tiny.model(launch, other, work, flows=flow("ac2g", other, work))
    assert tiny.dependencies(model, "INVOCATION") == {("l@0", "launch", "k@6")}


def test_a_flow_that_ends_on_a_thread_launches_nothing() -> None:
    launch, op = call("l", 0, 4, 1), event("op", 6, 20)
    model = tiny.model(launch, op, kernel("k", 30, 40, None), flows=flow("ac2g", launch, op))
    assert tiny.dependencies(model, "INVOCATION") == set()


@pytest.mark.parametrize("kind", ["fwdbwd", "forward_backward"])
def test_a_flow_joins_the_backward_pass_with_its_caller(kind: str) -> None:
    forward, backward = event("linear", 0, 10), event("LinearBackward", 20, 50, thread=2)
    rows = [forward, event("aten::mul", 2, 8), backward, event("optimizer", 60, 70)]
    model = tiny.model(*rows, flows=flow(kind, forward, backward))
    assert {m for _, m, _ in tiny.dependencies(model, "CROSS_THREAD")} == {
        "autograd hand-off",
        "autograd join",
    }
    assert {m for _, m, _ in tiny.dependencies(tiny.model(*rows), "CROSS_THREAD")} == set()
