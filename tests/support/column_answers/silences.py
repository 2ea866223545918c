"""The long silences of the path, and what else ran meanwhile: `path_silences`."""

import numpy as np
import pandas as pd
import pyarrow as pa

from column_answers.values import Values
from tracegraph.ingest.arrays import Flags
from tracegraph.ingest.causal.graph.model import Model
from tracegraph.ingest.causal.graph.segments import GAP, WORK
from tracegraph.vocabulary.gaps import GAP_CODE, UNTRACED_CPU

_TIMES = ("lane", "start_ns", "end_ns", "duration_ns", "gpu_busy_ns", "threads_busy_ns")
_SCHEMA = pa.schema([("lane_name", pa.string()), *((name, pa.int64()) for name in _TIMES)])


def path_silences(model: Model, asked: Values) -> pa.Table:
    """Gaps without an open event, longest first, each with how long others of its rank ran."""
    segments, ranks = model.segments, model.lanes.rank
    length = segments.end - segments.start
    silent = (segments.kind == GAP) & (segments.gap_name == GAP_CODE[UNTRACED_CPU])
    at = np.flatnonzero(model.on_path & silent & (length >= int(asked["least_ns"])))
    at = at[np.lexsort((segments.start[at], -length[at]))][: int(asked["limit"])]
    working, rows = segments.kind == WORK, []
    for segment in at.tolist():
        lane = int(segments.lane[segment])
        start, end = int(segments.start[segment]), int(segments.end[segment])
        beside = working & (ranks[segments.lane] == ranks[lane]) & (segments.lane != lane)
        beside &= (segments.start < end) & (segments.end > start)
        rows.append(
            {
                "lane": lane,
                "lane_name": str(model.lanes.frame["name"].iloc[lane]),
                "start_ns": start,
                "end_ns": end,
                "duration_ns": end - start,
                "gpu_busy_ns": _open(model, beside & ~segments.on_thread, start, end),
                "threads_busy_ns": _open(model, beside & segments.on_thread, start, end),
            }
        )
    return pa.Table.from_pylist(rows, schema=_SCHEMA)


def _open(model: Model, chosen: Flags, start: int, end: int) -> int:
    """How long at least one of the chosen segments is open between two moments."""
    opens = np.clip(model.segments.start[chosen], start, end)
    closes = np.clip(model.segments.end[chosen], start, end)
    change = np.repeat([1, -1], [len(opens), len(closes)])
    count = pd.Series(change).groupby(np.concatenate([opens, closes])).sum().cumsum()
    lasts = np.diff(count.index.to_numpy(dtype=np.int64))
    return int(lasts[count.to_numpy()[:-1] > 0].sum())
