"""The model with a rule left out: what is lost, and that every case of the benchmark still runs."""

import numpy as np
import pytest
import tiny
from tiny import call, event, kernel, sync

from benchmarks.accuracy.ablation import RULES, Case, cases
from tracegraph.ingest.causal.events.event_arrays import read_events
from tracegraph.ingest.causal.graph.solution import Solution
from tracegraph.ingest.causal.rules.edges import MECHANISMS
from tracegraph.ingest.integrity_findings import Integrity

ROWS = (
    event("op", 0, 3),
    call("l", 3, 5, 1),
    kernel("a", 8, 30, 1),
    call("l", 5, 12, 2),
    kernel("b", 31, 50, 2),
    kernel("inside", 10, 11, 2, stream=9),
    call("cudaStreamSynchronize", 12, 55, 3),
    sync("Stream Sync", 12, 55, 3, stream=7),
    call("cudaDeviceSynchronize", 56, 57, 4),
    event("op", 60, 70),
)
CASES = {case.name: case for case in cases()}


def solved(case: Case) -> Solution:
    return case.solve(*read_events(tiny.trace(*ROWS)), Integrity("tiny.json"))


def made(solution: Solution) -> set[tuple[str, bool]]:
    """Mechanisms of the dependencies, and whether each is recorded."""
    found = solution.dependencies
    names = [MECHANISMS[code].name for code in found.mechanism.tolist()]
    return set(zip(names, found.recorded.tolist(), strict=True))


def test_the_whole_model_is_that_of_the_product() -> None:
    solution, model = solved(CASES["nothing"]), tiny.model(*ROWS)
    assert np.array_equal(solution.on_path, model.on_path)
    assert np.array_equal(solution.dependencies.lag, model.dependencies.lag)


def test_each_rule_is_left_out_once() -> None:
    for rule in RULES:
        case = CASES[rule.find.__name__.replace("_", " ")]
        assert [other for other in RULES if other not in case.rules] == [rule]


@pytest.mark.parametrize(
    ("name", "lost"),
    [
        ("invocation", {"launch", "graph launch"}),
        ("stream order", {"stream order"}),
        ("synchronization", {"stream synchronize", "device synchronize"}),
    ],
)
def test_what_a_rule_makes_is_gone_without_it(name: str, lost: set[str]) -> None:
    before = {mechanism for mechanism, _ in made(solved(CASES["nothing"]))}
    after = {mechanism for mechanism, _ in made(solved(CASES[name]))}
    assert before - after == lost & before
    assert lost & before


def test_a_half_is_left_out() -> None:
    stream, device = ("stream synchronize", True), ("device synchronize", False)
    assert {stream, device} <= made(solved(CASES["nothing"]))
    assert {stream, device} - made(solved(CASES["synchronization, recorded"])) == {stream}
    assert {stream, device} - made(solved(CASES["synchronization, inferred"])) == {device}


@pytest.mark.parametrize("name", list(CASES))
def test_every_case_gives_a_path(name: str) -> None:
    solution = solved(CASES[name])
    assert solution.on_path[solution.sink]
