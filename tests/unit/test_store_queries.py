"""The texts sent to Neo4j: names from the schema only, files that the import reads back unchanged."""

import csv
from pathlib import Path

import pyarrow as pa
import pytest
from hostile import NAMES, hostile_graph

from tracegraph.base.progress import silent
from tracegraph.store.load.bolt import _sides, node_query, relationship_query
from tracegraph.store.managed.rebuild import import_files
from tracegraph.store.managed.rebuild.import_files import write_files
from tracegraph.store.schema.ddl import constraints, statements
from tracegraph.store.tables import GraphTables, load_graph


def test_nodes_are_created_from_columns() -> None:
    assert node_query("Event;Kernel", {"run": "$same.run", "start_ns": "$columns.start_ns[i]"}) == (
        "UNWIND range(0, $last) AS i "
        "CREATE (n:Event:Kernel {run: $same.run, start_ns: $columns.start_ns[i]}) "
        "RETURN collect([i, id(n)]) AS ids"
    )


@pytest.mark.parametrize(
    ("labels", "properties"), [("Event;Evil", []), ("Event) DETACH DELETE n //", []), ("Event", ["a}) //"])]
)
def test_only_names_of_the_schema_become_text(labels: str, properties: list[str]) -> None:
    with pytest.raises(ValueError, match="of the schema"):
        node_query(labels, dict.fromkeys(properties, "1"))


def test_only_types_of_the_schema_become_text() -> None:
    with pytest.raises(ValueError, match="relationship type of the schema"):
        relationship_query("A]->(b) //", {})


def test_every_index_can_be_created_twice() -> None:
    assert all(" IF NOT EXISTS " in statement for statement in statements())
    assert constraints() == [
        "CREATE CONSTRAINT tracegraph_run_name IF NOT EXISTS FOR (n:Run) REQUIRE (n.name) IS UNIQUE"
    ]


def import_file(home: Path, name: str) -> Path:
    [path] = (home / "import").glob(f"{name}.*.csv")
    return path


def test_import_files_keep_every_name(tmp_path: Path) -> None:
    names = [name for name in NAMES if "\0" not in name]  # which Python's reader refuses
    tables = hostile_graph("run", names)
    arguments = write_files(tmp_path, [tables], silent)
    csv.field_size_limit(10_000_000)
    with import_file(tmp_path, "nodes.Event").open(newline="", encoding="utf-8") as file:
        header, *rows = csv.reader(file)
    assert header[:4] == [":ID", ":LABEL", "run:string", "rank:long"]
    column = header.index("name:string")
    assert [row[column] for row in rows] == names
    assert f"--read-buffer-size={2 * 3_000_000 + 1024}" in arguments


@pytest.mark.parametrize(
    ("name", "breaks"), [("a name", "false"), ("two\nlines", "true"), ("two\rlines", "true")]
)
def test_only_a_line_break_in_a_text_lets_rows_go_over_lines(tmp_path: Path, name: str, breaks: str) -> None:
    coded = hostile_graph("run", [name, *"bcdef"])
    plain = coded.nodes["Event"].cast(_plain_schema(coded.nodes["Event"].schema))
    for place, tables in {"coded": coded, "plain": coded.with_nodes("Event", plain)}.items():
        (tmp_path / place).mkdir()
        assert f"--multiline-fields={breaks}" in write_files(tmp_path / place, [tables], silent)


def test_tables_of_a_folder_are_written_a_few_rows_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(import_files, "_ROWS_AT_ONCE", 2)
    names = ["a", "b", "c", "d", "e", "a name of the last rows\nthat breaks"]
    for place in ("in_memory", "tables", "in_folder"):
        (tmp_path / place).mkdir()
    tables = hostile_graph("run", names)
    arguments = write_files(tmp_path / "in_memory", [tables], silent)
    assert "--multiline-fields=true" in arguments
    tables.save(tmp_path / "tables")
    kept = load_graph(tmp_path / "tables")
    assert (
        write_files(tmp_path / "in_folder", [kept.with_nodes("Run", kept.nodes["Run"])], silent) == arguments
    )
    for file in (tmp_path / "in_memory" / "import").iterdir():
        assert (tmp_path / "in_folder" / "import" / file.name).read_bytes() == file.read_bytes()


def _plain_schema(schema: pa.Schema) -> pa.Schema:
    return pa.schema(
        [(one.name, pa.string() if pa.types.is_dictionary(one.type) else one.type) for one in schema]
    )


def test_an_empty_text_differs_from_none(tmp_path: Path) -> None:
    tables = hostile_graph("run", ["", "b", "c", "", "e", "f"])
    write_files(tmp_path, [tables], silent)
    lines = import_file(tmp_path, "nodes.Event").read_text().splitlines()
    shapes = lines[0].split(",").index("shapes:string")
    assert [line.split(",")[shapes] for line in lines[1:5]] == ["", '"b"', '"c"', ""]


def test_node_ids_of_several_runs_follow_on_each_other(tmp_path: Path) -> None:
    runs = [hostile_graph(name, list("abcdef")) for name in ("one", "two")]
    arguments = write_files(tmp_path, iter(runs), silent)
    ids = [
        int(line.split(",")[0])
        for path in (tmp_path / "import").glob("nodes.*.csv")
        for line in path.read_text().splitlines()[1:]
    ]
    count = runs[0].count_nodes()
    assert sorted(ids) == list(range(2 * count))
    header, *lines = import_file(tmp_path, "relationships.LAUNCHED").read_text().splitlines()
    assert header == ":START_ID,:END_ID"
    rows = [[int(field) for field in line.split(",")] for line in lines]
    first, second = rows[: len(rows) // 2], rows[len(rows) // 2 :]
    assert second == [[start + count, end + count] for start, end in first]
    assert not [argument for argument in arguments if str(tmp_path) in argument]


def test_more_runs_are_no_more_files(tmp_path: Path) -> None:
    runs = [hostile_graph(str(number), list("abcdef")) for number in range(3)]
    of_an_older_version = runs[2].with_nodes("Chain", runs[2].nodes["Chain"].drop_columns(["lane"]))
    for name, graphs in {"one": runs[:1], "all": runs, "mixed": [*runs[:2], of_an_older_version]}.items():
        (tmp_path / name).mkdir()
        write_files(tmp_path / name, graphs, silent)
    one, all_, mixed = (set((tmp_path / name / "import").iterdir()) for name in ("one", "all", "mixed"))
    assert {path.name for path in one} == {path.name for path in all_} < {path.name for path in mixed}
    assert len(mixed) == len(one) + 1


def test_two_writers_of_relationships_share_no_node() -> None:
    graph = hostile_graph("run", list("abcdef"))
    events = graph.nodes["Event"]["id"].to_pylist()
    pairs = [(start, end) for start in (0, *events) for end in events]  # 0 is the run, which has no time
    table = pa.table({"start": [start for start, _ in pairs], "end": [end for _, end in pairs]})
    sides = _sides(GraphTables("run", graph.nodes, {"LAUNCHED": table}))
    early, late, rest = (
        {(row["start"], row["end"]) for row in side["LAUNCHED"].to_pylist()} for side in sides
    )
    assert (len(early), len(late), len(rest)) == (9, 9, len(pairs) - 18)
    assert not {node for pair in early for node in pair} & {node for pair in late for node in pair}
    assert early | late | rest == set(pairs)
