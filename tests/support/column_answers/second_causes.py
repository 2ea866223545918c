"""How close second causes come on the path: `second_causes`."""

import numpy as np
import pandas as pd
import pyarrow as pa

from column_answers.values import Values
from tracegraph.ingest.causal.events.events import NONE
from tracegraph.ingest.causal.graph.hotspots import find_kinds
from tracegraph.ingest.causal.graph.model import Model
from tracegraph.ingest.causal.graph.segments import WORK
from tracegraph.vocabulary.gaps import GAP_NAMES
from tracegraph.vocabulary.mechanisms import MECHANISMS

_TEXT = pa.string()
_SCHEMA = pa.schema(
    [
        *(("name", _TEXT), ("category", _TEXT), ("duration_ns", pa.int64()), ("count", pa.int64())),
        *(("margin_ns", pa.int64()), ("cause", _TEXT), ("mechanism", _TEXT)),
        *(("second", _TEXT), ("second_mechanism", _TEXT)),
    ]
)


def second_causes(model: Model, asked: Values) -> pa.Table:
    """The largest events of the path by name with their smallest margin, and the two causes at that start."""
    segments = model.segments
    at = np.flatnonzero(model.on_path & (segments.kind == WORK) & (segments.end > segments.start))
    kinds = find_kinds(model.events, segments.event[at])
    durations = kinds.lengths(segments.end[at] - segments.start[at])
    margin = np.where(segments.start[at] > model.window.start, model.binding.margin[at], NONE)
    starts = pd.DataFrame({"kind": kinds.number, "margin": margin, "start": segments.start[at], "at": at})
    starts = starts[starts["margin"] != NONE]
    counts = np.bincount(starts["kind"], minlength=len(kinds.name))
    closest = starts.sort_values(["margin", "start", "at"]).groupby("kind").first()
    rows = []
    for kind in kinds.longest(durations, int(asked["limit"])):
        row: dict[str, object] = {**kinds.row(durations, kind), "count": int(counts[kind])}
        if kind in closest.index:
            least, segment = closest.loc[kind, ["margin", "at"]].to_numpy()
            row |= {"margin_ns": int(least), **_causes(model, int(segment))}
        rows.append(row)
    return pa.Table.from_pylist(rows, schema=_SCHEMA)


def _causes(model: Model, segment: int) -> dict[str, object]:
    """The binding cause, and the one that would have let the segment start last."""
    found = model.dependencies
    low, high = np.searchsorted(found.effect, [segment, segment + 1])
    order = sorted(
        range(low, high),
        key=lambda i: (
            not found.binding[i],
            int(found.gap[i] - found.lag[i]),
            MECHANISMS[found.mechanism[i]].name,
        ),
    )
    row: dict[str, object] = {}
    for edge, name, mechanism in zip(
        order, ("cause", "second"), ("mechanism", "second_mechanism"), strict=False
    ):
        row[name] = _name(model, int(found.cause[edge]))
        row[mechanism] = MECHANISMS[found.mechanism[edge]].name
    return row


def _name(model: Model, segment: int) -> str:
    segments = model.segments
    if segments.kind[segment] == WORK:
        return str(model.events.name[segments.event[segment]])
    return str(GAP_NAMES[segments.gap_name[segment]])
