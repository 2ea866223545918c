"""The rows of the critical path from the columns: the same that the stored graph gives."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from tracegraph.ingest.dependencies.edges import GAP_CODE, GAP_NAMES, MECHANISMS
from tracegraph.ingest.events import NONE, Ints
from tracegraph.ingest.model import Solution
from tracegraph.ingest.segments import WORK
from tracegraph.store.schema import EVIDENCE


@dataclass(frozen=True)
class Stretches:
    """The rows in numbers, in time order; they tile the window.

    `segment`: the segment of a row, of a lag the one after it. `event`: index, -1 for a gap. `gap_name`:
    position in `edges.GAP_NAMES`, meaningful for gaps. `edge`: what binds it, -1 for the first row.
    """

    segment: Ints
    event: Ints
    gap_name: Ints
    edge: Ints
    start: Ints
    end: Ints

    @property
    def duration(self) -> Ints:
        """Length of each row, ns."""
        return self.end - self.start


def find_stretches(solution: Solution) -> Stretches:
    """Rows of the path of the whole window.

    A lag before a segment is a row of its own, neighbouring pieces of one event are one row that keeps what
    binds the first of them, and rows of no length are left out.
    """
    segments, found = solution.segments, solution.dependencies
    path = np.flatnonzero(solution.on_path)
    edge = solution.binding.edge[path]
    gap = np.where(edge >= 0, found.gap[edge], 0) if len(found) else np.zeros(len(path), dtype=np.int64)
    path = path[np.lexsort((-gap, segments.end[path], segments.start[path]))]
    start, end = segments.start[path], segments.end[path]
    at = np.concatenate([path, path])
    is_lag = np.repeat([True, False], len(path))
    begin = np.concatenate([np.append(solution.window.start, end[:-1]), start])
    until = np.concatenate([start, end])
    lasting = np.flatnonzero(begin < until)
    lasting = lasting[np.argsort(begin[lasting], kind="stable")]
    at, is_lag, begin, until = at[lasting], is_lag[lasting], begin[lasting], until[lasting]
    event = np.where(is_lag | (segments.kind[at] != WORK), -1, segments.event[at])
    lane = segments.lane[at]
    goes_on = (event[1:] >= 0) & (event[1:] == event[:-1]) & (lane[1:] == lane[:-1])
    first, last = np.append(True, ~goes_on)[: len(at)], np.append(~goes_on, True)[: len(at)]
    at, is_lag = at[first], is_lag[first]
    edge = solution.binding.edge[at].copy()
    edge[:1] = -1
    lag_name = np.where(edge >= 0, solution.gap_name[edge] if len(found) else 0, GAP_CODE["unknown"])
    name = np.where(is_lag, lag_name, segments.gap_name[at])
    return Stretches(at, event[first], name, edge, begin[first], until[last])


def path_rows(solution: Solution) -> pd.DataFrame:
    """Rows of the path of the whole window, with their names.

    Columns: lane, source_index (-1 for a gap), name, category (`gap` for a gap), start_ns, end_ns, dependency
    (`root` for the first row), mechanism, evidence (empty for the first row), confidence (NaN), lag_ns,
    margin_ns (nullable).
    """
    rows, events, found = find_stretches(solution), solution.events, solution.dependencies
    is_gap, bound = rows.event < 0, rows.edge >= 0
    code = found.mechanism[rows.edge] if len(found) else rows.edge
    mechanisms = np.array([[m.kind, m.name] for m in MECHANISMS], dtype=object)
    evidence = np.where(found.recorded[rows.edge], *EVIDENCE).astype(object) if len(found) else ""
    margin = pd.Series(solution.binding.margin[rows.segment])
    gaps = np.array(GAP_NAMES, dtype=object)[rows.gap_name]
    return pd.DataFrame(
        {
            "lane": solution.segments.lane[rows.segment],
            "source_index": np.where(is_gap, -1, events.source_index[rows.event]),
            "name": np.where(is_gap, gaps, events.name[rows.event]),
            "category": np.where(is_gap, "gap", events.category[rows.event]),
            "start_ns": rows.start,
            "end_ns": rows.end,
            "dependency": np.where(bound, mechanisms[code, 0], "root"),
            "mechanism": np.where(bound, mechanisms[code, 1], ""),
            "evidence": np.where(bound, evidence, ""),
            "confidence": np.where(bound, found.confidence[rows.edge] if len(found) else np.nan, np.nan),
            "lag_ns": np.where(bound, found.lag[rows.edge] if len(found) else 0, 0),
            "margin_ns": margin.astype("Int64").mask(margin == NONE),
        }
    )
