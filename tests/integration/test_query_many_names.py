"""Queries about a run of thousands of names and call stacks, at their most rows.

A row that still carries a list counts whole against the memory of the server when it is sorted.
"""

import json
from pathlib import Path

import pandas as pd
import pytest
from storing_runs import store_run

from tracegraph.base.progress import silent
from tracegraph.ingest.pipeline import ingest_run
from tracegraph.queries import catalog
from tracegraph.queries.runs import fill
from tracegraph.store.connection import Database
from tracegraph.store.connection_settings import ConnectionSettings
from tracegraph.store.workspace import Workspace

RUN = "many-names"
NAMES = 4_000
LISTING = {"limit", "top"}
"""Parameters for how many rows."""
ABOUT_ONE = {"source_index", "beginnings", "name", "number", "pixel_ns"}
"""Parameters of queries about one event, name, step or picture."""
QUERIES = {
    name: query
    for name, query in catalog.queries().items()
    if query.takes("run") and not any(query.takes(one) for one in ABOUT_ONE)
}


@pytest.fixture(scope="module")
def many_names(tmp_path_factory: pytest.TempPathFactory, workspace: Workspace) -> None:
    """A run whose operators and kernels all have names of their own, the GPU idle before each."""
    path: Path = tmp_path_factory.mktemp("many") / "many.json"
    rows = [row for number in range(NAMES) for row in _operator(number, at=10.0 * number)]
    path.write_text(json.dumps({"traceEvents": rows}))
    tables, manifest = ingest_run([path], RUN, silent)
    store_run(workspace, ConnectionSettings(), tables, manifest, load="bolt")


def _operator(number: int, at: float) -> list[dict[str, object]]:
    thread = {"ph": "X", "pid": 1, "tid": 1}
    stream = {"ph": "X", "pid": 0, "tid": 7, "cat": "kernel"}
    by = {"correlation": number + 1}
    return [
        thread | {"cat": "cpu_op", "name": f"op{number}", "ts": at, "dur": 9.0},
        thread | {"cat": "cuda_runtime", "name": "cudaLaunchKernel", "ts": at + 1, "dur": 2.0, "args": by},
        stream | {"name": f"k{number}", "ts": at + 5, "dur": 3.0, "args": by | {"device": 0, "stream": 7}},
    ]


def _at_most_rows(name: str, database: Database) -> pd.DataFrame:
    query = QUERIES[name]
    most = {one.name: one.bounds[1] for one in query.parameters if one.name in LISTING and one.bounds}
    return query.run(database, fill(catalog.asking(database), query, {"run": RUN, **most}))


@pytest.mark.exhaustive
@pytest.mark.usefixtures("many_names")
@pytest.mark.parametrize("name", QUERIES)
def test_a_query_answers_at_its_most_rows(name: str, database: Database) -> None:
    _at_most_rows(name, database)


@pytest.mark.usefixtures("many_names")
@pytest.mark.parametrize("name", ["hotspots", "idle_causes", "kernel_breakdown"])
def test_each_name_is_listed(name: str, database: Database) -> None:
    assert len(_at_most_rows(name, database)) >= NAMES - 1
