"""What the critical path of each profiler step is made of: `step_hotspots`."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
import pyarrow as pa

from tracegraph.ingest.array_tables import join_rows, select_rows
from tracegraph.ingest.arrays import Flags, Ints, placed_behind
from tracegraph.ingest.causal.events.lane_times import Keys
from tracegraph.ingest.causal.graph.model import Model
from tracegraph.ingest.causal.graph.segments import WORK
from tracegraph.ingest.text_columns import arrow_texts
from tracegraph.vocabulary.categories import GAP
from tracegraph.vocabulary.gaps import GAP_CODE, GAP_NAMES, UNKNOWN

_SEGMENTS_AT_ONCE = 500_000
_KEYS = ["rank", "number", "name", "category", "on_gpu"]


@dataclass(frozen=True)
class _Visits:
    """One path a step: the chains on it by their first segment, each with when the path leaves it, ns."""

    step: Ints
    first: Ints
    exit: Ints


@dataclass(frozen=True)
class _Rows:
    """Stretches of the steps' paths before they are cut to the step; `event` is -1 for a gap.

    `inferred`: whether it begins with an inferred dependency.
    """

    step: Ints
    segment: Ints
    event: Ints
    gap_name: Ints
    start: Ints
    end: Ints
    inferred: Flags


def step_hotspots(model: Model) -> pa.Table:
    """Every step's path by name: rank, number, name, category, on_gpu, duration_ns, inferred_ns.

    The paths are those of the steps' own windows, each from the work that ends its window.
    """
    visits, places = _walk(model), _Places(model)
    count = places.counts(visits)
    # All at once would take more memory than the whole graph.
    batch = np.cumsum(count) // _SEGMENTS_AT_ONCE
    parts = [_sums(model, *places.segments(select_rows(visits, batch == each))) for each in np.unique(batch)]
    nothing = np.empty(0, dtype=np.int64)
    sums = pd.concat([_sums(model, nothing, nothing, nothing), *parts]).groupby(_KEYS, as_index=False).sum()
    names = [*model.events.name.values, *GAP_NAMES]
    categories = [*model.events.category.values, GAP]
    table = pa.table(
        {
            "rank": sums["rank"].to_numpy(),
            "number": sums["number"].to_numpy(),
            "name": arrow_texts(sums["name"].to_numpy(), names).cast(pa.string()),
            "category": arrow_texts(sums["category"].to_numpy(), categories).cast(pa.string()),
            **{name: sums[name].to_numpy() for name in ("on_gpu", "duration_ns", "inferred_ns")},
        }
    )
    order = {"rank": "ascending", "number": "ascending", "duration_ns": "descending"}
    return table.sort_by([*order.items(), *((name, "ascending") for name in ("name", "category", "on_gpu"))])


def _sums(model: Model, step: Ints, segment: Ints, first: Ints) -> pd.DataFrame:
    """Lengths of the stretches that begin with the segments, by step and name, as codes."""
    rows = join_rows([_segment_rows(model, step, segment, first), _lag_rows(model, step, segment, first)])
    events, steps = model.events, model.steps
    begin, until = steps.start[rows.step], steps.window_end[rows.step]
    length = np.minimum(rows.end, until) - np.maximum(rows.start, begin)
    is_gap = rows.event < 0
    found = pd.DataFrame(
        {
            "rank": steps.rank[rows.step],
            "number": steps.number[rows.step],
            "name": np.where(
                is_gap, placed_behind(len(events.name.values), rows.gap_name), events.name.codes[rows.event]
            ),
            "category": np.where(is_gap, len(events.category.values), events.category.codes[rows.event]),
            "on_gpu": ~model.segments.on_thread[rows.segment],
            "duration_ns": length,
            "inferred_ns": length * (rows.inferred & (rows.start > begin)),
        }
    )
    return found[length > 0].groupby(_KEYS, as_index=False).sum()


def _walk(model: Model) -> _Visits:
    """From the sink of each step back over the binding causes of chains, until one begins with the step."""
    segments, found, binding = model.segments, model.dependencies, model.binding
    first = np.flatnonzero(np.append(True, binding.chain[1:] != binding.chain[:-1]))
    edge = binding.edge[first]
    cause = np.where(edge >= 0, np.append(found.cause, -1)[edge], -1)
    before = np.where(cause >= 0, binding.chain[cause], -1).tolist()
    left_at, begins = segments.completion[cause].tolist(), segments.start[first].tolist()
    visits = []
    ends = _sinks(model)
    for step, (start, end) in enumerate(zip(model.steps.start, model.steps.window_end, strict=True)):
        chain, leaves = ends.get(int(end), -1), int(end)
        while chain >= 0 and leaves > start:
            visits.append((step, int(first[chain]), leaves))
            leaves = left_at[chain]
            chain = before[chain] if begins[chain] > start else -1
    return _Visits(*np.array(visits, dtype=np.int64).reshape(-1, 3).T)


def _sinks(model: Model) -> dict[int, int]:
    """The chain of the work that ends at each end of a step, on a lane that matters, the lowest one."""
    segments = model.segments
    ends = np.isin(segments.end, model.steps.window_end) & (segments.end > segments.start)
    at = np.flatnonzero(ends & model.lanes.matters[segments.lane])
    at = at[np.lexsort((segments.lane[at], segments.kind[at]))][::-1]
    return dict(zip(segments.end[at].tolist(), model.binding.chain[at].tolist(), strict=True))


class _Places:
    """Finds the segments of a chain between two moments."""

    def __init__(self, model: Model) -> None:
        self._model, self._segments = model, model.segments
        self._keys = Keys(model.window.start, model.window.end, len(model.lanes.frame))
        self._starts = self._keys.of(model.segments.lane, model.segments.start)
        # Work of one stream may overlap: no end before the first that passes a moment does.
        so_far = pd.Series(model.segments.end).groupby(model.segments.lane).cummax().to_numpy()
        self._ends = self._keys.of(model.segments.lane, so_far)

    def _bounds(self, visits: _Visits) -> tuple[Ints, Ints]:
        lane, chain, window = self._segments.lane[visits.first], self._model.binding.chain, self._model.window
        begin = np.clip(self._model.steps.start[visits.step], window.start, window.end)
        leave = np.clip(visits.exit, window.start, window.end)
        low = np.searchsorted(self._ends, self._keys.of(lane, begin), "right")
        high = np.searchsorted(self._starts, self._keys.of(lane, leave), "right")
        low = np.maximum(low, visits.first)
        return low, np.maximum(low, np.minimum(high, np.searchsorted(chain, chain[visits.first], "right")))

    def counts(self, visits: _Visits) -> Ints:
        """How many segments may lie on each visit."""
        low, high = self._bounds(visits)
        return high - low

    def segments(self, visits: _Visits) -> tuple[Ints, Ints, Ints]:
        """Segments on the visits: the step, the segment, and the first segment of its chain."""
        low, high = self._bounds(visits)
        count = high - low
        at = np.arange(count.sum()) + np.repeat(low - np.cumsum(count) + count, count)
        step, first, leaves = (
            np.repeat(column, count) for column in (visits.step, visits.first, visits.exit)
        )
        start, end = self._segments.start[at], self._segments.end[at]
        # One of no length that ends where the path leaves is on it: the lag before it tells why it started.
        inside = (start < leaves + (start == end)) & (end > self._model.steps.start[step])
        return step[inside], at[inside], first[inside]


def _inferred(model: Model, edge: Ints) -> Flags:
    flags: Flags = (edge >= 0) & ~np.append(model.dependencies.recorded, True)[edge]
    return flags


def _may_lag(model: Model, segment: Ints, first: Ints) -> Flags:
    """On a thread only the first of a chain has a lag or another cause than the order of the program."""
    segments = model.segments
    flags: Flags = ~segments.on_thread[segment] | (segments.start[segment] == segments.start[first])
    return flags


def _segment_rows(model: Model, step: Ints, segment: Ints, first: Ints) -> _Rows:
    segments = model.segments
    return _Rows(
        step=step,
        segment=segment,
        event=np.where(segments.kind[segment] == WORK, segments.event[segment], -1),
        gap_name=segments.gap_name[segment],
        start=segments.start[segment],
        end=segments.end[segment],
        inferred=_may_lag(model, segment, first) & _inferred(model, model.binding.edge[segment]),
    )


def _lag_rows(model: Model, step: Ints, segment: Ints, first: Ints) -> _Rows:
    """The lags between segments and their causes; a wait before it in its chain is on the path itself."""
    segments, found, chain = model.segments, model.dependencies, model.binding.chain
    chosen = _may_lag(model, segment, first)
    step, segment = step[chosen], segment[chosen]
    edge = model.binding.edge[segment]
    bound = edge >= 0
    cause = np.append(found.cause, 0)[edge]
    own = chain[cause] == chain[segment]
    since = np.where(own, segments.end[cause], segments.start[segment] - np.append(found.gap, 0)[edge])
    return _Rows(
        step=step,
        segment=segment,
        event=np.full(len(step), -1),
        gap_name=np.where(bound, np.append(model.gap_name, 0)[edge], GAP_CODE[UNKNOWN]),
        start=np.where(bound, since, model.steps.start[step]),
        end=segments.start[segment],
        inferred=_inferred(model, edge),
    )
