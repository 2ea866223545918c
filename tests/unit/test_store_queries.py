"""The texts sent to Neo4j: names from the schema only, files that the import reads back unchanged."""

import csv
from pathlib import Path

import pytest
from hostile import NAMES, hostile_graph

from tracegraph.store.bolt import node_query, relationship_query
from tracegraph.store.ddl import constraints, statements
from tracegraph.store.import_files import write_files
from tracegraph.store.progress import silent


def test_nodes_are_created_from_columns() -> None:
    assert node_query("Event;Kernel", ["run", "start_ns"]) == (
        "UNWIND range(0, $last) AS i "
        "CREATE (n:Event:Kernel {run: $columns.run[i], start_ns: $columns.start_ns[i]}) "
        "RETURN collect([i, id(n)]) AS ids"
    )


@pytest.mark.parametrize(
    ("labels", "properties"), [("Event;Evil", []), ("Event) DETACH DELETE n //", []), ("Event", ["a}) //"])]
)
def test_only_names_of_the_schema_become_text(labels: str, properties: list[str]) -> None:
    with pytest.raises(ValueError, match="of the schema"):
        node_query(labels, properties)


def test_only_types_of_the_schema_become_text() -> None:
    with pytest.raises(ValueError, match="relationship type of the schema"):
        relationship_query("A]->(b) //", [])


def test_every_index_can_be_created_twice() -> None:
    assert all(" IF NOT EXISTS " in statement for statement in statements())
    assert constraints() == [
        "CREATE CONSTRAINT tracegraph_run_name IF NOT EXISTS FOR (n:Run) REQUIRE (n.name) IS UNIQUE"
    ]


def test_import_files_keep_every_name(tmp_path: Path) -> None:
    names = [name for name in NAMES if "\0" not in name]  # which Python's reader refuses
    tables = hostile_graph("run", names)
    arguments = write_files(tmp_path, [tables], silent)
    csv.field_size_limit(10_000_000)
    with (tmp_path / "import" / "0.nodes.Event.csv").open(newline="", encoding="utf-8") as file:
        header, *rows = csv.reader(file)
    assert header[:4] == [":ID", ":LABEL", "run:string", "rank:long"]
    column = header.index("name:string")
    assert [row[column] for row in rows] == names
    assert f"--read-buffer-size={2 * 3_000_000 + 1024}" in arguments


def test_an_empty_text_differs_from_none(tmp_path: Path) -> None:
    tables = hostile_graph("run", ["", "b", "c", "", "e", "f"])
    write_files(tmp_path, [tables], silent)
    lines = (tmp_path / "import" / "0.nodes.Event.csv").read_text().splitlines()
    shapes = lines[0].split(",").index("shapes:string")
    assert [line.split(",")[shapes] for line in lines[1:5]] == ["", '"b"', '"c"', ""]
