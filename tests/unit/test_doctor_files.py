"""`tracegraph doctor FILE`: what cannot be relied on, without a database."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from tiny_job import rows_of_rank, write_trace

from tracegraph.cli.main import main
from tracegraph.ingest.integrity_findings import Integrity
from tracegraph.ingest.ranks.rank_part import understand
from tracegraph.ingest.readers import read_trace
from tracegraph.ingest.recording_advice import OF_JOB, RECORDINGS, unanswered
from tracegraph.store.managed.java import java
from tracegraph.workbench import progress_bar

EVENT = '{"ph": "X", "cat": "cpu_op", "name": "a", "pid": 1, "tid": 1, "ts": %s, "dur": 1.5}'
WHOLE = f"[{EVENT % 1.5}, {EVENT % 4.5}]"
CUT = WHOLE[:-20]
OTHER = '{"nodes": []}'


@pytest.fixture(autouse=True)
def no_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(java, "run_admin", pytest.fail)


def doctor(tmp_path: Path, *arguments: object) -> int:
    return main(["--workspace", str(tmp_path / "workspace"), "doctor", *map(str, arguments)])


@pytest.mark.parametrize(
    ("text", "code", "begin", "contains"),
    [
        (WHOLE, 0, "A report can stand for all of its time.", "2 events, 1 thread, 0 streams"),
        (CUT, 1, "Not to be relied on: a report cannot stand for", "unknown share  json_cut"),
    ],
)
def test_what_cannot_be_relied_on_comes_first(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, code: int, begin: str, contains: str
) -> None:
    path = tmp_path / "t.json"
    path.write_text(text)
    assert doctor(tmp_path, path) == code
    out = capsys.readouterr().out
    # the name may be longer than a line
    assert begin in out[: out.index("It holds")]
    assert contains in out


def test_an_unusable_file_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "t.json"
    path.write_text(OTHER)
    assert doctor(tmp_path, path) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert "execution trace" in captured.err


def test_several_files_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    paths = [tmp_path / name for name in ("whole.json", "cut.json", "other.json")]
    for path, text in zip(paths, (WHOLE, CUT, OTHER), strict=True):
        path.write_text(text)
    assert doctor(tmp_path, *paths, "--format", "json") == 2
    captured = capsys.readouterr()
    rows = json.loads(captured.out)
    assert [row["usable"] for row in rows] == [True, True, False]
    assert rows[1]["findings"][0]["level"] == "error"
    assert "1 of 3 files cannot be used" in captured.err


@pytest.mark.parametrize(
    ("limit", "code", "message"),
    [
        ("events=1", 2, "holds more than 1 entries"),
        ("unpacked=1KiB", 0, ""),
        ("unpacked=10", 2, "more than 10 bytes"),
        ("threads=1_000", 0, ""),
        ("colour=3", 2, "there is no limit 'colour'"),
        ("events", 2, "--limit events is no limit"),
        ("events=0", 2, "--limit events=0 is no limit"),
        ("events=-1", 2, "--limit events=-1 is no limit"),
        ("unpacked=3PB", 2, "--limit unpacked=3PB is no limit"),
    ],
)
def test_limits(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], limit: str, code: int, message: str
) -> None:
    path = tmp_path / "t.json"
    path.write_text(WHOLE)
    assert doctor(tmp_path, path, "--limit", limit) == code
    assert message in capsys.readouterr().err


def test_hostile_names_stay_on_their_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a\nb\x1b[31m\u202e[bold]<b>.json"
    path.write_text(WHOLE.replace('"a"', '"\\u001b[31m\\n\u202e[bold]"').replace("1.5}", "-1}"))
    assert doctor(tmp_path, path) == 2
    assert doctor(tmp_path, path, path) == 2
    captured = capsys.readouterr()
    for text in (captured.out, captured.err):
        assert "\x1b" not in text
        assert "\u202e" not in text
        assert "[bold]<b>" in text.replace("\n", "")


def test_files_of_several_ranks_are_joined_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    for rank, work_us in enumerate((100, 60)):
        write_trace(logs / f"rank{rank}.json", rows_of_rank(work_us), None)
    assert doctor(tmp_path, logs) == 0
    out = capsys.readouterr().out
    assert out.index("It holds rank 0") < out.index("It holds rank 1") < out.index("All ranks together")
    assert "2 ranks met in 3 operations." in out
    assert doctor(tmp_path, logs, "--format", "json", "--rank-of", "rank1.json=5") == 0
    rows = json.loads(capsys.readouterr().out)
    assert [row["file"] for row in rows][-1] == "all ranks"
    assert rows[-1]["ranks"] == [0, 5]
    assert rows[1]["rank"] == 5


def test_files_that_are_not_of_one_job_are_told_of_all_the_same(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [write_trace(tmp_path / f"{name}.json", rows_of_rank(len(name)), 0) for name in ("a", "bc")]
    assert doctor(tmp_path, *files) == 0
    assert "Not the ranks of one job" in capsys.readouterr().out


def test_it_says_how_far_it_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = [write_trace(tmp_path / f"rank{k}.json", rows_of_rank(100 + k), k) for k in range(3)]
    monkeypatch.setattr(progress_bar, "_OFTEN_S", 0.0005)
    assert doctor(tmp_path, *paths, "--format", "json") == 0
    captured = capsys.readouterr()
    assert len(json.loads(captured.out)) == 4
    told = captured.err.splitlines()
    assert any(re.fullmatch("reading the files of all ranks: [0-3] of 3", line) for line in told)
    assert main(["--workspace", str(tmp_path / "workspace"), "--quiet", "doctor", *map(str, paths)]) == 0
    assert capsys.readouterr().err == ""


EXAMPLES = Path(__file__).parents[2] / "examples" / "traces"


@pytest.mark.parametrize(
    ("name", "cannot"),
    [
        ("two_threads", ["with_stack", "ProfilerActivity", "profile_memory"]),
        ("simulated_gpu", ["with_stack", "record_shapes", "profile_memory"]),
    ],
)
def test_what_a_file_cannot_answer(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, cannot: list[str]
) -> None:
    doctor(tmp_path, EXAMPLES / f"{name}.json.gz", "--format", "json")
    (found,) = json.loads(capsys.readouterr().out)
    assert [re.findall(r"\w+", record)[0] for _, record in found["unanswered"]] == cannot


def test_the_page_on_recording_has_each_question() -> None:
    page = (EXAMPLES.parents[1] / "docs" / "record.md").read_text(encoding="utf-8")
    rows = [f"| {one.question} | {one.record} | {one.without} |" for one in (*RECORDINGS, OF_JOB)]
    assert "\n".join(rows) in page


def test_the_report_of_another_profiler_is_not_told_options_of_pytorch() -> None:
    path, integrity = EXAMPLES / "simulated_gpu.json.gz", Integrity("t")
    part = understand(read_trace(path, integrity), integrity)
    assert unanswered(part) != []
    versions = {**part.file.versions, "nsight_version": "2026.2"}
    assert unanswered(replace(part, file=replace(part.file, versions=versions))) == []
