"""The rows of the critical path from the columns: the same that the stored graph gives."""

import numpy as np
import pandas as pd

from tracegraph.ingest.dependencies.edges import GAP_CODE, GAP_NAMES, MECHANISMS
from tracegraph.ingest.events import NONE, Flags, Ints
from tracegraph.ingest.model import Solution
from tracegraph.ingest.segments import WORK
from tracegraph.store.schema import EVIDENCE


def path_rows(model: Solution) -> pd.DataFrame:
    """Rows of the path of the whole window, in time order; they tile it.

    Columns: lane, source_index (-1 for a gap), name, category (`gap` for a gap), start_ns, end_ns, dependency
    (`root` for the first row), mechanism, evidence (empty for the first row), confidence (NaN), lag_ns,
    margin_ns (nullable). Made like `tracegraph.queries.path.critical_path`: a lag before a segment is a row
    of its own, neighbouring pieces of one event are one row, and rows of no length are left out.
    """
    segments = model.segments
    chosen = np.flatnonzero(model.on_path)
    start, end = segments.start[chosen], segments.end[chosen]
    gap = _binding_gap(model, chosen)
    order = np.lexsort((-gap, end, start))
    chosen, start, end = chosen[order], start[order], end[order]
    before = np.append(model.window.start, end[:-1])
    at = np.concatenate([chosen, chosen])
    is_lag = np.repeat([True, False], len(chosen))
    begin, until = np.concatenate([before, start]), np.concatenate([start, end])
    lasting = np.flatnonzero(begin < until)
    lasting = lasting[np.argsort(begin[lasting], kind="stable")]
    at, is_lag, begin, until = at[lasting], is_lag[lasting], begin[lasting], until[lasting]
    event = np.where(is_lag | (segments.kind[at] != WORK), -1, segments.event[at])
    return _describe(model, at, is_lag, event, *_merge(segments.lane[at], event, begin, until))


def _binding_gap(model: Solution, chosen: Ints) -> Ints:
    edge = model.binding.edge[chosen]
    return np.where(edge >= 0, model.dependencies.gap[edge], 0) if len(model.dependencies) else edge * 0


def _merge(lane: Ints, event: Ints, begin: Ints, until: Ints) -> tuple[Flags, Ints, Ints]:
    """Which rows begin a stretch of one event, and where those stretches begin and end."""
    same = (event[1:] >= 0) & (event[1:] == event[:-1]) & (lane[1:] == lane[:-1])
    first = np.append(True, ~same)[: len(event)]
    last = np.append(~same, True)[: len(event)]
    return first, begin[first], until[last]


def _describe(
    model: Solution, at: Ints, is_lag: Flags, event: Ints, first: Flags, begin: Ints, until: Ints
) -> pd.DataFrame:
    at, is_lag, event = at[first], is_lag[first], event[first]
    segments, found, names = model.segments, model.dependencies, model.events.name
    edge = model.binding.edge[at].copy()
    edge[:1] = -1
    bound = edge >= 0
    code = found.mechanism[edge] if len(found) else edge
    mechanisms = np.array([[m.kind, m.name] for m in MECHANISMS], dtype=object)
    kind, mechanism = (np.where(bound, mechanisms[code, i], "") for i in range(2))
    lag = np.where(bound, model.gap_name[edge] if len(found) else 0, GAP_CODE["unknown"])
    gap_name = np.array(GAP_NAMES, dtype=object)[np.where(is_lag, lag, segments.gap_name[at])]
    is_gap = event < 0
    margin = model.binding.margin[at]
    return pd.DataFrame(
        {
            "lane": segments.lane[at],
            "source_index": np.where(is_gap, -1, model.events.source_index[event]),
            "name": np.where(is_gap, gap_name, names[event]),
            "category": np.where(is_gap, "gap", model.events.category[event]),
            "start_ns": begin,
            "end_ns": until,
            "dependency": np.where(bound, kind, "root"),
            "mechanism": mechanism,
            "evidence": np.where(bound, np.where(found.recorded[edge], *EVIDENCE), "").astype(object),
            "confidence": np.where(bound, found.confidence[edge], np.nan),
            "lag_ns": np.where(bound, found.lag[edge], 0),
            "margin_ns": pd.Series(margin).astype("Int64").mask(margin == NONE),
        }
    )
