"""`tracegraph cypher`: what it shows and changes; test_store_connection has all that reading refuses."""

import csv
import io
import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from graphs import GPU_STEP, stored

from tracegraph.cli.main import main
from tracegraph.store.connection import Database
from tracegraph.store.workspace import Workspace

RUN = "tiny-cypher"
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module", autouse=True)
def graph(database: Database) -> Iterator[None]:
    with stored(database, RUN, GPU_STEP.replace("2024-05-01", "2999-01-02")):
        yield


@pytest.fixture
def cypher(workspace: Workspace, capsys: pytest.CaptureFixture[str]) -> Run:
    def run(*arguments: str) -> tuple[int, str, str]:
        code = main(["--workspace", str(workspace.root), "cypher", *arguments])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


def test_refusal_names_the_way(cypher: Run) -> None:
    code, out, err = cypher("CREATE (:Intruder)")
    assert (code, out) == (2, "")
    assert err == (
        "tracegraph: the query writes, and only reading is allowed here; run it with `tracegraph cypher "
        "--write` if it should\n"
    )


def test_load_csv_is_refused_when_writing_is_not(cypher: Run) -> None:
    code, out, err = cypher("LOAD CSV FROM 'file:///etc/passwd' AS row RETURN row", "--write")
    assert (code, out) == (2, "")
    assert err.startswith("tracegraph: ")
    assert "root:" not in err


def test_write_option_says_what_it_changed(cypher: Run) -> None:
    code, out, err = cypher("MATCH (n:Intruder) DELETE n", "--write")
    assert (code, out) == (0, "")
    assert err.endswith("nothing changed\n")
    code, out, err = cypher("RETURN 1 AS one", "--write", "--format", "csv")
    assert (code, out, err) == (0, "one\n1\n", "nothing changed\n")


@pytest.mark.parametrize(
    ("query", "line"),
    [
        ("MATCH (k:Segmnt) RETURN k", "no node has the label Segmnt; did you mean Segment? docs/schema.md"),
        (
            "MATCH ()-[r:SEQUENTAL]->() RETURN r",
            "no relationship has the type SEQUENTAL; did you mean SEQUENTIAL?",
        ),
        ("MATCH (r:Run) RETURN r.naem AS x LIMIT 0", "nothing has the property naem; did you mean name?"),
    ],
)
def test_a_name_that_nothing_stored_has_is_remarked(query: str, line: str, cypher: Run) -> None:
    code, _, err = cypher(query)
    assert code == 0
    assert err.count("\n") == 1
    assert err.startswith(line)


def test_write_option_writes(cypher: Run, database: Database) -> None:
    try:
        assert cypher("CREATE (:Intruder {name: $name})", "--write", "-p", "name=x") == (
            0,
            "",
            "nodes created: 1, properties set: 1, labels added: 1\n",
        )
        assert database.read("MATCH (n:Intruder) RETURN n.name AS name")["name"].tolist() == ["x"]
    finally:
        database.write("MATCH (n:Intruder) DELETE n")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("7", 7),
        ("0.5", 0.5),
        ("true", True),
        ('"7"', "7"),
        ("[1, 2]", [1, 2]),
        ("gemm<float>", "gemm<float>"),
    ],
)
def test_parameter_is_json_or_text(text: str, value: object, cypher: Run) -> None:
    code, out, _ = cypher("RETURN $value AS value", "-p", f"value={text}", "--format", "json")
    assert (code, json.loads(out)) == (0, [{"value": value}])


def test_run_is_the_newest_unless_it_is_given(cypher: Run, database: Database) -> None:
    older, question = "tiny-cypher-older", "RETURN $run AS run"
    with stored(database, older, GPU_STEP):
        for options, run in [((), RUN), (("--run", older), older), (("-p", "run=any"), "any")]:
            assert cypher(question, *options, "--format", "csv") == (0, f"run\n{run}\n", "")
        written = "MATCH (r:Run {name: $run}) SET r.seen = true RETURN r.name AS run"
        assert cypher(written, "--run", older, "--write", "--format", "csv")[1] == f"run\n{older}\n"


PATH = (
    f"MATCH p = (:Run {{name: '{RUN}'}})<-[:OF_RUN]-(t) "
    "RETURN p, t AS trace, [1, null] AS list, null AS nothing"
)


def test_graph_values_as_table(cypher: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "400")
    code, out, _ = cypher(PATH)
    assert code == 0
    assert f'(:Run "{RUN}")<-[:OF_RUN]-(:Trace)' in out
    assert '(:Trace {clock_offset_ns: 0, file: "tiny.json", rank: 0, ' in out
    assert "[1, null]" in out


def test_graph_values_as_json_and_csv(cypher: Run) -> None:
    trace = {
        "labels": ["Trace"],
        "properties": {"clock_offset_ns": 0, "file": "tiny.json", "rank": 0, "run": RUN, "sha256": "00"},
    }
    [row] = json.loads(cypher(PATH, "--format", "json")[1])
    assert (row["trace"], row["list"], row["nothing"]) == (trace, [1, None], None)
    assert [node["labels"] for node in row["p"]["nodes"]] == [["Run"], ["Trace"]]
    assert row["p"]["relationships"] == [{"type": "OF_RUN", "properties": {}}]
    [cells] = csv.DictReader(io.StringIO(cypher(PATH, "--format", "csv")[1]))
    assert (json.loads(cells["trace"]), cells["list"], cells["nothing"]) == (trace, "[1, null]", "")


def test_rows_go_to_a_file(cypher: Run, tmp_path: Path) -> None:
    target = tmp_path / "rows.csv"
    assert cypher("RETURN 1 AS one", "--format", "csv", "-o", str(target)) == (0, "", "")
    assert target.read_text() == "one\n1\n"


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (("RETURN 1 1",), "Invalid input"),
        (("RETURN $missing",), "missing"),
        (("RETURN $run", "--run", "tiny-ciphers"), "did you mean tiny-cypher? tracegraph runs lists"),
        (("RETURN $run", "--run", RUN, "-p", "run=x"), "$run is 'x' and the run is 'tiny-cypher'"),
        (("RETURN '$run'", "--run", RUN), "write {run: $run} in its patterns"),
        (("RETURN 1", "-p", "novalue"), "write -p key=value"),
        (("RETURN 1", "--format", "parquet"), "name a file with -o"),
    ],
)
def test_what_cannot_be_run(arguments: tuple[str, ...], part: str, cypher: Run) -> None:
    code, out, err = cypher(*arguments)
    assert (code, out) == (2, "")
    assert part in err
    assert err.count("\n") == 1
