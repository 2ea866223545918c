"""All answers of a run."""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from tracegraph.ingest.answers.asked import ask
from tracegraph.ingest.answers.lanes import events_about, gpu_busy, lane_timeline, lane_waits, near_critical
from tracegraph.ingest.answers.second import second_causes
from tracegraph.ingest.answers.steps import step_hotspots
from tracegraph.ingest.causal.model import Model
from tracegraph.ingest.causal.path_rows import path_table
from tracegraph.ingest.tables.columns import text_column
from tracegraph.store.tables import answer_to

_ANSWERS = {
    answer.__name__: answer
    for answer in (second_causes, lane_timeline, lane_waits, near_critical, events_about)
}


def find_answers(model: Model, rank: int) -> Iterator[tuple[str, pa.Table]]:
    """The rows of the queries that a report on the whole run asks, with their names, one after the other."""
    chain = int(model.binding.chain[model.sink])
    asked = ask(model.window, chain)
    yield "run_window", answer_to({}, _run_window(model, chain))
    for name, answer in _ANSWERS.items():
        yield name, answer_to(asked[name], answer(model, asked[name]))
    ranked = {"gpu_busy": gpu_busy, "critical_path": _critical_path, "step_hotspots": step_hotspots}
    for name, find in ranked.items():
        yield name, answer_to(asked[name], find(model, rank))


def _run_window(model: Model, chain: int) -> pa.Table:
    return pa.table({"start_ns": [model.window.start], "end_ns": [model.window.end], "chain": [chain]})


def _critical_path(model: Model, rank: int) -> pa.Table:
    rows = path_table(model, rank)
    names = text_column(rows["lane"].to_numpy(), model.lanes.frame["name"].tolist())
    return rows.append_column("position", pa.array(np.arange(len(rows)))).append_column("lane_name", names)
