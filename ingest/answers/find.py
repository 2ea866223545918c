"""All answers of a run."""

import numpy as np
import pyarrow as pa

from tracegraph.ingest.answers.asked import ask
from tracegraph.ingest.answers.lanes import events_about, lane_timeline, lane_waits, near_critical
from tracegraph.ingest.answers.second import second_causes
from tracegraph.ingest.answers.steps import step_hotspots
from tracegraph.ingest.graph_columns import text_column
from tracegraph.ingest.model import Model
from tracegraph.ingest.path_rows import path_table
from tracegraph.store.tables import answer_to


def find_answers(model: Model, rank: int) -> dict[str, pa.Table]:
    """The rows of the queries that a report on the whole run asks, by query, with its columns."""
    chain = int(model.binding.chain[model.sink])
    asked = ask(model.window, chain)
    found = {
        "critical_path": _critical_path(model, rank),
        "second_causes": second_causes(model, asked["second_causes"]),
        "lane_timeline": lane_timeline(model, asked["lane_timeline"]),
        "lane_waits": lane_waits(model, asked["lane_waits"]),
        "near_critical": near_critical(model, asked["near_critical"]),
        "events_about": events_about(model, asked["events_about"]),
        "step_hotspots": step_hotspots(model, rank),
    }
    return {
        "run_window": answer_to({}, _run_window(model, chain)),
        **{name: answer_to(asked[name], table) for name, table in found.items()},
    }


def _run_window(model: Model, chain: int) -> pa.Table:
    return pa.table({"start_ns": [model.window.start], "end_ns": [model.window.end], "chain": [chain]})


def _critical_path(model: Model, rank: int) -> pa.Table:
    rows = path_table(model, rank)
    names = text_column(rows["lane"].to_numpy(), model.lanes.frame["name"].tolist())
    return rows.append_column("position", pa.array(np.arange(len(rows)))).append_column("lane_name", names)
