"""What happens on all lanes, on the path or not."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from column_answers.values import Values
from tracegraph.ingest.arrays import Flags, Ints
from tracegraph.ingest.causal.events.events import NONE
from tracegraph.ingest.causal.graph.hotspots import find_kinds
from tracegraph.ingest.causal.graph.model import Model
from tracegraph.ingest.causal.graph.segments import WAIT, WORK
from tracegraph.ingest.text_columns import arrow_texts
from tracegraph.vocabulary.gaps import GAP_NAMES
from tracegraph.vocabulary.kernel_types import COMMUNICATION, COMPUTATION, KERNEL_TYPES, MEMORY, kernel_type

_SPENT = ("computing_ns", "transferring_ns", "waiting_ns", "communicating_ns")
_GPU_BUSY = pa.schema(
    [
        *((name, pa.int64()) for name in ("rank", "device", "busy_ns")),
        ("busy_share", pa.float64()),
        *((name, pa.int64()) for name in ("count", *_SPENT)),
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
            "name": arrow_texts(_numpy(groups["first_min"]), events.name.values.tolist(), _flags(several)),
            "category": arrow_texts(_numpy(groups["code"]), events.category.values.tolist()).cast(
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
    """How each GPU spends the window, what overlaps counted once: the columns of the query."""
    events, lanes, window = model.events, model.lanes, model.window
    length_ns = window.end - window.start
    work = np.flatnonzero(events.is_gpu & (events.start < window.end) & (events.end > window.start))
    segments = model.segments
    waits = np.flatnonzero((segments.kind == WAIT) & ~segments.on_thread & (segments.end > segments.start))
    types = _kernel_types(model)
    known = lanes.frame["device"].astype("Int64").fillna(NONE).to_numpy(dtype=np.int64)
    places = np.stack([lanes.rank, known])
    rows = []
    for rank, number in np.unique(places[:, events.lane[work]], axis=1).T.tolist():
        here = (places == [[rank], [number]]).all(axis=0)
        mine, waiting = work[here[events.lane[work]]], waits[here[segments.lane[waits]]]
        spans = {
            name: [(events.start[at], events.end[at]) for at in mine if types[at] == name]
            for name in KERNEL_TYPES
        }
        held = [(segments.start[at], segments.end[at]) for at in waiting]
        spent = _spent(spans, held, window.start, window.end)
        busy_ns = spent["computing_ns"] + spent["transferring_ns"] + spent["waiting_ns"]
        row = {"rank": rank, "device": None if number == NONE else number, "busy_ns": busy_ns}
        rows.append({**row, "busy_share": busy_ns / length_ns, "count": len(mine), **spent})
    rows.sort(key=lambda row: (row["rank"], row["device"] is None, row["device"]))
    return pa.Table.from_pylist(rows, schema=_GPU_BUSY)


def _spent(
    spans: dict[str, list[tuple[int, int]]], held: list[tuple[int, int]], start_ns: int, end_ns: int
) -> dict[str, int]:
    """What a GPU does between any two moments at which something begins or ends."""
    ends = {end for of_type in (*spans.values(), held) for span in of_type for end in span}
    inside = {start_ns, end_ns, *(end for end in ends if start_ns < end < end_ns)}
    moments = np.array(sorted(inside), dtype=np.int64)
    length = np.diff(moments)

    def open_in(of_type: list[tuple[int, int]]) -> Ints:
        """How many are open in each stretch."""
        begins, until = (np.sort(np.array([span[i] for span in of_type], dtype=np.int64)) for i in (0, 1))
        before: Ints = np.searchsorted(begins, moments[:-1], "right")
        return before - np.searchsorted(until, moments[:-1], "right")

    computes, copies = open_in(spans[COMPUTATION]) > 0, open_in(spans[MEMORY]) > 0
    communicates, waiting = open_in(spans[COMMUNICATION]), open_in(held)
    alone = ~computes & ~copies & (communicates > 0)
    talking, late = alone & (communicates > waiting), alone & (communicates <= waiting)
    return {
        "computing_ns": int(length[computes].sum()),
        "transferring_ns": int(length[copies & ~computes | talking].sum()),
        "waiting_ns": int(length[late].sum()),
        "communicating_ns": int(length[talking].sum()),
    }


def _kernel_types(model: Model) -> list[str | None]:
    names, categories = model.events.name, model.events.category
    pairs = zip(names.codes.tolist(), categories.codes.tolist(), strict=True)
    return [kernel_type(str(names.values[a]), str(categories.values[b])) for a, b in pairs]


def events_about(model: Model, asked: Values) -> pa.Table:
    """Where events run whose names begin in one of several ways, and GPU work of a type."""
    events, beginnings = model.events, asked["beginnings"].split("\n")
    types = np.array(_kernel_types(model), dtype=object)
    fits = [[str(name).startswith(beginning) for beginning in beginnings] for name in events.name.values]
    fit = np.array(fits, dtype=bool).reshape(-1, len(beginnings))
    is_work = types != None  # noqa: E711 (element by element)
    named = fit.any(axis=1)[events.name.codes] & ~is_work
    of_type = is_work & (types == asked.get("kernel_type"))
    at = np.flatnonzero((named | of_type) & (events.start < int(asked["end_ns"])))
    at = at[events.end[at] > int(asked["start_ns"])]
    beginning = np.array(beginnings, dtype=object)[fit.argmax(axis=1)[events.name.codes[at]]]
    rows = pd.DataFrame(
        {
            "beginning": np.where(is_work[at], None, beginning),
            "kernel_type": types[at],
            "name": events.name.values[events.name.codes[at]],
            "lane": events.lane[at],
            "start_ns": events.start[at],
            "end_ns": events.end[at],
        }
    )
    order = ["beginning", "lane", "start_ns", "end_ns", "name"]
    return pa.Table.from_pandas(rows.sort_values(order), preserve_index=False)


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
