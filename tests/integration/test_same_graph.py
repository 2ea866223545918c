"""One file, one graph: in fresh workspaces, ingested again over itself, and counted as in the columns."""

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from tracegraph.ingest.pipeline import ingest_run
from tracegraph.store.connection import ConnectionSettings, Database
from tracegraph.store.progress import silent
from tracegraph.store.storing import store_and_open
from tracegraph.store.workspace import open_workspace

EXAMPLE = Path(__file__).parents[2] / "examples" / "traces" / "simulated_gpu.json.gz"
NODES = "MATCH (n) RETURN labels(n) AS labels, properties(n) AS properties"
RELATIONSHIPS = """
MATCH (a)-[r]->(b)
RETURN type(r) AS type, properties(r) AS properties, properties(a) AS start, properties(b) AS end
"""


def export(database: Database) -> list[str]:
    """All nodes and relationships with all properties, sorted; the time of ingest is left out."""
    rows = [*database.read(NODES).to_dict("records"), *database.read(RELATIONSHIPS).to_dict("records")]
    for row in rows:
        for properties in (row["properties"], row.get("end", {})):
            properties.pop("created", None)
    return sorted(
        json.dumps({**row, "labels": sorted(row.get("labels", []))}, sort_keys=True) for row in rows
    )


def ingest_and_export(folder: Path, trace: Path) -> tuple[list[str], dict[str, object]]:
    """Ingest a trace into a workspace, and give the export of its database and the summary of the columns."""
    tables, manifest = ingest_run([trace], None, silent)
    with store_and_open(open_workspace(folder), ConnectionSettings(), tables, manifest) as database:
        counts = {"nodes": tables.count_nodes(), **tables.count_labels(), **tables.count_relationships()}
        return export(database), counts


@pytest.mark.parametrize("name", ["simulated_gpu.json.gz", "b1_hta_alexnet_cuda_sync.json.gz"])
def test_fresh_workspaces_and_a_second_ingest_give_equal_graphs(
    tmp_path: Path, shared_trace: Callable[[str], Path], name: str
) -> None:
    trace = EXAMPLE if name == EXAMPLE.name else shared_trace(name)
    first, counts = ingest_and_export(tmp_path / "first", trace)
    second, _ = ingest_and_export(tmp_path / "second", trace)
    again, _ = ingest_and_export(tmp_path / "first", trace)
    assert first == second
    assert first == again
    rows = [json.loads(row) for row in first]
    found = Counter(row["type"] for row in rows if "type" in row)
    found.update(label for row in rows for label in row["labels"])
    found["nodes"] = sum("type" not in row for row in rows)
    assert dict(found) == {name: count for name, count in counts.items() if count}
