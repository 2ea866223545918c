"""The rows of the critical path from the columns: the same rows as the stored graph gives."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa

from tracegraph.ingest.arrays import Flags, Ints, Terms, placed_behind
from tracegraph.ingest.causal.events.events import NONE
from tracegraph.ingest.causal.graph.segments import WORK
from tracegraph.ingest.causal.graph.solution import Solution
from tracegraph.ingest.data_frames import whole_frame
from tracegraph.ingest.text_columns import arrow_texts
from tracegraph.vocabulary.categories import GAP
from tracegraph.vocabulary.evidence import EVIDENCE
from tracegraph.vocabulary.gaps import GAP_CODE, GAP_NAMES, UNKNOWN
from tracegraph.vocabulary.mechanisms import MECHANISMS


@dataclass(frozen=True)
class Stretches:
    """The rows in numbers, in time order; they tile the window.

    Attributes
    ----------
    segment
        The segment of a row; for a lag the segment after it.
    event
        The index of the event, -1 for a gap.
    gap_name
        The position in `GAP_NAMES`; it means something for gaps only.
    edge
        The dependency that binds the row, -1 for the first row.
    start, end
        Times in ns.
    """

    segment: Ints
    event: Ints
    gap_name: Terms
    edge: Ints
    start: Ints
    end: Ints

    @property
    def duration(self) -> Ints:
        """Length of each row, ns."""
        return self.end - self.start


def find_stretches(solution: Solution) -> Stretches:
    """Find the rows of the path of the whole window.

    A lag before a segment is a row of its own. Neighbouring pieces of one event are one row, which keeps what
    binds the first of them. Rows of no length are left out.
    """
    segments, found = solution.segments, solution.dependencies
    path = np.flatnonzero(solution.on_path)
    start, end = segments.start[path], segments.end[path]
    if (start[1:] <= start[:-1]).any():
        edge = solution.binding.edge[path]
        gap = np.where(edge >= 0, found.gap[edge], 0) if len(found) else np.zeros(len(path), dtype=np.int64)
        in_time = np.lexsort((-gap, end, start))
        path, start, end = path[in_time], start[in_time], end[in_time]
    before = np.append(solution.window.start, end[:-1])[: len(path)]
    lag, own = np.flatnonzero(before < start), np.flatnonzero(start < end)
    begin, until, at = start[own], end[own], path[own]
    is_lag = np.zeros(len(own), dtype=bool)
    if len(lag):
        begin, until = np.concatenate([before[lag], begin]), np.concatenate([start[lag], until])
        in_time = np.argsort(begin, kind="stable")
        begin, until = begin[in_time], until[in_time]
        at = np.concatenate([path[lag], at])[in_time]
        is_lag = in_time < len(lag)
    event = np.where(is_lag | (segments.kind[at] != WORK), -1, segments.event[at])
    lane = segments.lane[at]
    goes_on = (event[1:] >= 0) & (event[1:] == event[:-1]) & (lane[1:] == lane[:-1])
    first, last = np.append(True, ~goes_on)[: len(at)], np.append(~goes_on, True)[: len(at)]
    at, is_lag = at[first], is_lag[first]
    edge = solution.binding.edge[at].copy()
    lag_name = np.where(edge >= 0, solution.gap_name[edge] if len(found) else 0, GAP_CODE[UNKNOWN])
    edge[:1] = -1
    name = np.where(is_lag, lag_name, segments.gap_name[at])
    return Stretches(at, event[first], name, edge, begin[first], until[last])


def path_table(solution: Solution) -> pa.Table:
    """Make the rows of the path of the whole window, as the query `critical_path` gives them.

    Returns
    -------
    pa.Table
        Columns position, rank, lane, source_index (null for a gap), name, category (`gap` for a gap),
        start_ns, end_ns, dependency (`root` for the first row), mechanism, evidence, confidence, lag_ns,
        margin_ns (these five are null for the first row), lane_name. Texts are dictionaries.
    """
    rows, events, found = find_stretches(solution), solution.events, solution.dependencies
    is_gap, unbound = rows.event < 0, rows.edge < 0
    edge = np.where(unbound, 0, rows.edge)
    code = np.full(len(is_gap), len(MECHANISMS), dtype=np.int64)
    code[~unbound] = found.mechanism[rows.edge[~unbound]]
    kinds = [m.kind for m in MECHANISMS]
    margin = solution.binding.margin[rows.segment]
    gap_name = placed_behind(len(events.name.values), rows.gap_name)
    lane, lanes = solution.segments.lane[rows.segment], solution.lanes.frame["name"].tolist()
    return pa.table(
        {
            "position": np.arange(len(is_gap)),
            "rank": solution.lanes.rank[lane],
            "lane": lane,
            "source_index": pa.array(events.source_index[rows.event], mask=is_gap),
            "name": arrow_texts(
                np.where(is_gap, gap_name, events.name.codes[rows.event]),
                [*events.name.values, *GAP_NAMES],
            ),
            "category": arrow_texts(
                np.where(is_gap, len(events.category.values), events.category.codes[rows.event]),
                [*events.category.values, GAP],
            ),
            "start_ns": rows.start,
            "end_ns": rows.end,
            "dependency": arrow_texts(code, [*kinds, "root"]),
            "mechanism": arrow_texts(code, [*(m.name for m in MECHANISMS), ""], mask=unbound),
            "evidence": arrow_texts(_picked(~found.recorded, edge, unbound), EVIDENCE, mask=unbound),
            "confidence": pa.array(_picked(found.confidence, edge, unbound), mask=unbound),
            "lag_ns": pa.array(_picked(found.lag, edge, unbound), mask=unbound),
            "margin_ns": pa.array(margin, mask=unbound | (margin == NONE)),
            "lane_name": arrow_texts(lane, lanes),
        }
    )


def _picked(values: npt.NDArray[Any], edge: Ints, unbound: Flags) -> npt.NDArray[Any]:
    """Pick the value of each row's edge, any value for a row without an edge."""
    return values[edge] if len(values) else np.zeros(len(unbound), dtype=values.dtype)


def path_rows(solution: Solution) -> pd.DataFrame:
    """Make the rows of `path_table` as a frame; source_index is -1 for a gap, other nulls are "" or 0."""
    frame = whole_frame(path_table(solution).drop_columns(["position", "rank", "lane_name"]))
    texts = {name: frame[name].astype(object) for name in ("name", "category", "dependency")}
    empty = {name: frame[name].astype(object).fillna("") for name in ("mechanism", "evidence")}
    rows: pd.DataFrame = frame.assign(
        **texts,
        **empty,
        source_index=frame["source_index"].fillna(-1).astype(np.int64),
        lag_ns=frame["lag_ns"].fillna(0).astype(np.int64),
        confidence=frame["confidence"].astype(float),
    )
    return rows
