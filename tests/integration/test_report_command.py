"""`tracegraph report`, `ingest`, `render` and `doctor` on real traces and a real server."""

import csv
import gzip
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tracegraph.cli.main import main
from tracegraph.store.connection import Database
from tracegraph.store.workspace import Workspace
from tracegraph.workbench.sections.section import all_sections

TRACES = Path(__file__).parents[2] / "examples" / "traces"
GPU = TRACES / "simulated_gpu.json.gz"
CPU = TRACES / "two_threads.json.gz"
OTHERS = [TRACES / "train_small.json.gz", TRACES / "slow_loader.json.gz"]
FILES = {
    "report.html",
    "hotspots.csv",
    "gaps.csv",
    "near_critical.csv",
    "my_code.csv",
    "steps.csv",
    "critical_path.csv",
    "critical_path.svg",
    "summary.json",
    "overlay.json.gz",
}
Run = Callable[..., tuple[int, str, str]]
Stored = Callable[[str], str]
pytestmark = pytest.mark.usefixtures("database")


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


@pytest.mark.parametrize(
    "trace", [GPU, *(pytest.param(trace, marks=pytest.mark.exhaustive) for trace in (CPU, *OTHERS))]
)
def test_files_agree_with_each_other(trace: Path, tmp_path: Path, tracegraph: Run) -> None:
    code, out, _ = tracegraph("report", trace, "-o", tmp_path, "-v")
    assert code == 0
    written = {path.name for path in tmp_path.iterdir()}
    assert written >= FILES
    assert written - FILES <= {f"{name}.csv" for name in all_sections()}
    summary, path = (
        json.loads((tmp_path / "summary.json").read_text()),
        rows_of(tmp_path / "critical_path.csv"),
    )
    edges = [int(path[0]["start_ns"]), *(int(row["end_ns"]) for row in path)]
    assert [int(row["start_ns"]) for row in path] == edges[:-1]
    assert [edges[0], edges[-1]] == summary["window_ns"]
    assert path[0]["dependency"] == "root"
    assert "tiles the window" in out
    listed = rows_of(tmp_path / "hotspots.csv")
    assert 0 < len(listed) <= 10
    assert float(listed[0]["prop_in_total"]) == int(listed[0]["duration_ns"]) / summary["duration_ns"]


def test_counts_in_the_database_are_those_of_the_summary(
    tmp_path: Path, tracegraph: Run, database: Database, stored_example: Stored
) -> None:
    run = {"run": stored_example("simulated_gpu")}
    assert tracegraph("report", "--run", run["run"], "-o", tmp_path)[0] == 0
    summary = json.loads((tmp_path / "summary.json").read_text())
    node = "(n {run: $run})"
    labels = database.read(f"MATCH {node} UNWIND labels(n) AS label RETURN label, count(*) AS count", run)
    found = dict(zip(labels["label"], labels["count"], strict=True)) | {"Run": 1}
    assert found == {name: count for name, count in summary["nodes_by_label"].items() if count}
    types = database.read(f"MATCH {node}-[r]->() RETURN type(r) AS type, count(*) AS count", run)
    assert dict(zip(types["type"], types["count"], strict=True)) == {
        name: count for name, count in summary["relationships"].items() if count
    }


def test_hotspot_options(tmp_path: Path, tracegraph: Run) -> None:
    assert tracegraph("report", "-i", GPU, "--top_functions", "3", "-o", tmp_path)[0] == 0
    listed = rows_of(tmp_path / "hotspots.csv")
    assert len(listed) == 3
    assert sum(float(row["proportion"]) for row in listed) == pytest.approx(1)


def test_step_cuts_the_window(
    tmp_path: Path, tracegraph: Run, database: Database, stored_example: Stored
) -> None:
    run = stored_example("simulated_gpu")
    steps = database.read(
        "MATCH (s:Step {run: $run}) RETURN s.number AS n, s.start_ns AS a, s.window_end_ns AS b", {"run": run}
    )
    number, start, end = (int(value) for value in steps.iloc[1])
    assert tracegraph("report", "--run", run, "--step", number, "-o", tmp_path)[0] == 0
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert (summary["step"], summary["window_ns"]) == (number, [start, end])
    assert rows_of(tmp_path / "critical_path.csv")[0]["start_ns"] == str(start)
    assert summary["steps"] is None
    assert (summary["alternatives"], summary["what_next"]) == ([], [])
    assert not (tmp_path / "steps.csv").exists()
    code, _, err = tracegraph("report", "--run", run, "--step", "999")
    assert code == 2
    assert f"no step 999; present: {', '.join(map(str, sorted(steps['n'])))}" in err


def test_the_policy_between_threads_is_chosen_at_ingest(tmp_path: Path, tracegraph: Run) -> None:
    code, out, _ = tracegraph("ingest", CPU, "--cross-thread", "serialise")
    assert code == 0
    name = out.splitlines()[0].removeprefix("run ")
    assert name.endswith("-serialise")
    for options in ((), ("--cross-thread", "serialise")):
        assert tracegraph("report", "--run", name, "-o", tmp_path, *options)[0] == 0
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert (summary["run"], summary["cross_thread"]) == (name, "serialise")
    assert [row["assumption"] for row in summary["alternatives"]] == [
        "serialise",
        "evidence",
        "none",
        "recorded only",
    ]
    assert summary["alternatives"][0]["by_category_ns"] == summary["critical_path"]["by_category_ns"]
    longest = rows_of(tmp_path / "hotspots.csv")[0]
    assert summary["what_next"][0]["name"] == longest["name"]
    code, out, err = tracegraph("report", "--run", name, "--cross-thread", "none")
    assert (code, out) == (2, "")
    assert "has the policy serialise, not none, which is chosen at ingest; give its trace" in err
    assert tracegraph("report", CPU, "--cross-thread", "none", "-o", tmp_path)[0] == 0
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert (summary["run"], summary["cross_thread"]) == (name.replace("serialise", "none"), "none")


def test_without_a_trace_the_newest_run_is_reported(tracegraph: Run) -> None:
    assert tracegraph("ingest", GPU, "--run", "newest")[0] == 0
    code, out, _ = tracegraph("report")
    assert code == 0
    assert out.startswith("Run newest: 1 rank, ")


@pytest.mark.parametrize("arguments", [("report", "-v"), ("-v", "report")])
def test_every_section_is_shown_with_v_before_or_after(
    arguments: tuple[str, ...], tracegraph: Run, stored_example: Stored
) -> None:
    run = stored_example("simulated_gpu")
    code, out, _ = tracegraph(*arguments, "--run", run)
    assert code == 0
    assert "\nHotspots on the critical path" in out
    assert "tiles the window" in out


def test_the_report_for_scripts_is_the_head_of_the_summary(
    tmp_path: Path, tracegraph: Run, stored_example: Stored
) -> None:
    run = stored_example("simulated_gpu")
    code, out, err = tracegraph("report", "--run", run, "--format", "json", "-o", tmp_path)
    assert code == 0
    head, summary = json.loads(out), json.loads((tmp_path / "summary.json").read_text())
    assert list(summary)[: len(head)] == list(head)
    assert {name: summary[name] for name in head} == head
    assert "sections" not in head
    assert "summary.json" in err


def test_the_report_for_a_pull_request_is_markdown(tracegraph: Run, stored_example: Stored) -> None:
    run = stored_example("simulated_gpu")
    code, out, _ = tracegraph("report", "--run", run, "--format", "md")
    assert code == 0
    assert out.startswith("### Run ")
    assert "| Load ahead | " in out


def test_a_runs_name_is_no_file(tracegraph: Run) -> None:
    assert tracegraph("ingest", GPU, "--run", "some run")[0] == 0
    code, _, err = tracegraph("report", "some run")
    assert code == 2
    assert "'some run' is no file, but a stored run; tracegraph report --run 'some run'" in err


def test_a_report_that_nobody_reads_to_its_end(
    tmp_path: Path, workspace: Workspace, stored_example: Stored
) -> None:
    command = [
        "--quiet",
        "--workspace",
        workspace.root,
        "report",
        "--run",
        stored_example("simulated_gpu"),
        "-o",
        tmp_path,
    ]
    with subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import sys; from tracegraph.cli.main import main; sys.exit(main())",
            *command,
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 0
    written = {path.name for path in tmp_path.iterdir()}
    assert written >= FILES
    assert written - FILES <= {f"{name}.csv" for name in all_sections()}


def test_ingest_prints_the_run_and_its_counts(tracegraph: Run) -> None:
    code, out, _ = tracegraph("ingest", GPU)
    assert code == 0
    assert out.startswith("run simulated_gpu-")
    assert "SEQUENTIAL " in out
    assert " nodes\n" in out
    assert not re.search(r"\b0\b", out.partition("\n")[2])


@pytest.mark.parametrize("options", [(), ("--quiet",)])
def test_ingest_says_what_is_lost(options: tuple[str, ...], tmp_path: Path, tracegraph: Run) -> None:
    cut = tmp_path / "cut.json"
    text = gzip.decompress(GPU.read_bytes())
    cut.write_bytes(text[: len(text) // 2])
    code, out, _ = tracegraph(*options, "ingest", cut)
    assert code == 0
    lines = out.splitlines()[3:]
    assert lines
    assert all(line.split(" ", 3)[0] in ("error", "warning") for line in lines)
    assert all(line.split(" ", 3)[2].replace(",", "").isdecimal() for line in lines)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("report", GPU, CPU), "does not say which rank it is"),
        (("report", GPU, "-i", CPU), "does not say which rank it is"),
        (("ingest", GPU, GPU), "hold the same"),
        (("report", "absent.json"), "does not exist"),
        (("report", "--run", "absent"), "there is no run named 'absent'"),
        (("report", GPU, "--top-functions", "0"), "0 is not in the range"),
        (("report", GPU, "--cross-thread", "all"), "'all' is not one of 'evidence', 'serialise', 'none'"),
        (("render", "critical-path", "-o", "picture.gif"), "names no picture format"),
    ],
)
def test_what_cannot_be_done_is_exit_2_in_one_line(
    arguments: tuple[object, ...], message: str, tracegraph: Run
) -> None:
    code, out, err = tracegraph(*arguments)
    assert (code, out) == (2, "")
    assert message in err
    assert "Traceback" not in err


def test_a_name_holds_one_content(tmp_path: Path, tracegraph: Run) -> None:
    assert tracegraph("ingest", GPU, "--run", "taken")[0] == 0
    assert tracegraph("ingest", GPU, "--run", "taken")[0] == 0
    code, _, err = tracegraph("report", CPU, "--run", "taken", "-o", tmp_path / "out")
    assert code == 2
    assert "'taken' holds another file" in err
    assert not (tmp_path / "out").exists()


@pytest.mark.exhaustive
def test_overlay_is_left_out_when_the_trace_changed(tmp_path: Path, tracegraph: Run) -> None:
    trace = tmp_path / "copy.json.gz"
    shutil.copy(GPU, trace)
    assert tracegraph("ingest", trace, "--run", "changed")[0] == 0
    trace.write_bytes(gzip.compress(b"[]"))
    code, out, _ = tracegraph("report", "--run", "changed", "-o", tmp_path / "out")
    assert code == 0
    assert "overlay.json.gz is left out: " in out
    written = {path.name for path in (tmp_path / "out").iterdir()}
    assert written & FILES == FILES - {"overlay.json.gz"}
    trace.unlink()
    _, out, _ = tracegraph("report", "--run", "changed", "-o", tmp_path / "out")
    assert "left out: the source file is gone since it was ingested: " in " ".join(out.split())
    assert "spelling" not in out


def test_pictures_of_everything(tmp_path: Path, tracegraph: Run, stored_example: Stored) -> None:
    run = stored_example("simulated_gpu")
    assert tracegraph("report", "--run", run, "-o", tmp_path)[0] == 0
    event = next(row for row in rows_of(tmp_path / "critical_path.csv") if row["category"] == "kernel")
    step = json.loads((tmp_path / "summary.json").read_text())["nodes_by_label"]["Step"]
    pictures = {
        "path.svg": ("critical-path", "--run", run),
        "path.pdf": ("critical-path", "--run", run, "--step", 2),
        "hotspot.png": ("hotspot", event["name"], "--run", run),
        "event.svg": ("event", event["source_index"], "--depth", 3, "--run", run),
        "step.svg": ("step", 2, "--run", run),
        "flame.svg": ("flame", "--run", run),
        "flame.pdf": ("flame", "--step", 2, "--run", run),
        "flame.png": ("flame", "--off-path", "--run", run),
        "flame.folded": ("flame", "--run", run),
        "flame.speedscope.json": ("flame", "--run", run),
        "cypher.dot": ("cypher", "MATCH p = (:Chain {run: $run})-[:LEADS_TO]->() RETURN p", "--run", run),
    }
    begins = {".svg": b"<?xml", ".pdf": b"%PDF", ".png": b"\x89PNG", ".dot": b"digraph"}
    begins |= {".folded": b"thread ", ".json": b'{"$schema"'}
    assert step >= 1
    for name, arguments in pictures.items():
        code, _, err = tracegraph("render", *arguments, "-o", tmp_path / name)
        assert (code, err) == (0, ""), name
        assert (tmp_path / name).read_bytes().startswith(begins[Path(name).suffix]), name
    assert "LEADS_TO" in (tmp_path / "cypher.dot").read_text()
    assert event["name"][:10] in (tmp_path / "event.svg").read_text()


def test_an_event_of_the_only_file_whatever_its_rank(tmp_path: Path, tracegraph: Run) -> None:
    trace = json.loads(gzip.decompress(GPU.read_bytes()))
    trace["distributedInfo"] = {"backend": "nccl", "rank": 1, "world_size": 2}
    (tmp_path / "rank1.json").write_text(json.dumps(trace))
    assert tracegraph("ingest", tmp_path / "rank1.json", "--run", "of-rank-1")[0] == 0
    kernel = "MATCH (k:Kernel {run: $run}) RETURN k.source_index AS index, k.rank AS rank LIMIT 1"
    cells = tracegraph("cypher", kernel, "--run", "of-rank-1", "--format", "csv")[1].split()[1].split(",")
    assert cells[1] == "1"
    picture = tmp_path / "event.svg"
    assert tracegraph("render", "event", cells[0], "--run", "of-rank-1", "-o", picture) == (0, "", "")
    assert picture.read_bytes().startswith(b"<?xml")
    assert tracegraph("runs", "delete", "of-rank-1")[0] == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("cypher", "RETURN 1"), "returns no node"),
        (("cypher", "CREATE (n:Event) RETURN n"), "only reading is allowed"),
        (("event", "123456789"), "there is no event 123456789 of rank 0 in run "),
        (("event", str(2**63)), "is not in the range"),
        (("hotspot", "no such name"), "is on the path"),
    ],
)
def test_pictures_that_cannot_be(
    arguments: tuple[str, ...], message: str, tmp_path: Path, tracegraph: Run, stored_example: Stored
) -> None:
    stored_example("simulated_gpu")
    code, _, err = tracegraph("render", *arguments, "-o", tmp_path / "picture.svg")
    assert code == 2
    assert message in err
    assert not (tmp_path / "picture.svg").exists()


def test_doctor_finds_everything_in_order(tracegraph: Run) -> None:
    code, out, err = tracegraph("doctor")
    assert (code, err) == (0, "")
    own = ("Python", "tracegraph", "workspace", "Java", "Neo4j", "fast start", "server")
    for part in (*own, "pictures", "Docker"):
        assert f" {part} " in out
    assert "fails" not in out


def test_doctor_names_an_unreachable_server(tracegraph: Run) -> None:
    code, out, err = tracegraph("--uri", "bolt://127.0.0.1:1", "doctor")
    assert code == 3
    assert "cannot be reached" in out
    assert "does not work" in err


def test_no_run_at_all_says_what_to_do(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--workspace", str(tmp_path), "report"]) == 2
    assert "no run is stored; give a trace: tracegraph report TRACE" in capsys.readouterr().err
