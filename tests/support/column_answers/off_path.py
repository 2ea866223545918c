"""Work that is not on the path, and what the path runs on meanwhile."""

import numpy as np
import pandas as pd
import pyarrow as pa

from column_answers.values import Values
from tracegraph.ingest.causal.graph.model import Model
from tracegraph.ingest.causal.graph.path_rows import find_stretches
from tracegraph.ingest.causal.graph.segments import WORK
from tracegraph.vocabulary.gaps import GAP_NAMES

_KIND = ["name", "category"]
_MOST_STRETCHES = 20


def all_work(model: Model) -> pd.DataFrame:
    """Every lasting stretch of work: segment, name, category, lane, start_ns, end_ns, on_path, slack_ns."""
    events, segments = model.events, model.segments
    at = np.flatnonzero((segments.kind == WORK) & (segments.end > segments.start))
    of = segments.event[at]
    rows = {
        "segment": at,
        "name": [str(events.name[event]) for event in of],
        "category": [str(events.category[event]) for event in of],
        "lane": segments.lane[at],
        "start_ns": segments.start[at],
        "end_ns": segments.end[at],
        "duration_ns": segments.end[at] - segments.start[at],
        "on_path": model.on_path[at],
        "slack_ns": model.slack[at],
    }
    return pd.DataFrame(rows)


def off_path_hotspots(model: Model, asked: Values) -> pa.Table:
    """The names with most work of which hardly any is on the path, and what overlaps with it there."""
    work, path = all_work(model), _path(model)
    rows = []
    for (name, category), group in work.groupby(_KIND, sort=False):
        off, total = group[~group["on_path"]], int(group["duration_ns"].sum())
        off_ns = int(off["duration_ns"].sum())
        most = float(asked.get("most_on_path", 0.05)) * total
        if off_ns < max(1, int(asked["least_ns"])) or total - off_ns > most:
            continue
        row = {"name": name, "category": category, "accumulated_ns": total, "on_path_ns": total - off_ns}
        row |= {"count": len(off), "slack_ns": int(off["slack_ns"].min())}
        rows.append(row | _meanwhile(model, off, path))
    window_ns = model.window.end - model.window.start
    found = pd.DataFrame(rows, columns=["name", "category", "accumulated_ns", *_COLUMNS])
    found["share"] = found["accumulated_ns"] / max(1, window_ns)
    found = found.sort_values(["accumulated_ns", *_KIND], ascending=[False, True, True])
    texts = {name: pa.string() for name in (*_KIND, *_TEXTS)}
    numbers = {name: pa.int64() for name in ("accumulated_ns", "on_path_ns", "count", "slack_ns")}
    schema = pa.schema({**texts, **numbers, "share": pa.float64(), "meanwhile_share": pa.float64()})
    return pa.Table.from_pandas(found.head(int(asked["limit"])), schema, preserve_index=False)


_TEXTS = ("meanwhile", "meanwhile_category", "meanwhile_lane")
_COLUMNS = ("on_path_ns", "count", "slack_ns", *_TEXTS, "meanwhile_share")


def _path(model: Model) -> pd.DataFrame:
    """The path without lags between a cause and its effect."""
    rows, segments, events = find_stretches(model), model.segments, model.events
    stretches = []
    for segment, event, gap, start, end in zip(
        rows.segment, rows.event, rows.gap_name, rows.start, rows.end, strict=True
    ):
        if event < 0 and start < segments.start[segment]:
            continue
        text = (
            (GAP_NAMES[gap], "gap") if event < 0 else (str(events.name[event]), str(events.category[event]))
        )
        stretches.append((*text, int(segments.lane[segment]), int(start), int(end)))
    return pd.DataFrame(stretches, columns=["name", "category", "lane", "start_ns", "end_ns"])


def _meanwhile(model: Model, off: pd.DataFrame, path: pd.DataFrame) -> dict[str, object]:
    order = {"duration_ns": False, "start_ns": True, "lane": True}
    longest = off.sort_values(list(order), ascending=list(order.values())).head(_MOST_STRETCHES)
    overlap = np.zeros(len(path), dtype=np.int64)
    for start, end in zip(longest["start_ns"], longest["end_ns"], strict=True):
        overlap += np.clip(np.minimum(path["end_ns"], end) - np.maximum(path["start_ns"], start), 0, None)
    sums = path.assign(overlap=overlap).groupby([*_KIND, "lane"])["overlap"].sum().reset_index()
    best = sums[sums["overlap"] > 0].sort_values(
        ["overlap", *_KIND, "lane"], ascending=[False, True, True, True]
    )
    if best.empty:
        return dict.fromkeys(_TEXTS) | {"meanwhile_share": None}
    first = best.iloc[0]
    return {
        "meanwhile": first["name"],
        "meanwhile_category": first["category"],
        "meanwhile_lane": str(model.lanes.frame["name"].iloc[int(first["lane"])]),
        "meanwhile_share": first["overlap"] / int(longest["duration_ns"].sum()),
    }
