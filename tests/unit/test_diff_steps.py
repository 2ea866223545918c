"""All steps of two sides compared: which ones, in what words, and what a limit means."""

import json

import pandas as pd
import pytest

from tracegraph.queries.runs import RunWindow
from tracegraph.workbench.diff.compare import Difference
from tracegraph.workbench.diff.gate import hold_to
from tracegraph.workbench.diff.scope import Scope, Side
from tracegraph.workbench.diff.steps import Steps, find_steps, words_of

USUAL = [100, 103, 99, 104, 98, 102, 97, 101]
WINDOW = RunWindow(0, 1_000, 0)
WHOLE = Side("b")


def listed(*lengths: int, rank: int = 0, types: str | None = None) -> pd.DataFrame:
    """Rows of `steps`, one after the other, µs."""
    ends = pd.Series(lengths, dtype="int64").cumsum() * 1_000
    rows = pd.DataFrame({"start_ns": ends - pd.Series(lengths) * 1_000, "window_end_ns": ends})
    return rows.assign(rank=rank, number=range(len(lengths)), type=list(types) if types else None)


def found(a: pd.DataFrame, b: pd.DataFrame, *, side: Side = WHOLE, single: int | None = None) -> Steps | None:
    """What is found if whole runs stand for the sides, or a single step for each."""
    rows = {"a": a, "b": b}
    scope = Scope(Side("a", step=single), Side("b", step=single), WINDOW, WINDOW, ())
    return find_steps(lambda _, values: rows[str(values["run"])], Side("a"), side, scope)


def steps(a: pd.DataFrame, b: pd.DataFrame, **more: int | None) -> Steps:
    compared = found(a, b, **more)  # type: ignore[arg-type]
    assert compared is not None
    return compared


def test_a_difference_that_is_told() -> None:
    said = words_of(steps(listed(*USUAL), listed(*(length + 20 for length in USUAL))))
    assert said == {
        "steps": "A step of B is on average 20.000 µs (19.9 %) longer than one of A, 95 % interval "
        "17.373 µs to 22.627 µs: that is more than chance brings (p < 0.0001, 8 and 8 steps). So many steps, "
        "varying as they do, show a difference of 3.690 µs (3.7 %) or more in 80.0 % of such recordings."
    }


def test_a_difference_that_chance_may_bring() -> None:
    said = words_of(steps(listed(*USUAL), listed(*(length - 1 for length in USUAL))))
    assert said["steps"].startswith(
        "A step of B is on average 1.000 µs (1.0 %) shorter than one of A, 95 % interval -1.627 µs to "
        "3.627 µs: that cannot be told from chance, which may bring as much (p 0.43, 8 and 8 steps)."
    )


def test_too_few_steps_say_what_to_record() -> None:
    few = steps(listed(*USUAL[:4]), listed(*USUAL))
    assert words_of(few) == {
        "steps": "Whether the difference is more than chance cannot be told: A has 4 steps to compare and "
        "B 8, and each side needs 5; record more steps."
    }
    assert few.low_ns is None
    assert few.as_json()["compared"] is None


def test_what_makes_steps_tell_less_is_named() -> None:
    rising = [length + 5 * at for at, length in enumerate(USUAL * 2)]
    alike = [100, 100, 100, 104, 104, 104, 99, 99, 99, 103, 103, 103]
    said = words_of(steps(listed(300, *rising), listed(400, 300, *alike)))["how steps vary"]
    assert "The first 2 steps of B take far longer than the later ones, as in a warm-up, and are left" in said
    assert "Neighbouring steps of B are alike (autocorrelation 0." in said
    assert "The steps of A drift: from the first to the last they become " in said


def test_a_job_says_how_long_its_steps_are() -> None:
    ranks = pd.concat([listed(*USUAL), listed(*(3 * length for length in USUAL), rank=1)])
    job = steps(ranks, ranks)
    assert job.found is not None
    assert job.found.a.mean_ns == 2 * 100_500
    assert "The length of a job's step is the mean over its ranks." in words_of(job)["steps"]
    alone = steps(ranks, ranks, side=Side("b", rank=1))  # type: ignore[arg-type]
    assert alone.found is not None
    assert alone.found.b.mean_ns == 3 * 100_500


def test_iterations_of_a_server_are_compared_within_the_type_that_takes_most_time() -> None:
    mixed = [100, 900, 103, 900, 99, 900, 104, 98, 102, 97, 101, 100, 99, 97, 103]
    rows = listed(*mixed, types="dpdpdpddddddddd")
    only = listed(*USUAL, types="dddddddd")
    job = steps(rows, only)
    assert (job.type, job.counts) == ("d", (12, 8))
    assert words_of(job)["steps"].startswith("An iteration of type d of B is on average ")


def test_single_steps_and_runs_without_steps_are_not_compared() -> None:
    assert found(listed(*USUAL), listed(*USUAL), side=Side("b", step=3)) is None
    assert found(listed(), listed(*USUAL)) is None


LONGER = listed(*(length + 20 for length in USUAL))


@pytest.mark.parametrize(
    ("count", "single", "limit_ns", "fails"),
    [
        (8, 1, 17_000, True),  # the interval of a step is 17.4 to 22.6 µs
        (8, 1, 18_000, False),
        (8, None, 8 * 17_000, True),  # that of 8 steps is 8 times as long
        (8, None, 8 * 18_000, False),
        (4, None, 18_000, True),  # too few steps: the windows differ by 300 µs
        (4, None, 300_000, False),
    ],
)
def test_a_limit_is_exceeded_where_the_interval_lies_above_it(
    count: int, single: int | None, limit_ns: int, fails: bool
) -> None:
    a, b = listed(*USUAL[:count]), listed(*(length + 20 for length in USUAL[:count]))
    scope = Scope(Side("a"), Side("b"), WINDOW, RunWindow(0, 301_000, 0), ())
    changed = Difference(scope, None, None, pd.DataFrame(), {}, steps(a, b, single=single))
    assert changed.held_to(limit_ns).is_exceeded == fails


@pytest.mark.parametrize(
    ("diff_ns", "compared", "limit_ns", "said"),
    [
        (
            21_000,
            steps(listed(*USUAL), LONGER, single=1),
            17_000,
            "at least 17.373 µs longer than A, by its 95 % interval",
        ),
        (21_000, steps(listed(*USUAL), LONGER, single=1), 18_000, "cannot be told from chance"),
        (21_000, steps(listed(*USUAL), listed(*USUAL[:3])), 18_000, "not enough steps on both sides"),
        (21_000, None, 18_000, "each has one length only"),
        (17_000, steps(listed(*USUAL), LONGER, single=1), 18_000, ""),
    ],
)
def test_a_gate_says_what_it_rests_on(diff_ns: int, compared: Steps | None, limit_ns: int, said: str) -> None:
    gate = hold_to(limit_ns, diff_ns, compared)
    assert said in gate.words
    assert bool(said) == bool(gate.words)


def test_the_numbers_are_whole_ns() -> None:
    numbers = json.loads(
        json.dumps(steps(listed(*USUAL), listed(*(2 * length for length in USUAL))).as_json())
    )
    assert (numbers["steps_a"], numbers["steps_b"], numbers["times"]) == (8, 8, 8)
    compared = numbers["compared"]
    assert (compared["diff_ns"], compared["told"], compared["power"]) == (100_500, True, 0.8)
    assert all(isinstance(value, int) for name, value in compared.items() if name.endswith("_ns"))
    assert compared["a"]["mean_ns"] == 100_500
