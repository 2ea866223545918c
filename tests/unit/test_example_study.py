"""The scripts of the examples, as far as they go without torch; the page of the case study is theirs."""

import ast
import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
STUDY = EXAMPLES / "resnet18_loader"
SCRIPTS = sorted(EXAMPLES.rglob("*.py"))
ROUNDS = [{"step": 200.0, "train_step": 120.0}, {"step": 220.0, "train_step": 130.0}]
PREDICTED = {
    "base_ns": 400_000_000,
    "gain_ns": 160_000_000,
    "range": {"gain_low_ns": 120_000_000, "gain_high_ns": 200_000_000},
}


@pytest.fixture(scope="module")
def study() -> ModuleType:
    """case_study.py, which leaves torch to train.py."""
    spec = importlib.util.spec_from_file_location("case_study", STUDY / "case_study.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.name)
def test_each_script_is_python(script: Path) -> None:
    ast.parse(script.read_text(encoding="utf-8"))


def test_the_page_has_each_block_that_the_study_fills() -> None:
    page = (STUDY / "README.md").read_text(encoding="utf-8")
    written = re.findall(r'page\.add\("(\w+)"', (STUDY / "case_study.py").read_text(encoding="utf-8"))
    there = re.findall(r"<!-- (\w+) -->\n(.*?)<!-- /\1 -->", page, re.DOTALL)
    assert sorted(name for name, _ in there) == sorted(set(written))
    assert [name for name, text in there if not text.strip()] == []


def test_the_page_shows_what_is_there() -> None:
    page = (STUDY / "README.md").read_text(encoding="utf-8")
    (picture,) = re.findall(r"!\[.*?\]\((.*?)\)", page)
    assert "<svg" in (STUDY / picture).read_text(encoding="utf-8")
    assert sum(file.stat().st_size for file in STUDY.iterdir() if file.is_file()) < 300_000


def test_a_block_is_put_between_its_marks(study: ModuleType, tmp_path: Path) -> None:
    file = tmp_path / "README.md"
    file.write_text("before\n<!-- one -->\nold\n<!-- /one -->\nafter\n")
    page = study.Page()
    page.add("one", r"a \1 b")
    page.add("one", "c")
    for _ in range(2):
        page.write(file)
        assert file.read_text() == "before\n<!-- one -->\n\na \\1 b\n\nc\n\n<!-- /one -->\nafter\n"
    page.add("two", "")
    with pytest.raises(SystemExit, match="has no block <!-- two -->"):
        page.write(file)


def test_gains_are_a_step_and_paired_by_round(study: ModuleType) -> None:
    times = {
        "slow": ROUNDS,
        "free": [{"step": 100.0, "train_step": 100.0}, {"step": 110.0, "train_step": 110.0}],
        "workers": [{"step": 200.0, "train_step": 190.0}, {"step": 220.0, "train_step": 200.0}],
    }
    both = {"free": PREDICTED, "workers": {**PREDICTED, "gain_ns": 140_000_000}}
    _, _, predicted, free, ahead, workers = study.compared(both, 2, times, 3).splitlines()
    assert predicted == "| predicted: a batch in memory | 80.0 (60.0 to 100.0) | 40.0 % (30.0 % to 50.0 %) |"
    assert ahead == "| predicted: 3 workers | 70.0 (60.0 to 100.0) | 35.0 % (30.0 % to 50.0 %) |"
    assert free.startswith("| measured: a batch in memory | 105.0 [")
    assert free.endswith("| 50.0 [50.0–50.0] % |")
    assert workers == "| measured: 3 workers | 0.0 [0.0–0.0] | 0.0 [0.0–0.0] % |"
    assert "| `workers`: 3 workers | 210.0 [" in study.timed(times, 3)


def test_commands_are_shown_as_they_are_typed(study: ModuleType) -> None:
    shown = study.shown_command("tracegraph", "what-if", "--remove", "under=enumerate(DataLoader)*")
    assert shown == "tracegraph what-if --remove 'under=enumerate(DataLoader)*'"
