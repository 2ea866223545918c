"""What a report asks of a whole run, answered from the columns of its model: the oracle of the modules.

Written on its own in numpy and pandas: nothing of it knows the database.
"""

import pandas as pd
import pyarrow as pa

from column_answers.drawing import chain_causes, stack_timeline
from column_answers.lanes import events_about, gpu_busy, lane_timeline, lane_waits, near_critical
from column_answers.off_path import all_work, off_path_hotspots
from column_answers.path_sums import composition, largest_events, largest_gaps
from column_answers.second_causes import second_causes
from column_answers.silences import path_silences
from column_answers.step_hotspots import step_hotspots
from column_answers.values import Values
from tracegraph.ingest.causal.graph.model import Model
from tracegraph.ingest.causal.graph.path_rows import path_table
from tracegraph.queries.runs import RunWindow

_TABLES = {
    answer.__name__: answer
    for answer in (
        second_causes,
        lane_timeline,
        stack_timeline,
        chain_causes,
        lane_waits,
        near_critical,
        off_path_hotspots,
        events_about,
        path_silences,
    )
}
_WHOLE = {"gpu_busy": gpu_busy, "critical_path": path_table, "step_hotspots": step_hotspots}


def window_of(model: Model) -> RunWindow:
    """The answer of `run_window`."""
    return RunWindow(model.window.start, model.window.end, int(model.binding.chain[model.sink]))


def answer(name: str, model: Model, asked: Values) -> pd.DataFrame:
    """The rows of a query about the whole window of a model."""
    if name in _TABLES:
        return _frame(_TABLES[name](model, asked))
    if name in _WHOLE:
        return _frame(_WHOLE[name](model))
    rows = _frame(path_table(model))
    if name == "hotspots":
        return largest_events(rows, all_work(model), int(asked["limit"]))
    return largest_gaps(rows) if name == "path_gaps" else composition(rows)


ANSWERED = (*_TABLES, *_WHOLE, "hotspots", "path_gaps", "path_composition")
"""Names of the queries that `answer` knows."""


def _frame(rows: pa.Table) -> pd.DataFrame:
    plain = pa.schema([field.with_type(_decoded(field.type)) for field in rows.schema])
    frame: pd.DataFrame = rows.cast(plain).to_pandas(types_mapper=_nullable)
    return frame


def _nullable(kind: pa.DataType) -> pd.Int64Dtype | None:
    return pd.Int64Dtype() if kind == pa.int64() else None


def _decoded(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if pa.types.is_dictionary(kind) else kind
