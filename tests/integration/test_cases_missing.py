"""Times that cannot be and rows that are missing, on small files after public reports: shared/cases."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tracegraph.cli.main import main
from tracegraph.store.workspace import Workspace

CASES = Path(__file__).parents[2].parent / "shared" / "cases"
NOT_OF_THE_GPU = ("work from before the recording", "work whose rows are missing", "unrecorded graph work")
Report = Callable[[str], tuple[str, dict[str, Any]]]
pytestmark = [pytest.mark.usefixtures("database"), pytest.mark.exhaustive]


@pytest.fixture
def report(workspace: Workspace, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Report:
    """What the terminal says of a case, in one line, and its summary."""

    def run(name: str) -> tuple[str, dict[str, Any]]:
        path = CASES / name
        if not path.exists():
            pytest.skip(f"{path} is not here")
        out = tmp_path / name.replace("/", "_")
        assert main(["--workspace", str(workspace.root), "report", str(path), "-o", str(out)]) == 0
        return " ".join(capsys.readouterr().out.split()), json.loads((out / "summary.json").read_text())

    return run


def test_durations_that_overflowed_change_nothing(report: Report) -> None:
    said, found = report("c01_rocm_dur_overflow/trace.json")
    clean, truth = report("c01_rocm_dur_overflow/clean.json")
    assert "1 error (gpu_end_impossible): 6 " in said
    assert "no errors or warnings about the input" in clean
    assert found["critical_path"]["length_ns"] == truth["critical_path"]["length_ns"] == 12_329_000
    assert found["potential"] == truth["potential"]
    assert [row["count"] for row in found["integrity"] if row["code"] == "gpu_end_impossible"] == [6]
    assert "changes this answer (gpu_end_impossible)" in said


@pytest.mark.parametrize(
    ("case", "codes", "gap"),
    [
        ("c11_head_kernels_dropped", ["gpu_rows_missing", "path_mostly_unrecorded"], NOT_OF_THE_GPU[1]),
        ("c14_graph_kernels_missing", ["path_mostly_unrecorded"], NOT_OF_THE_GPU[2]),
        ("c24_cut_before_step", ["path_mostly_unrecorded"], NOT_OF_THE_GPU[0]),
    ],
)
def test_what_is_missing_is_said_and_nothing_is_promised(
    report: Report, case: str, codes: list[str], gap: str
) -> None:
    said, found = report(f"{case}/trace.json")
    errors = [row for row in found["integrity"] if row["level"] == "error"]
    assert sorted(row["code"] for row in errors) == codes
    assert all(row["share"] > 0.5 for row in errors)
    assert "what to change first, cannot be told" in said
    assert "not known what runs in" in " ".join(said.split())
    assert gap in said
    assert "The GPU determines" not in said
    assert not re.search(r"would be|times as fast", said), "no gain is promised"
    assert not {row["name"] for row in found["potential"]} & set(NOT_OF_THE_GPU)


def test_doctor_says_the_share(capsys: pytest.CaptureFixture[str]) -> None:
    path = CASES / "c24_cut_before_step" / "trace.json"
    if not path.exists():
        pytest.skip(f"{path} is not here")
    assert main(["doctor", str(path)]) == 1
    said = capsys.readouterr().out
    assert "Not to be relied on" in said
    assert "97.8 % path_mostly_unrecorded" in " ".join(said.split())
