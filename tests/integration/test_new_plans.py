"""After a load that is most of what is stored, queries are planned with what is stored then."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from storing_runs import store_run, store_small_run

from tracegraph.base.progress import silent
from tracegraph.ingest.pipeline import ingest_run
from tracegraph.store.connection import Database
from tracegraph.store.connection_settings import ConnectionSettings
from tracegraph.store.managed.server import server
from tracegraph.store.session import open_database, stop_server
from tracegraph.store.workspace import open_workspace

TRACE = Path(__file__).parents[2] / "examples" / "traces" / "simulated_gpu.json.gz"
MANAGED = ConnectionSettings()
QUERY = "MATCH (s:Segment {run: $run}) RETURN s.name AS name"


def estimated_rows(database: Database) -> float:
    """How many rows the plan of QUERY expects."""

    def most(plan: Mapping[str, Any]) -> float:
        rows = float(plan.get("args", {}).get("EstimatedRows", 0.0))
        return max([rows, *map(most, plan.get("children", ()))])

    return most(database.explain(QUERY, {"run": "large"}))


@pytest.mark.exhaustive
def test_a_plan_does_not_outlive_the_small_database_it_was_made_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = server.configuration
    # The server itself thinks a plan over when it is ten seconds old, which is luck.
    late = "dbms.cypher.min_replan_interval=1h\n"
    monkeypatch.setattr(server, "configuration", lambda *given: real(*given) + late)
    workspace = open_workspace(tmp_path)
    store_small_run(workspace, "small")
    with open_database(workspace, MANAGED) as database:
        before = estimated_rows(database)
        tables, manifest = ingest_run([TRACE], "large", silent)
        segments = sum(count for labels, count in tables.count_labels().items() if labels == "Segment")
        store_run(workspace, MANAGED, tables, manifest, load="bolt")
        assert before < 0.1 * segments < estimated_rows(database)
    stop_server(workspace)
