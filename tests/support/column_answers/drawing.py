"""What the lanes of a page are drawn with beside the work itself."""

import numpy as np
import pandas as pd
import pyarrow as pa

from column_answers.values import Values
from tracegraph.ingest.causal.graph.model import Model
from tracegraph.ingest.causal.graph.segments import WORK
from tracegraph.vocabulary.mechanisms import MECHANISMS


def stack_timeline(model: Model, asked: Values) -> pa.Table:
    """The longest events on threads that something cuts: lane, start_ns, end_ns, name, category."""
    events, segments = model.events, model.segments
    start_ns, end_ns = int(asked["start_ns"]), int(asked["end_ns"])
    of, worked = segments.event, (segments.kind == WORK) & (segments.event >= 0)
    whole = worked & (segments.start == events.start[of]) & (segments.end == events.end[of])
    container = events.on_thread.copy()
    container[of[whole]] = False
    rows = pd.DataFrame(
        {
            "lane": events.lane,
            "start_ns": events.start,
            "end_ns": events.end,
            "name": events.name.values[events.name.codes],
            "category": events.category.values[events.category.codes],
            "source_index": events.source_index,
            "length": events.end - events.start,
        }
    )
    inside = (rows["start_ns"] < end_ns) & (rows["end_ns"] > start_ns)
    rows = rows[container & inside & (rows["length"] >= int(asked["pixel_ns"]))]
    rows = rows.sort_values(["length", "source_index"], ascending=[False, True]).head(int(asked["limit"]))
    order = {"lane": True, "start_ns": True, "end_ns": False, "source_index": True}
    rows = rows.sort_values(list(order), ascending=list(order.values()))
    rows["start_ns"] = rows["start_ns"].clip(lower=start_ns)
    rows["end_ns"] = rows["end_ns"].clip(upper=end_ns)
    return pa.Table.from_pandas(rows.drop(columns=["source_index", "length"]), preserve_index=False)


def chain_causes(model: Model, asked: Values) -> pa.Table:
    """The longest chains, and the binding cause of the first segment of each."""
    segments, binding, found = model.segments, model.binding, model.dependencies
    start_ns, end_ns = int(asked["start_ns"]), int(asked["end_ns"])
    each = pd.DataFrame({"chain": binding.chain, "start_ns": segments.start, "end_ns": segments.end})
    rows = each.groupby("chain").agg({"start_ns": "min", "end_ns": "max"}).reset_index()
    first = each.reset_index().groupby("chain")["index"].min().to_numpy()
    rows["lane"], edge = segments.lane[first], binding.edge[first]
    bound = edge >= 0
    cause = found.cause[np.where(bound, edge, 0)] if len(found) else np.zeros(len(edge), dtype=np.int64)
    mechanism = found.mechanism[np.where(bound, edge, 0)] if len(found) else cause

    def known(values: object) -> "pd.Series[object]":
        return pd.Series(values, dtype=object).where(bound, None)

    rows["cause_chain"] = known(binding.chain[cause]).astype("Int64")
    rows["cause_lane"] = known(segments.lane[cause]).astype("Int64")
    rows["at_ns"] = known(segments.completion[cause]).astype("Int64")
    rows["dependency"] = known([MECHANISMS[code].kind for code in mechanism])
    rows["mechanism"] = known([MECHANISMS[code].name for code in mechanism])
    recorded = found.recorded[np.where(bound, edge, 0)] if len(found) else bound
    rows["evidence"] = known(np.where(recorded, "recorded", "inferred"))
    sure = found.confidence[np.where(bound, edge, 0)] if len(found) else np.zeros(len(edge))
    rows["confidence"] = np.where(bound, sure, np.nan)
    rows["length"] = rows["end_ns"] - rows["start_ns"]
    rows = rows[(rows["start_ns"] < end_ns) & (rows["end_ns"] > start_ns)]
    rows = rows.sort_values(["length", "chain"], ascending=[False, True]).head(int(asked["limit"]))
    rows = rows.sort_values(["lane", "start_ns", "chain"]).drop(columns="length")
    return pa.Table.from_pandas(rows, preserve_index=False)
