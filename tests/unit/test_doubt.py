"""What takes the evidence from causes, and that the edges which rest on it say so."""

import pytest
import tiny
from tiny import Model, Row, call, event, kernel, step

from tracegraph.vocabulary.mechanisms import MECHANISMS


def launched(first: int, count: int, at: float, *, pid: str = "1", id_of: int | None = None) -> list[Row]:
    """Calls every 20 µs from `at` with ids from `first`, each with a kernel 5 µs after it."""
    rows = []
    for i in range(count):
        number, start = (id_of or first) + i, at + 20 * i
        rows += [call("Launch", start, start + 4, number) | {"pid": pid}]
        rows += [kernel("k", start + 9, start + 15, number)]
    return rows


def sure(model: Model) -> set[tuple[str, str, str]]:
    """Dependencies with a confidence above .5 as (cause, mechanism, effect)."""
    found = model.dependencies
    return {
        (
            tiny.label(model, found.cause[i]),
            MECHANISMS[found.mechanism[i]].name,
            tiny.label(model, found.effect[i]),
        )
        for i in range(len(found))
        if found.confidence[i] > 0.5
    }


def holes(model: Model) -> list[tuple[float, float]]:
    start, end = model.scene.doubts[0].holes
    return [(s / 1000, e / 1000) for s, e in zip(start.tolist(), end.tolist(), strict=True)]


def test_ids_that_count_on_in_silence_show_a_hole_and_what_leads_over_it_is_not_sure() -> None:
    rows = [step(1, 0, 1000), *launched(1, 8, 0), *launched(40, 8, 600)]
    model = tiny.model(*rows)
    assert holes(model) == [(155, 600)]
    of_kernels = {edge for edge in sure(model) if edge[2].startswith("k@")}
    assert ("Launch@140", "launch", "k@149") in of_kernels
    assert ("Launch@620", "launch", "k@629") in of_kernels
    assert not {edge for edge in of_kernels if edge[2] == "k@609"}
    assert ("ProfilerStep#1@144", "program order", "Launch@600") not in sure(model)


def test_silence_alone_is_no_hole() -> None:
    rows = [step(1, 0, 1000), *launched(1, 8, 0), *launched(9, 8, 600)]
    model = tiny.model(*rows)
    assert holes(model) == []
    assert ("ProfilerStep#1@144", "program order", "Launch@600") in sure(model)


def test_ids_that_skip_as_far_elsewhere_show_no_hole() -> None:
    rows = [*launched(1, 4, 0), *launched(40, 4, 80), *launched(80, 8, 600)]
    assert holes(tiny.model(*rows)) == []


def test_launches_without_work_before_a_silence_show_a_hole() -> None:
    lost = [call("Launch", 160 + 10 * i, 164 + 10 * i, 9 + i) for i in range(3)]
    assert holes(tiny.model(*launched(1, 8, 0), *lost, *launched(12, 8, 600))) == [(184, 600)]
    never = [row for row in launched(1, 8, 0) if row["name"] == "Launch"]
    assert holes(tiny.model(*never, *launched(9, 3, 600))) == []


def test_nothing_is_sure_about_a_stream_of_two_processes() -> None:
    both = [*launched(1, 4, 0), *launched(101, 4, 7, pid="2")]
    model = tiny.model(*both)
    assert {edge for edge in sure(model) if "k@" in edge[0] + edge[2]} == set()
    one = tiny.model(*launched(1, 4, 0), *launched(101, 4, 7))
    assert ("Launch@0", "launch", "k@9") in sure(one)


@pytest.mark.parametrize(("joined", "doubtful"), [(0, True), (4, False)])
def test_work_that_nothing_joins_with_its_calls_has_no_sure_cause(joined: int, doubtful: bool) -> None:
    rows = [
        row | ({} if i < 2 * joined else {"correlation": None}) for i, row in enumerate(launched(1, 8, 0))
    ]
    model = tiny.model(*rows, event("end", 200, 210))
    assert model.scene.doubts[0].unjoined == doubtful
    assert (("k@129", "stream order", "k@149") in sure(model)) != doubtful
