"""`tracegraph health`: exit codes, forms and thresholds, without a database."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
from tiny_job import rows_of_rank, write_trace

from tracegraph.cli.main import main
from tracegraph.store.managed.java import java

ROOT = Path(__file__).parents[2]
GPU = ROOT / "examples" / "traces" / "simulated_gpu.json.gz"
IN_CI = {**os.environ, "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])}
KEPT = '{"gpu-idle": 0.25, "loader-stall": 0.2, "launch-overhead": 0.5}'


@pytest.fixture(autouse=True)
def no_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(java, "run_admin", pytest.fail)


def health(tmp_path: Path, *arguments: object) -> int:
    return main(["--workspace", str(tmp_path / "workspace"), "--quiet", "health", *map(str, arguments)])


def written(tmp_path: Path, text: str) -> Path:
    file = tmp_path / "thresholds.json"
    file.write_text(text)
    return file


def test_thresholds_decide_the_exit_code(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert health(tmp_path, GPU) == 1
    assert "2 checks failed, 4 ok, 3 not judged." in capsys.readouterr().out
    assert health(tmp_path, GPU, "--thresholds", written(tmp_path, KEPT)) == 0
    assert "0 checks failed, 6 ok, 3 not judged." in capsys.readouterr().out


def test_nothing_is_stored(tmp_path: Path) -> None:
    health(tmp_path, GPU)
    assert list((tmp_path / "workspace" / "runs").iterdir()) == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"gpu-idel": 0.5}', "there is no rule 'gpu-idel'; did you mean gpu-idle?"),
        ('{"memory": "full"}', "the threshold 'full' of memory is no share; give a number from 0 to 1"),
        ('{"memory": 95}', "the threshold 95 of memory is no share"),
        ('{"input-errors": -1}', "the threshold -1 of input-errors is no number of errors; give 0 or more"),
    ],
)
def test_thresholds_that_are_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, said: str
) -> None:
    assert health(tmp_path, GPU, "--thresholds", written(tmp_path, text)) == 2
    assert said in capsys.readouterr().err


def test_a_file_that_cannot_be_read_is_no_failed_check(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "other.json").write_text('{"nodes": []}')
    assert health(tmp_path, tmp_path / "other.json") == 2
    assert capsys.readouterr().out == ""


def test_json_holds_numbers_and_what_was_not_judged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    health(tmp_path, GPU, "--format", "json")
    rows = {row["check"]: row for row in json.loads(capsys.readouterr().out)["checks"]}
    assert rows["loader-stall"]["state"] == "failed"
    assert rows["loader-stall"]["value"] > rows["loader-stall"]["threshold"] == 0.1
    assert rows["memory"]["value"] is None
    assert "profile_memory=True" in rows["memory"]["words"]


def test_junit_counts_failures_and_what_was_skipped(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    health(tmp_path, GPU, "--format", "junit")
    (suite,) = ElementTree.fromstring(capsys.readouterr().out)
    assert [suite.get(name) for name in ("tests", "failures", "skipped")] == ["9", "2", "3"]
    failed = {case.get("name") for case in suite if case.find("failure") is not None}
    assert failed == {"gpu-idle", "loader-stall"}


def test_ranks_of_several_files_are_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for rank, work_us in ((0, 20), (1, 100)):
        write_trace(tmp_path / f"rank{rank}.json", rows_of_rank(work_us, steps=5), rank)
    assert health(tmp_path, tmp_path / "rank0.json", tmp_path / "rank1.json", "--format", "json") == 1
    rows = {row["check"]: row for row in json.loads(capsys.readouterr().out)["checks"]}
    # In each 115 µs rank 0 arrives after 25 µs, rank 1 after 105.
    assert rows["late-rank"]["value"] == pytest.approx(80 / 115, abs=0.01)
    assert "each for rank 1" in rows["late-rank"]["words"]


def test_a_marker_of_no_annotation_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert health(tmp_path, GPU, "--step-marker", "nosuch*") == 2
    assert "no annotation is named as --step-marker" in capsys.readouterr().err


def test_a_file_says_of_the_job_what_options_say(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    job = tmp_path / "job.json"
    job.write_text('{"params": 1000000, "tokens": 64, "gpus": 8, "peak": 100}')

    def mfu(*options: object) -> tuple[str, float]:
        health(tmp_path, GPU, "--format", "json", "--job", job, *options)
        found = json.loads(capsys.readouterr().out)["checks"][-1]
        assert (found["check"], found["limit"]) == ("mfu", "at least")
        return found["state"], found["value"]

    state, value = mfu()
    assert state == "failed"
    assert mfu("--gpus", 4) == ("failed", pytest.approx(2 * value))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"prams": 5}', "has no 'prams'; did you mean params?"),
        ("[]", "is no JSON object"),
        ("{", "cannot read the job in"),
        ('{"gpus": "many"}', "'many' is not a valid integer"),
    ],
)
def test_jobs_that_are_none(tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, said: str) -> None:
    file = tmp_path / "job.json"
    file.write_text(text)
    assert health(tmp_path, GPU, "--job", file) == 2
    assert said in capsys.readouterr().err


def test_the_job_of_ci_fails_as_its_page_says(tmp_path: Path) -> None:
    """The line of docs/ci.md, in the shell that runs it there: 1 for a check that failed, 2 for no trace."""
    (line,) = re.findall(r"- run: (tracegraph health .*)", (ROOT / "docs" / "ci.md").read_text())
    file = tmp_path / "logs" / "rank_0" / "trace.json.gz"
    file.parent.mkdir(parents=True)

    def ended(thresholds: str, content: bytes) -> tuple[int, list[str | None]]:
        written(tmp_path, thresholds)
        file.write_bytes(content)
        found = subprocess.run(
            ["bash", "-ec", line],
            cwd=tmp_path,
            env={**IN_CI, "TRACEGRAPH_WORKSPACE": str(tmp_path / "workspace")},
            check=False,
        )
        shown = (tmp_path / "health.xml").read_text()
        cases = ElementTree.fromstring(shown).iter("testcase") if shown else ()
        return found.returncode, [one.get("name") for one in cases if one.find("failure") is not None]

    assert ended("{}", GPU.read_bytes()) == (1, ["gpu-idle", "loader-stall"])
    assert ended(KEPT, GPU.read_bytes()) == (0, [])
    assert ended(KEPT, b"{}") == (2, [])
