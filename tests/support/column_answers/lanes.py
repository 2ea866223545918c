"""What happens on all lanes, on the path or not."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from column_answers.values import Values
from tracegraph.ingest.arrays import Flags, Ints
from tracegraph.ingest.causal.events import NONE
from tracegraph.ingest.causal.hotspots import find_kinds
from tracegraph.ingest.causal.model import Model
from tracegraph.ingest.causal.segments import WAIT, WORK
from tracegraph.ingest.tables.columns import text_column
from tracegraph.store.gaps import GAP_NAMES

_GPU_BUSY = pa.schema(
    [
        *((name, pa.int64()) for name in ("rank", "device", "busy_ns")),
        ("busy_share", pa.float64()),
        ("count", pa.int64()),
    ]
)


def lane_timeline(model: Model, asked: Values) -> pa.Table:
    """Work on every lane: lane, start_ns, end_ns, name (null for several), category, count, least
    slack_ns.

    What is shorter than a pixel shares a row with all such of its lane, pixel and category.
    """
    segments, events, pixel_ns = model.segments, model.events, int(asked["pixel_ns"])
    at = np.flatnonzero((segments.kind == WORK) & (segments.end > segments.start))
    start, end, event = segments.start[at], segments.end[at], segments.event[at]
    wide = end - start >= pixel_ns
    name = pa.array(events.name.codes[event])
    rows = pa.table(
        {
            "lane": segments.lane[at],
            "code": events.category.codes[event],
            "wide": wide,
            "key": np.where(wide, start, (start - model.window.start) // pixel_ns),
            "start": start,
            "end": end,
            "first": name,
            "last": name,
            "slack": model.slack[at],
        }
    )
    each = [("start", "min"), ("end", "max"), ("first", "min"), ("last", "max"), ("key", "count")]
    each.append(("slack", "min"))
    groups = rows.group_by(["lane", "code", "wide", "key"]).aggregate(each)
    several = pc.not_equal(groups["first_min"], groups["last_max"])
    found = pa.table(
        {
            "lane": groups["lane"],
            "start_ns": groups["start_min"],
            "end_ns": groups["end_max"],
            "name": text_column(_numpy(groups["first_min"]), events.name.values.tolist(), _flags(several)),
            "category": text_column(_numpy(groups["code"]), events.category.values.tolist()).cast(
                pa.string()
            ),
            "count": groups["key_count"],
            "slack_ns": groups["slack_min"],
        }
    )
    return found.sort_by([(key, "ascending") for key in ("lane", "start_ns", "end_ns", "category")])


def lane_waits(model: Model, asked: Values) -> pa.Table:
    """Waiting of each thread by name, longest first: lane, lane_name, name, duration_ns, share, count."""
    segments = model.segments
    at = np.flatnonzero(segments.on_thread & (segments.kind == WAIT))
    waits = pd.DataFrame({"lane": segments.lane[at], "name": segments.gap_name[at]})
    rows = _lengths(waits, segments.end[at] - segments.start[at], asked)
    rows["name"] = [GAP_NAMES[code] for code in rows["name"]]
    return _listed(model, rows, {"duration_ns": False, "lane": True, "name": True}, asked)


def near_critical(model: Model, asked: Values) -> pa.Table:
    """Events with a slack above zero and at most `slack_ns` by name, category and lane, least slack first."""
    segments = model.segments
    near = (model.slack > 0) & (model.slack <= int(asked["slack_ns"]))
    at = np.flatnonzero((segments.kind == WORK) & near)
    kinds = find_kinds(model.events, segments.event[at])
    events = pd.DataFrame({"kind": kinds.number, "lane": segments.lane[at]})
    least = pd.Series(model.slack[at]).groupby([events["kind"], events["lane"]]).min()
    rows = _lengths(events, segments.end[at] - segments.start[at], asked)
    rows["slack_ns"] = least.reindex(pd.MultiIndex.from_frame(rows[["kind", "lane"]])).to_numpy()
    rows["name"], rows["category"] = kinds.name[rows["kind"]], kinds.category[rows["kind"]]
    order = {"slack_ns": True, "duration_ns": False, "name": True, "category": True, "lane": True}
    return _listed(model, rows.drop(columns="kind"), order, asked)


def gpu_busy(model: Model) -> pa.Table:
    """Busy time of each GPU, overlapping streams counted once: rank, device, busy_ns, busy_share, count."""
    segments, lanes = model.segments, model.lanes
    length_ns = model.window.end - model.window.start
    at = np.flatnonzero((segments.kind == WORK) & (segments.end > model.window.start))
    at = at[(segments.start[at] < model.window.end) & ~lanes.is_thread[segments.lane[at]]]
    at = at[np.argsort(segments.start[at], kind="stable")]
    known = lanes.frame["device"].astype("Int64").fillna(NONE).to_numpy(dtype=np.int64)
    places = np.stack([lanes.rank, known])[:, segments.lane[at]]
    rows = []
    for rank, number in np.unique(places, axis=1).T.tolist():
        there = at[(places == [[rank], [number]]).all(axis=0)]
        start, end = segments.start[there], segments.end[there]
        ended = np.append(start[0], np.maximum.accumulate(end)[:-1])
        busy_ns = int(np.maximum(end - np.maximum(start, ended), 0).sum())
        row = {"rank": rank, "device": None if number == NONE else number, "busy_ns": busy_ns}
        rows.append({**row, "busy_share": busy_ns / length_ns, "count": len(start)})
    rows.sort(key=lambda row: (row["rank"], row["device"] is None, row["device"]))
    return pa.Table.from_pylist(rows, schema=_GPU_BUSY)


def events_about(model: Model, asked: Values) -> pa.Table:
    """Where events run whose names begin in one of several ways: beginning, lane, start_ns, end_ns."""
    events, beginnings = model.events, asked["beginnings"].split("\n")
    fits = [[str(name).startswith(beginning) for beginning in beginnings] for name in events.name.values]
    fit = np.array(fits, dtype=bool).reshape(-1, len(beginnings))
    named = np.asarray(fit.any(axis=1), dtype=bool)
    at = np.flatnonzero(events.name.matching(named) & (events.start < int(asked["end_ns"])))
    at = at[events.end[at] > int(asked["start_ns"])]
    rows = pd.DataFrame(
        {
            "beginning": np.array(beginnings, dtype=object)[fit.argmax(axis=1)[events.name.codes[at]]],
            "lane": events.lane[at],
            "start_ns": events.start[at],
            "end_ns": events.end[at],
        }
    )
    return pa.Table.from_pandas(rows.sort_values(list(rows.columns)), preserve_index=False)


def _lengths(keys: pd.DataFrame, lengths: Ints, asked: Values) -> pd.DataFrame:
    """Sum and number of the lengths for each row of keys, without sums below `least_ns`."""
    groups = keys.assign(duration_ns=lengths, count=1).groupby(list(keys.columns), as_index=False).sum()
    return groups[groups["duration_ns"] >= int(asked["least_ns"])]


def _listed(model: Model, rows: pd.DataFrame, order: dict[str, bool], asked: Values) -> pa.Table:
    """The first rows in an order (columns, True if ascending), with the lane's name and the share."""
    length_ns = int(asked["end_ns"]) - int(asked["start_ns"])
    listed = rows.sort_values(list(order), ascending=list(order.values())).head(int(asked["limit"]))
    names = model.lanes.frame["name"].to_numpy()[listed["lane"]]
    listed = listed.assign(lane_name=names, share=listed["duration_ns"] / length_ns)
    return pa.Table.from_pandas(listed, preserve_index=False)


def _numpy(column: pa.ChunkedArray) -> Ints:
    return np.asarray(column.to_numpy(), dtype=np.int64)


def _flags(column: pa.ChunkedArray) -> Flags:
    return np.asarray(column.to_numpy(), dtype=bool)
