"""`tracegraph what-if` on kept runs: no server is needed, and none is started."""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import tiny
from tiny import call, event, kernel, step

from tracegraph.base.progress import silent
from tracegraph.cli.main import main
from tracegraph.ingest.integrity_findings import Integrity
from tracegraph.ingest.pipeline import ingest_run
from tracegraph.ingest.ranks.rank_part import build_checked
from tracegraph.ingest.readers import read_trace
from tracegraph.ingest.tables.graph import RunFacts, add_run, build_graph
from tracegraph.store.workspace import Workspace, open_workspace
from tracegraph.workbench import Workbench

EXAMPLES = Path(__file__).parents[2] / "examples" / "traces"
RUN, OLDER = "tiny-what-if", "older"
HOSTILE = "evil\x1b[2J\u202e\nsecond [bold]line"
CREATED = "2026-01-01T00:00:00.000000+00:00"
Ask = Callable[..., tuple[int, str, str]]

ROWS = [
    step(1, 0, 20),
    event(HOSTILE, 0, 3),
    call("launch", 5, 10, 1),
    kernel("gemm", 12, 50, 1),
    step(2, 20, 100),
    event("op", 20, 40),
    call("launch", 40, 45, 2),
    kernel("gemm", 50, 130, 2),
]


def keep(workspace: Workspace, run: str, created: str, *rows: tiny.Row) -> None:
    trace, integrity = tiny.trace(*rows), Integrity("tiny.json")
    model = build_checked(trace, integrity)
    tables = build_graph(trace, model, run)
    add_run(tables, model, RunFacts(CREATED, "0", integrity.rows()))
    workspace.save_run(tables, {"run": run, "created": created})


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """A workspace of its own, without a server."""
    workspace = open_workspace(tmp_path_factory.mktemp("what-if"))
    keep(workspace, RUN, "2", *ROWS)
    keep(workspace, OLDER, "1", event("only", 0, 10), event("op", 10, 40))
    return workspace


@pytest.fixture(autouse=True)
def no_server(kept: Workspace) -> Iterator[None]:
    yield
    assert not kept.server_file.exists()
    assert not kept.has_database()


@pytest.fixture
def ask(kept: Workspace, capsys: pytest.CaptureFixture[str]) -> Ask:
    def run(*arguments: str) -> tuple[int, str, str]:
        code = main(["--workspace", str(kept.root), "what-if", *arguments])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


def as_json(ask: Ask, *arguments: str) -> dict[str, Any]:
    code, out, err = ask(*arguments, "--format", "json")
    assert (code, err) == (0, "")
    found: dict[str, Any] = json.loads(out)
    return found


def test_json(ask: Ask) -> None:
    found = as_json(ask, "--remove", "name=gemm", "--scale", "0.5", "name=op", "--overhead", "none")
    # The launch of the second step ends at 35.
    gain = {"base_ns": 130_000, "predicted_ns": 90_000, "gain_ns": 40_000, "speedup": 130 / 90}
    following = found.pop("following")
    assert found == {
        "run": RUN,
        "change": {
            "remove": ["name=gemm"],
            "scale": [{"factor": 0.5, "selector": "name=op"}],
            "remove_wait": [],
            "assume": [],
            "fixes": [],
            "depth": 2,
            "workers": 1,
        },
        "step": None,
        "window_ns": [0, 130_000],
        "basis": "naive",
        **gain,
        "naive": gain,
        "overhead": {"method": "none", "ns_per_event": {}, "total_ns": 0},
        "inferred_share": 0.0,
        "assumptions": [],
        "removed_ns": 128_000,
        "unrecorded_ns": 0,
        "range": {
            "gain_low_ns": 36_000,
            "gain_high_ns": 44_000,
            "speedup_low": 130 / 94,
            "speedup_high": 130 / 86,
            "wide": None,
        },
        "notes": [],
        "matched": [
            {"name": "op", "count": 1, "own_ns": 20_000},
            {"name": "gemm", "count": 2, "own_ns": 118_000},
        ],
    }
    assert following[0] == {"name": "ProfilerStep#2", "category": "user_annotation", "duration_ns": 55_000}


@pytest.mark.parametrize(
    "question",
    [
        ("--remove", "under=ProfilerStep#1"),
        ("--scale", "3", "name=op"),
        ("--remove-wait", "launch"),
        ("--remove", "name=gemm", "--step", "1"),
        ("--remove", "category=user_annotation", "--overhead", "250"),
        ("--remove", "name=only", "--run", OLDER),
    ],
)
def test_what_holds_of_every_answer(ask: Ask, question: tuple[str, ...]) -> None:
    found = as_json(ask, *question)
    assert found["gain_ns"] == found["base_ns"] - found["predicted_ns"]
    assert found["naive"]["gain_ns"] == found["naive"]["base_ns"] - found["naive"]["predicted_ns"]
    begin, end = found["window_ns"]
    assert found["naive"]["base_ns"] == end - begin
    assert found["speedup"] == found["base_ns"] / found["predicted_ns"]
    assert found["range"]["gain_low_ns"] <= found["gain_ns"] <= found["range"]["gain_high_ns"]
    assert found["range"]["speedup_low"] <= found["speedup"] <= found["range"]["speedup_high"]
    assert 0 <= found["inferred_share"] <= 1


def test_the_newest_run_or_one_by_its_name(ask: Ask) -> None:
    assert as_json(ask, "--remove", "name=op")["run"] == RUN
    older = as_json(ask, "--remove", "name=op", "--run", OLDER, "--overhead", "none")
    assert (older["run"], older["base_ns"], older["predicted_ns"]) == (OLDER, 40_000, 10_000)


def test_nothing_is_left(ask: Ask) -> None:
    found = as_json(ask, "--remove", "thread=1", "--run", OLDER, "--overhead", "none")
    assert (found["predicted_ns"], found["speedup"]) == (0, None)
    code, out, _ = ask("--remove", "thread=1", "--run", OLDER, "--overhead", "none")
    assert code == 0
    assert "40.000 µs become 0 ns" in out


def test_table(ask: Ask) -> None:
    code, out, err = ask("--remove", "name=gemm", "--step", "1", "--overhead", "none")
    assert (code, err) == (0, "")
    lines = [" ".join(line.split()) for line in out.splitlines()]
    assert lines[0] == f"{RUN}: step 1 without name=gemm"
    assert "predicted 50.000 µs become 20.000 µs: 2.5 times as fast, gain 30.000 µs, as recorded" in lines
    assert "range 2.17 to 2.94 times as fast, gain 27.000 µs to 33.000 µs" in lines
    assert "recording cost of recording: none taken off" in lines
    assert "gemm 2 118.000 µs" in lines


def test_hostile_names(ask: Ask, tmp_path: Path) -> None:
    for question in (
        ("--remove", f"name={HOSTILE}", "-o", str(tmp_path / HOSTILE)),
        ("--scale", "2", "name=evil*", "-o", str(tmp_path / HOSTILE)),
        ("--remove", f"name={HOSTILE}s"),
        ("--remove", HOSTILE),
        ("--remove", f"{HOSTILE}=x"),
        ("--remove-wait", HOSTILE),
        ("--run", HOSTILE, "--remove", "name=op"),
    ):
        _, out, err = ask(*question)
        assert out + err
        assert not re.search("[\x1b\u202e\x00-\x09]", out + err)
        assert "\nsecond" not in out + err
    names = [row["name"] for row in as_json(ask, "--remove", "name=evil*")["matched"]]
    assert names == [HOSTILE]


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ((), "nothing is changed; say what: --remove, --scale, --remove-wait, --no-stragglers, "),
        (
            ("--remove", "name=gmem"),
            "'name=gmem' matches nothing: 'gmem' is no name in the run; near it are: gemm",
        ),
        (("--remove", "gemm"), "'gemm' selects nothing: 'gemm' is no condition; write key=value"),
        (("--remove", "nam=gemm"), "'nam=gemm': there is no key 'nam'; did you mean name?"),
        (("--remove", "step=one"), "'step=one': step is a number, not 'one'"),
        (("--remove", "stream=9"), "'stream=9' matches no work of the run"),
        (("--remove", "name=gemm", "--step", "9"), "the run has no step 9; present: 1, 2"),
        (
            ("--remove", "name=op", "--step", "1", "--run", OLDER),
            "the run has no step 1; its trace has no steps",
        ),
        (("--no-stragglers",), "no-stragglers is about several ranks, and those of this run share no"),
        (("--remove-wait", "GIL"), "'GIL' is no gap of the run; name one of: "),
        (("--scale", "-1", "name=gemm"), "-1.0 is no factor; give one of 0 or more"),
        (("--scale", "nan", "name=gemm"), "nan is no factor; give one of 0 or more"),
        (("--scale", "half", "name=gemm"), "Invalid value for '--scale': 'half' is not a valid float"),
        (("--gather-ahead", "1"), "no all-gather of this run is asked for inside annotations or frames of"),
        (("--gather-ahead", "many"), "'many' is no number; give --gather-ahead N[,SEL], as --gather-ahead 1"),
        (("--bucket", "8,rank=0"), "'8,rank=0' is no number; give --bucket MB, as --bucket 25"),
        (("--remove", "name=gemm", "--overhead", "some"), "'some' is no cost of recording"),
        (("--remove", "name=gemm", "--run", "tiny"), "this workspace keeps no run named 'tiny'"),
        (
            ("--remove", "name=gemm", "-o", "/dev/null/folder"),
            "cannot write into /dev/null/folder: Not a directory",
        ),
    ],
)
def test_what_cannot_be_asked(ask: Ask, arguments: tuple[str, ...], line: str) -> None:
    code, out, err = ask(*arguments)
    assert (code, out) == (2, "")
    assert line in err
    assert len(err.splitlines()) == (4 if "Usage: " in err else 1)


def test_without_a_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--workspace", str(tmp_path), "what-if", "--remove", "name=a"]) == 2
    assert capsys.readouterr().err.startswith("tracegraph: no run is stored; ingest a trace first")


@pytest.mark.parametrize(("most", "expected"), [("89999", 1), ("90000", 0), ("1000000", 0), ("-1", 1)])
def test_fail_above(ask: Ask, most: str, expected: int) -> None:
    question = ("--remove", "name=gemm", "--scale", "0.5", "name=op", "--overhead", "none")
    for form in ("table", "json"):
        code, out, err = ask(*question, "--fail-above", most, "--format", form)
        assert (code, err) == (expected, "")
        assert out


def read_back(file: Path) -> list[dict[str, Any]]:
    integrity = Integrity(file.name)
    found: list[dict[str, Any]] = read_trace(file, integrity).events.to_pylist()
    assert [finding.code for finding in integrity if finding.level == "error"] == []
    return found


def test_the_predicted_timeline_is_a_trace(ask: Ask, tmp_path: Path) -> None:
    folder = tmp_path / "made" / "on demand"
    question = ("--remove", "name=gemm", "--scale", "0.5", "name=op", "--overhead", "none")
    code, out, err = ask(*question, "-o", str(folder))
    assert (code, err) == (0, "")
    assert " ".join(out.split()).endswith(": what_if.json, predicted.json.gz")
    assert sorted(path.name for path in folder.iterdir()) == ["predicted.json.gz", "what_if.json"]
    assert json.loads((folder / "what_if.json").read_text()) == as_json(ask, *question)
    rows = read_back(folder / "predicted.json.gz")
    assert [(row["name"], row["category"], row["start_ns"] / 1000, row["end_ns"] / 1000) for row in rows] == [
        ("ProfilerStep#1", "user_annotation", 0, 20),
        (HOSTILE, "cpu_op", 0, 3),
        ("launch", "cuda_runtime", 5, 10),
        ("ProfilerStep#2", "user_annotation", 20, 90),
        ("op", "cpu_op", 20, 30),
        ("launch", "cuda_runtime", 30, 35),
    ]


@pytest.mark.parametrize(
    ("name", "removed"),
    [
        ("simulated_gpu", "category=kernel"),
        ("slow_loader", "under=*decode*"),
        ("train_small", "under=aten::mm"),
    ],
)
def test_the_predicted_timeline_of_an_example(name: str, removed: str, tmp_path: Path) -> None:
    workspace = open_workspace(tmp_path / "workspace")
    tables, manifest = ingest_run([EXAMPLES / f"{name}.json.gz"], name, silent)
    workspace.save_run(tables, manifest)
    with Workbench.open(workspace=workspace.root, progress=False) as bench:
        found = bench.kept_run(name).what_if(removed)
        found.save(tmp_path / "out")
    rows = read_back(tmp_path / "out" / "predicted.json.gz")
    gone = {one.name for one in found.matched}
    assert gone.isdisjoint(row["name"] for row in rows)
    assert rows
    lanes = found.graph.lanes.frame
    matters = {(row.pid, row.tid) for row in lanes[lanes["matters"]].itertuples()}
    last = max(row["end_ns"] for row in rows if (row["pid"], row["tid"]) in matters)
    assert last - found.graph.window.start == found.prediction.naive.predicted_ns
    assert found.prediction.naive.gain_ns > 0
