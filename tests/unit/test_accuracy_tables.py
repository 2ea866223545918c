"""The tables of benchmarks/results: their blocks, how misses are counted, and one made from a tiny set."""

import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks.accuracy import compare, goals, harder, sets, what_if
from benchmarks.accuracy import verdict as verdicts

ROOT = Path(__file__).parents[2]


CLAIMS = runpy.run_path(str(ROOT / "docs" / "claims.py"))
BLOCKS = ("harder", "harder-stored", "vary", "scores", "calibration", "ablation", "files", "silences")


def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "benchmarks.accuracy", *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.fixture
def document(tmp_path: Path) -> Path:
    """A document with every block, empty."""
    path = tmp_path / "accuracy.md"
    path.write_text("".join(f"<!-- {name} -->\n<!-- /{name} -->\n" for name in BLOCKS))
    return path


@pytest.mark.parametrize(
    "name", [*BLOCKS, "under", "fixes", "jobs", "verdicts", "diff", "diff-recorded", "nsight"]
)
def test_the_results_have_every_block_filled(name: str) -> None:
    block = CLAIMS["block_of"](name)
    assert "\n| --- |" in block, f"python -m benchmarks.accuracy {name} has not written its block"


def test_the_page_claims_what_the_results_say() -> None:
    pages = {path.name: path.read_text(encoding="utf-8") for path in CLAIMS["PAGES"]}
    for name, page in pages.items():
        assert CLAIMS["with_claims"](page) == page, f"docs/{name} is old: run `python docs/claims.py`"
    assert [page.count("\n<!-- claims ") for page in pages.values()] == [8, 1]
    assert len(pages["accuracy.md"].splitlines()) <= 250


def test_of_a_block_the_sentences_and_every_miss_are_claimed() -> None:
    block = "Most sets are right:\n\n- 9 of 10.\n\nBy kind:\n\n| all |\n\nEvery miss:\n\n| worst |\n"
    assert CLAIMS["claims_of"](block) == "Most sets are right:\n\n- 9 of 10.\n\nEvery miss:\n\n| worst |"


@pytest.mark.usefixtures("oracle_folder")
def test_scores_of_a_tiny_set(document: Path) -> None:
    few = ["--through", "columns", "--seeds", "0", "--events", "3000", "--mix", "--regime cpu --int-us"]
    done = run("scores", *few, "--document", document)
    assert done.returncode == 0, done.stderr
    lines = document.read_text(encoding="utf-8").splitlines()
    rows = [line.split(" | ") for line in lines if line.startswith("| --regime cpu")]
    assert [row[1] for row in rows] == [
        "constant lags",
        "--no-sync-rows",
        "--jitter",
        "--jitter --no-sync-rows",
    ]
    assert all(float(row[3]) >= 0.999 and float(row[5]) >= 0.999 for row in rows[:2])


def test_an_absent_oracle_is_one_line(document: Path, tmp_path: Path) -> None:
    done = run("scores", "--through", "columns", "--oracle", tmp_path / "nowhere", "--document", document)
    assert done.returncode == 1
    assert done.stderr.splitlines() == [
        f"Error: no oracle: {tmp_path / 'nowhere'} has no synth_kineto.py; name its folder with --oracle"
    ]


def test_a_document_without_the_block_is_one_line(tmp_path: Path) -> None:
    document, traces = tmp_path / "other.md", ROOT / "examples" / "traces"
    document.write_text("no blocks\n")
    done = run("files", "--traces", traces, "--document", document)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].endswith("has no block <!-- files --> … <!-- /files -->")
    assert document.read_text() == "no blocks\n"


def test_files_of_the_examples(document: Path) -> None:
    done = run("files", "--traces", ROOT / "examples" / "traces", "--document", document)
    assert done.returncode == 0, done.stderr
    text = document.read_text(encoding="utf-8")
    traces = ROOT / "examples" / "traces"
    names = sorted(path.relative_to(traces).as_posix() for path in traces.rglob("*.json.gz"))
    assert [line.split(" ")[1] for line in text.splitlines() if ".json.gz |" in line] == names


A, B, D = (0, 1), (0, 2), (0, 3)


@pytest.mark.parametrize(
    ("ours", "missed"),
    [
        pytest.param([(0, 90, A), (90, 100, D)], [], id="all agree"),
        pytest.param([(0, 40, B), (40, 90, A), (90, 100, D)], [(40, 1)], id="other"),
        pytest.param([(0, 40, A), (40, 60, B), (60, 90, A), (90, 100, D)], [(20, 2)], id="in between"),
        pytest.param([(0, 1, B), (1, 90, A), (90, 100, D)], [], id="rounding"),
        pytest.param([(0, 90, A), (90, 100, None)], [(10, -1)], id="at the end"),
    ],
)
def test_missed_stretches_hang_on_the_next_row_that_is_right(
    ours: list[tuple[int, int, tuple[int, int] | None]], missed: list[tuple[int, int]]
) -> None:
    true = [(0, 90_000, A), (90_000, 100_000, D)]
    found = compare.missed_stretches(true, [(s * 1000, e * 1000, x) for s, e, x in ours])
    assert [(length / 1000, row) for length, row in found] == missed


def test_the_reachable_overlap_counts_gpu_rows_as_the_file_has_them() -> None:
    true = [(0, 40_000, A), (40_000, 50_000, None), (50_000, 90_000, B), (90_000, 100_000, D)]
    rows = [{}, {"cat": "cpu_op", "dur": 5}, {"cat": "kernel", "dur": 31.0}, {"cat": "kernel", "dur": 12}]
    assert compare.reachable_overlap(true, rows) == pytest.approx(81 / 90)
    assert not verdict(goals.goal_of("--gpu-noise 300", ()), result(overlap=0.9, reachable=81 / 90)).met


def result(**fields: Any) -> compare.Result:
    of = sets.OracleSet("--hip", fields.pop("variant", ()), 0, 10_000, Path("hip"))
    figures = dict.fromkeys(["total", "tiling", "recall", "precision", "overlap", "pointwise"], 1.0)
    return compare.Result(of, **{**figures, "missed": (), "worst": (), **fields})


def verdict(
    goal: goals.Goal,
    found: compare.Result,
    errors: dict[str, int] | None = None,
    codes: frozenset[str] = frozenset(),
) -> verdicts.Verdict:
    gains = tuple(what_if.Gain(name, name, 100 + e, 100, 10_000) for name, e in (errors or {}).items())
    return verdicts.Verdict(found, gains, goal, codes)


@pytest.mark.parametrize(
    ("errors", "met"),
    [({"kernel": -100}, True), ({"kernel": 101}, False), ({"cpu_op": 500}, True), ({"cpu_op": -501}, False)],
)
def test_a_gain_counts_against_the_bound_of_its_category(errors: dict[str, int], met: bool) -> None:
    assert verdict(goals.goal_of("--regime comm --orphans .3", ()), result(), errors).met is met


def test_a_lower_path_with_random_lags_is_right_only_behind_open_races() -> None:
    goal = goals.goal_of("--hip", (sets.JITTER,))
    hangs = {"length_ns": 9000, "near_tie": True, "marked": True}
    open_race, near_tie = compare.Stretch(**hangs, tied=True), compare.Stretch(**hangs)
    assert verdict(goal, result(recall=0.95, missed=(open_race,))).met
    assert not verdict(goal, result(recall=0.95, missed=(open_race, near_tie))).met
    assert not verdict(goals.goal_of("--hip", ()), result(recall=0.998, missed=(open_race,))).met


def test_what_nobody_can_know_must_be_said() -> None:
    goal = goals.goal_of_damage("hole5")
    in_doubt, sure = (compare.Stretch(9000, confidence=confidence) for confidence in (0.4, 0.9))
    codes = frozenset({"hole", "clock"})
    said = verdict(goal, result(recall=0.5, missed=(in_doubt,)), codes=codes)
    assert said.met_or_said(frozenset({"clock"}))
    assert not said.met_or_said(codes)
    assert not verdict(goal, result(recall=0.5, missed=(sure,)), codes=codes).met_or_said(frozenset())
    other = verdict(goals.goal_of_damage("shuffle"), result(recall=0.5, missed=(in_doubt,)), codes=codes)
    assert not other.met_or_said(frozenset())


def test_the_list_of_misses_says_what_the_report_marks() -> None:
    missed = (compare.Stretch(3000, marked=True), compare.Stretch(1000, confidence=0.98))
    found = verdict(goals.goal_of("--hip", ()), result(recall=0.5, missed=missed), {"kernel": -2000})
    text = harder.describe_harder([found])
    assert "0 of 1 sets meet their goal, the path in 0, what-if in 0" in text
    assert "| --hip --seed 0 | 0.5000 | 1.0000 | 1.0000 | -20.00 % kernel | 4 µs | 0.00 | 0.75 |  |" in text


@pytest.mark.usefixtures("oracle_folder")
def test_harder_and_damaged_sets_of_a_tiny_size(document: Path, tmp_path: Path) -> None:
    few = ["--seeds", "0", "--events", "3000", "--folder", tmp_path / "sets", "--document", document]
    assert run("harder", *few, "--mix", "--regime loader").returncode == 0
    assert run("vary", *few, "--damage", "shuffle", "--damage", "unclosed1").returncode == 0
    text = document.read_text(encoding="utf-8")
    assert "| --regime loader | constant lags | ≥ 0.999, 1 % | 1 of 1 | 1.0000 | 1.0000 | 1.0000 |" in text
    assert "| shuffle | ≥ 0.995, 1 % | 4 of 4 | 1.0000 | 1.0000 |" in text
    assert "| unclosed1 | ≥ 0.995, 1 % | 1 of 1 |" in text
    kept = {path.name for path in (tmp_path / "sets").iterdir()}
    assert {"regime_loader_3000_0_truth.json", "regime_gpu_3000_0__shuffle_rank0.json"} <= kept
