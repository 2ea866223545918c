"""`tracegraph query` and `tracegraph runs`, on a tiny run."""

import csv
import io
import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from graphs import GPU_STEP, stored

from tracegraph.queries.catalog import asking, find, queries
from tracegraph.queries.runs import fill
from tracegraph.store.connection import Database
from tracegraph.store.workspace import Workspace

RUN = "tiny-command"
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module", autouse=True)
def graph(database: Database) -> Iterator[None]:
    with stored(database, RUN, GPU_STEP.replace("2024-05-01", "2999-01-01")):
        yield


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        ((), ["A", "gemm", "B", "sync", "launch"]),
        (("-p", "limit=2"), ["A", "gemm"]),
        (("-p", "step=2"), ["gemm", "launch"]),
        (("--step", "2", "--rank", "0"), ["gemm", "launch"]),
        (("--run", RUN, "-p", "start_ns=60"), ["gemm", "B", "sync"]),
    ],
)
def test_window_is_filled_in(arguments: tuple[str, ...], names: list[str], tracegraph: Run) -> None:
    code, out, err = tracegraph("query", "hotspots", *arguments, "--format", "csv")
    assert (code, err) == (0, "")
    assert sorted(row["name"] for row in csv.DictReader(io.StringIO(out))) == sorted(names)


def test_the_rank_of_an_event_is_that_of_the_only_file(database: Database) -> None:
    graph = GPU_STEP.replace("rank: 0, file:", "rank: 3, file:")
    with stored(database, "tiny-rank", graph):
        assert (
            fill(asking(database), find("event_causes"), {"run": "tiny-rank", "source_index": 1})["rank"] == 3
        )


@pytest.mark.parametrize("name", ["critical_path", "gpu_busy", "runs", "lanes"])
def test_queries_need_no_parameters(name: str, tracegraph: Run) -> None:
    code, out, err = tracegraph("query", name, "--format", "json")
    assert (code, err) == (0, "")
    assert [*json.loads(out)[0]] == [column.name for column in queries()[name].columns]


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("hot",), "there is no query named 'hot'; tracegraph query --list lists all "),
        (
            ("hotspot",),
            "there is no query named 'hotspot'; did you mean hotspots? tracegraph query --list lists all ",
        ),
        (
            ("hotspots", "-p", "limti=2"),
            "query hotspots has no parameter limti; did you mean limit? hotspots ",
        ),
        (("hotspots", "-p", "step=2", "--step", "2"), "parameter step is given twice"),
        ((), "no query is named; tracegraph query --list shows them"),
        (("hotspots", "-p", "top=2"), "query hotspots has no parameter top; hotspots takes: run, start_ns, "),
        (("hotspots", "-p", "limit=many"), "parameter limit='many' is no INTEGER; it means: rows listed"),
        (("hotspots", "-p", "limit=0"), "parameter limit=0 is not allowed; INTEGER: rows listed, 1..1000000"),
        (("hotspots", "-p", "step=9"), f"run '{RUN}' has no step 9; present: 1, 2"),
        (("hotspots", "--run", "none"), "there is no run named 'none'; tracegraph runs lists those stored"),
        (("events_named",), "query events_named needs parameter name; events_named takes: run, name, limit"),
        (("runs", "--run", RUN), "query runs has no parameter run; it takes none"),
    ],
)
def test_what_cannot_be_asked(arguments: tuple[str, ...], line: str, tracegraph: Run) -> None:
    code, out, err = tracegraph("query", *arguments)
    assert (code, out) == (2, "")
    assert err.startswith(f"tracegraph: {line}")


def test_list_and_describe(tracegraph: Run) -> None:
    rows = json.loads(tracegraph("query", "--list", "--format", "json")[1])
    assert {row["name"]: row["summary"] for row in rows} == {q.name: q.summary for q in queries().values()}
    code, out, _ = tracegraph("query", "hotspots", "--describe")
    assert code == 0
    assert out.startswith(queries()["hotspots"].summary)
    assert all(f" {name} " in out for name in ("start_ns", "chain", "limit", "step", "prop_in_total"))


def test_runs_are_listed_by_default(tracegraph: Run) -> None:
    code, out, _ = tracegraph("runs")
    assert code == 0
    assert RUN in out
    rows = list(csv.DictReader(io.StringIO(tracegraph("runs", "list", "--format", "csv")[1])))
    assert rows[0]["name"] == RUN


def test_show(tracegraph: Run) -> None:
    rows = json.loads(tracegraph("runs", "show", RUN, "--format", "json")[1])
    assert {"property": "window_end_ns", "value": 130} in rows


def test_show_as_parquet(tmp_path: Path, tracegraph: Run) -> None:
    file = tmp_path / "run.parquet"
    assert tracegraph("runs", "show", RUN, "--format", "parquet", "-o", str(file))[0] == 0
    assert {"property": "window_end_ns", "value": "130"} in pq.read_table(file).to_pylist()


def test_delete(tracegraph: Run, database: Database, workspace: Workspace) -> None:
    run = "tiny-deleted"
    folder = workspace.run_folder(run)
    folder.mkdir(parents=True)
    (folder / "manifest.json").write_text(json.dumps({"run": run}))
    with stored(database, run, GPU_STEP):
        assert tracegraph("runs", "delete", run)[:2] == (0, f"deleted {run}\n")
        left = database.read("MATCH (n) WHERE n.run = $run OR n.name = $run RETURN n", {"run": run})
    assert left.empty
    assert not Path(folder).exists()


@pytest.mark.parametrize("command", ["show", "delete"])
def test_unknown_run(command: str, tracegraph: Run) -> None:
    expected = "tracegraph: there is no run named 'none'; tracegraph runs lists those stored\n"
    assert tracegraph("runs", command, "none") == (2, "", expected)


def test_a_query_without_rows_says_when_that_is(tracegraph: Run) -> None:
    code, out, err = tracegraph("query", "cupti_counters", "--run", RUN, "--format", "csv")
    assert (code, len(out.splitlines())) == (0, 1)
    assert err == "no rows, as when the run holds no hardware counters\n"
