"""summary.json, the CSV files and the folder that they are written into."""

import csv
import io
import json
from pathlib import Path

import pandas as pd
import pytest
from report_data import ALTERNATIVES, NEAR, ROWS, WAITS, WHAT_NEXT, compared, make_findings

from tracegraph.base.errors import InputError
from tracegraph.base.progress import silent
from tracegraph.queries.run_part import WHOLE
from tracegraph.workbench.diff.compare import write_difference
from tracegraph.workbench.findings.findings import Source
from tracegraph.workbench.output.csv_files import rows_csv, write_path_csv
from tracegraph.workbench.output.folder import named_folder, write_folder
from tracegraph.workbench.output.summary import summarise, summary_text

FILES = {
    "report.html",
    "my_code.csv",
    "hotspots.csv",
    "off_path.csv",
    "gaps.csv",
    "near_critical.csv",
    "critical_path.csv",
    "critical_path.svg",
    "summary.json",
    "waiting.csv",
    "operators.csv",
    "user_annotations.csv",
}


def path_csv(path: pd.DataFrame) -> str:
    written = io.BytesIO()
    write_path_csv(path, written)
    return written.getvalue().decode()


def test_path_rows() -> None:
    lines = path_csv(make_findings().path).splitlines()
    assert lines[0] == (
        "position,rank,lane,source_index,name,category,start_ns,end_ns,"
        "dependency,mechanism,evidence,confidence,lag_ns,margin_ns,label"
    )
    assert lines[1] == "0,0,0,3,ProfilerStep#5,user_annotation,1000,1200,root,,,1.0,0,,ProfilerStep#5"
    assert lines[4].endswith("INVOCATION,correlation,recorded,1.0,0,,launch latency")
    assert len(lines) == 1 + len(ROWS)


def test_more_columns_come_last() -> None:
    path = make_findings().path
    path.insert(2, "lane_name", "main")
    assert path_csv(path).splitlines()[0].endswith("confidence,lag_ns,lane_name,margin_ns,label")


def test_hotspot_rows() -> None:
    lines = rows_csv(make_findings().hotspots).splitlines()
    assert (
        lines[0]
        == "name,category,duration_ns,proportion,prop_in_total,count,accumulated_ns,accumulated_place,label"
    )
    assert lines[1] == "gemm<float>,kernel,900,0.5454545454545454,0.45,2,1800,1,gemm<float>"


def test_the_name_is_exact_and_the_label_readable() -> None:
    name = "void at::native::gemm<float>(float*)"
    text = path_csv(make_findings([(0, 1, name, "kernel", 0, 10, "root", "", "")]).path)
    row = next(csv.DictReader(io.StringIO(text, newline="")))
    assert (row["name"], row["label"]) == (name, "gemm<float>")


@pytest.mark.parametrize(
    ("name", "cell"),
    [
        ("=cmd|' /C calc'!A0", "'=cmd|' /C calc'!A0"),
        ('a,"b"\nc\rd', 'a,"b"\nc\rd'),
        ("\u202e", "\u202e"),
        ("a\0b", "a\u2400b"),
    ],
)
def test_names_survive_csv_and_are_no_formulas(name: str, cell: str) -> None:
    text = path_csv(make_findings([(0, 1, name, "cpu_op", 0, 10, "root", "", "")]).path)
    row = next(csv.DictReader(io.StringIO(text, newline="")))
    assert (row["name"], row["label"]) == (cell, cell)
    assert row["lag_ns"] == "0"


def test_summary() -> None:
    summary = summarise(make_findings())
    path = summary.pop("critical_path")
    assert path == {
        "length_ns": 2000,
        "stretches": 9,
        "explained_share": 0.825,
        "unknown_share": 0.0,
        "untraced_share": 0.1,
        "untraced_cpu_share": 0.1,
        "unclear_share": 0.2,
        "inferred_share": 0.1,
        "near_tie_share": 0.0,
        "near_ties": 0,
        "by_category_ns": {
            "kernel": 900,
            "gap": 350,
            "cpu_op": 300,
            "cuda_runtime": 250,
            "user_annotation": 200,
        },
        "by_dependency_ns": {"INVOCATION": 900, "SEQUENTIAL": 700, "SYNCHRONIZATION": 200, "root": 200},
        "by_gap_ns": {"untraced CPU time": 200, "launch latency": 100, "waiting for GPU": 50},
    }
    advised = summary.pop("recommendations")
    assert isinstance(advised, list)
    assert [(one["rule"], round(one["share"], 3)) for one in advised[:2]] == [
        ("top-kernel", 0.45),
        ("synchronization", 0.1),
    ]
    assert all(one["share"] >= one["threshold"] for one in advised)
    sections = summary.pop("sections")
    assert isinstance(sections, dict)
    filled = [name for name, tables in sections.items() if tables]
    assert filled == ["my_code", "hotspots", "gaps", "waiting", "off_path", "near_critical"]
    assert sections["waiting"] == [WAITS.assign(label=WAITS["name"]).to_dict("records")]
    verdict = summary.pop("verdict")
    assert isinstance(verdict, dict)
    assert (verdict["bottleneck"], verdict["share"], verdict["gains"]) == ("gpu", 0.45, [])
    assert summary == {
        "run": "tiny-0a1b2c3d",
        "window_ns": [1000, 3000],
        "duration_ns": 2000,
        "events": 9,
        "nodes": 25,
        "nodes_by_label": {"Event": 9, "Segment": 12, "Run": 1},
        "relationships": {"SEQUENTIAL": 10, "INVOCATION": 2},
        "ranks": 1,
        "integrity": [],
        "timings_s": {"read": 0.1},
        "versions": {"tracegraph": "0.1.0"},
        "step": 5,
        "phase": None,
        "occurrence": None,
        "gpu_busy_share": 0.45,
        "gpu_shares": {"computing": 0.45, "transferring": 0.0, "waiting": 0.0, "idle": 0.55},
        "cross_thread": "evidence",
        "alternatives": [],
        "what_next": [],
        "potential": [],
        "fixes": [],
        "bounds": {},
        "waits": WAITS.to_dict("records"),
        "steps": None,
    }
    assert json.loads(summary_text(make_findings()))["duration_ns"] == 2000


def test_what_if_is_summarised_for_a_run() -> None:
    summary = json.loads(summary_text(make_findings(part=WHOLE)))
    assert summary["alternatives"] == list(ALTERNATIVES)
    assert summary["what_next"] == list(WHAT_NEXT)
    assert summary["waits"][0]["duration_ns"] == 700


def test_steps_are_summarised_and_listed(tmp_path: Path) -> None:
    findings = make_findings(**compared(1000, 1020, 980, 1010, 1800))
    assert summarise(findings)["steps"] == {
        "count": 5,
        "median_ns": 1010,
        "spread_ns": 15,
        "shortest_ns": 980,
        "longest_ns": 1800,
        "typical": 4,
        "outliers": (5,),
        "types": (),
    }
    write_folder(findings, tmp_path, silent)
    with (tmp_path / "steps.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert [row["length_ns"] for row in rows] == ["1000", "1020", "980", "1010", "1800"]
    assert [row["outlier"] for row in rows] == ["False"] * 4 + ["True"]
    assert rows[0]["hotspot"] == "aten::op1"


def test_what_is_nearly_critical_is_listed() -> None:
    lines = rows_csv(NEAR.assign(name="=1+1")).splitlines()
    assert lines == [
        "name,category,lane,lane_name,slack_ns,duration_ns,share,count,label",
        "'=1+1,cpu_op,1,thread 12 (autograd),40,120,0.06,3,'=1+1",
    ]


def test_old_step_names_are_untraced_python() -> None:
    rows = [
        (0, 1, "ProfilerStep#3", "cpu_op", 0, 40, "root", "", ""),
        (0, 2, "a", "cpu_op", 40, 100, "", "", ""),
    ]
    assert make_findings(rows).untraced_share == 0.4


def test_folder_without_the_source_has_all_but_the_overlay(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "report"
    folder.mkdir(parents=True)
    (folder / "notes.txt").write_text("mine")
    (folder / "overlay.json.gz").write_bytes(b"of an earlier report")
    (folder / "summary.json").write_text("of an earlier report")
    written = write_folder(make_findings(), folder, silent)
    assert set(written.files) == FILES
    assert written.left_out["steps.csv"] == "this report is on step 5 only; leave out --step"
    assert written.left_out["overlay.json.gz"].endswith("is gone since it was ingested: tiny.json")
    assert {path.name for path in folder.iterdir()} == FILES | {"notes.txt"}
    assert (folder / "notes.txt").read_text() == "mine"
    assert json.loads((folder / "summary.json").read_text())["run"] == "tiny-0a1b2c3d"


def test_failing_writer_leaves_the_folder_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "summary.json").write_text("of an earlier report")
    broken = make_findings(gaps=None)
    with pytest.raises((AttributeError, TypeError)):
        write_folder(broken, tmp_path, silent)
    assert [path.name for path in tmp_path.iterdir()] == ["summary.json"]
    assert (tmp_path / "summary.json").read_text() == "of an earlier report"


def test_folder_that_is_a_file_is_an_input_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=r"cannot write into .*file.*--output"):
        write_folder(make_findings(), tmp_path / "file", silent)


def test_changed_source_is_told(tmp_path: Path) -> None:
    trace = tmp_path / "trace.json"
    trace.write_text("[]")
    findings = make_findings()
    details = type(findings.details)(
        **{**vars(findings.details), "sources": (Source(str(trace), "00", 0, 0),)}
    )
    written = write_folder(make_findings(details=details), tmp_path / "out", silent)
    assert "is not the file that was ingested" in written.left_out["overlay.json.gz"]


def test_an_earlier_report_goes_and_other_files_stay(tmp_path: Path) -> None:
    write_folder(make_findings(), tmp_path, silent)
    for name in ("rank_waits.csv", "overlay_rank3.json.gz", "mine.csv", "overlay_rank3.json"):
        (tmp_path / name).write_text("")
    done = write_folder(make_findings(), tmp_path, silent)
    assert {path.name for path in tmp_path.iterdir()} == {*done.files, "mine.csv", "overlay_rank3.json"}


def test_what_no_report_wrote_stays(tmp_path: Path) -> None:
    for name, content in (("rank_waits.csv", ""), ("summary.json", '{"run": "mine"}')):
        (tmp_path / name).write_text(content)
    write_folder(make_findings(), tmp_path, silent)
    assert (tmp_path / "rank_waits.csv").exists()


def test_an_earlier_difference_goes(tmp_path: Path) -> None:
    rows = pd.DataFrame({"name": ["a"]})
    numbers = {"a": {}, "b": {}, "diff_ns": 1, "verdict": {}, "notes": ["n"], "../up": [], "events": [{}]}
    write_difference("t", [], {"events": rows, "path": rows}, {**numbers, "path": [{}]}, tmp_path, silent)
    (tmp_path / "notes.csv").write_text("mine")
    write_difference("t", [], {"events": rows}, numbers, tmp_path, silent)
    assert {path.name for path in tmp_path.iterdir()} == {"diff.html", "diff.json", "events.csv", "notes.csv"}


@pytest.mark.parametrize("name", ["", "  "])
def test_a_folder_without_a_name_is_refused(name: str) -> None:
    with pytest.raises(InputError, match="name of the folder is empty"):
        named_folder(name)
