"""The tables of docs/accuracy.md: their blocks, how misses are counted, and one made from a tiny set."""

import importlib
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ORACLE = ROOT.parent / "shared" / "oracle"
BLOCKS = ("scores", "ablation", "calibration", "files")


def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "benchmarks.accuracy", *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.fixture
def document(tmp_path: Path) -> Path:
    """A document with every block, empty."""
    path = tmp_path / "accuracy.md"
    path.write_text("".join(f"<!-- {name} -->\n<!-- /{name} -->\n" for name in BLOCKS))
    return path


def test_the_document_has_every_block_filled() -> None:
    text = (ROOT / "docs" / "accuracy.md").read_text(encoding="utf-8")
    for name in BLOCKS:
        block = text.split(f"<!-- {name} -->")[1].split(f"<!-- /{name} -->")[0]
        assert "\n| --- |" in block, f"python -m benchmarks.accuracy {name} has not written its block"


def test_scores_of_a_tiny_set(document: Path) -> None:
    if not ORACLE.exists():
        pytest.skip(f"the oracle is not here: {ORACLE} does not exist")
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
    names = sorted(path.name for path in (ROOT / "examples" / "traces").glob("*.json.gz"))
    assert [line.split(" ")[1] for line in text.splitlines() if ".json.gz |" in line] == names


A, B, D = (0, 1), (0, 2), (0, 3)


@pytest.mark.parametrize(
    ("ours", "near", "missed"),
    [
        pytest.param([(0, 90, A), (90, 100, D)], [False, False], [], id="all agree"),
        pytest.param([(0, 40, B), (40, 90, A), (90, 100, D)], [True, False, True], [(40, False)], id="other"),
        pytest.param(
            [(0, 40, B), (40, 90, A), (90, 100, D)], [False, True, False], [(40, True)], id="behind a tie"
        ),
        pytest.param([(0, 1, B), (1, 90, A), (90, 100, D)], [False, True, False], [], id="rounding"),
        pytest.param([(0, 90, A), (90, 100, None)], [True, True], [(10, False)], id="at the end"),
    ],
)
def test_missed_stretches(
    monkeypatch: pytest.MonkeyPatch,
    ours: list[tuple[int, int, tuple[int, int] | None]],
    near: list[bool],
    missed: list[tuple[int, bool]],
) -> None:
    monkeypatch.syspath_prepend(str(ROOT))
    compare = importlib.import_module("benchmarks.accuracy.compare")
    true = [(0, 90_000, A), (90_000, 100_000, D)]
    found = compare.missed_stretches(true, [(s * 1000, e * 1000, x) for s, e, x in ours], near)
    assert [(stretch.length_ns / 1000, stretch.reported) for stretch in found] == missed
