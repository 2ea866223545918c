"""What each of the top hotspots costs, and what is critical once it is gone."""

from collections.abc import Iterator

import numpy as np

from tracegraph.ingest.causal.graph.hotspots import Kinds, find_kinds
from tracegraph.ingest.causal.graph.path_rows import find_stretches
from tracegraph.ingest.causal.graph.segments import WAIT, WORK
from tracegraph.ingest.causal.graph.solution import Solution
from tracegraph.ingest.what_if.changes.change import Change
from tracegraph.ingest.what_if.predictions.predict import Predictor, predictor_of
from tracegraph.vocabulary.categories import GAP
from tracegraph.vocabulary.gaps import GAP_CODE
from tracegraph.vocabulary.mechanisms import CODE, MECHANISMS

# The number of hotspots for which this is asked.
_HOTSPOTS = 5
_OWN_WAITS = tuple(CODE[mechanism.name] for mechanism in MECHANISMS if mechanism.own_wait)
Row = dict[str, object]


def find_what_next(model: Solution, predictor: Predictor | None = None) -> list[Row]:
    """Find the critical path after each of the five longest hotspots on the path is removed.

    A gain below the duration says that something else was nearly as late. Waiting for another rank or for the
    GIL counts as a hotspot (category `gap`); waits for what the file shows do not, as their causes are on the
    path themselves.

    Parameters
    ----------
    predictor
        The predictor of the model's graph, if there is one already.

    Returns
    -------
    rows
        Longest first: name, category, duration_ns (on the path), selector (for `what-if`), gain_ns (by how
        much the window gets shorter without all work of that name, on the path or not), naive_ns (the same as
        recorded), basis (what gain_ns is: "corrected" for what recording cost, or "naive" if the file does
        not show that) and following, the three longest hotspots of the path that is then critical (name,
        category, duration_ns).
    """
    segments = model.segments
    at = np.flatnonzero((segments.kind == WORK) & (segments.event >= 0))
    if not model.lanes.matters[segments.lane[at]].any():
        return []
    predictor = predictor or predictor_of(model)
    kinds = find_kinds(model.events, segments.event[at])
    on_path = kinds.lengths(segments.work[at] * model.on_path[at])
    largest = [kinds.row(on_path, number) for number in kinds.longest(on_path, _HOTSPOTS)]
    hotspots = sorted((*_waits(model), *largest), key=lambda row: -int(str(row["duration_ns"])))
    return [_with_gain(model, predictor, kinds, row) for row in hotspots[:_HOTSPOTS]]


def _with_gain(model: Solution, predictor: Predictor, kinds: Kinds, row: Row) -> Row:
    """Add to a hotspot what is gained if it takes no time, as `what-if` answers its selector."""
    segments, name, category = model.segments, str(row["name"]), str(row["category"])
    if category == GAP:
        selector = f"remove-wait={name}"
        change = Change(np.ones(len(segments)), (GAP_CODE[name],))
    else:
        alike = kinds.category[kinds.name == name]
        selector = "name=" + name.replace(",", "\\,") + (f",category={category}" if len(alike) > 1 else "")
        # Its own time, with what no rule explains inside: as `name=` selects it.
        event = segments.event
        mine = (event >= 0) & (segments.kind != WAIT)
        mine &= (model.events.name.among(name) & model.events.category.among(category))[event]
        change = Change(np.where(mine, 0.0, 1.0))
    said = predictor.glance(change)
    gains = {"gain_ns": said.corrected.gain_ns, "naive_ns": said.naive.gain_ns, "basis": said.basis}
    return {**row, "selector": selector, **gains, "following": [dict(one) for one in said.following]}


def _waits(model: Solution) -> Iterator[Row]:
    """Yield the time on the path in the waits of each of `_OWN_WAITS`, if there is some, as rows."""
    found = model.dependencies
    if not np.isin(found.mechanism[found.binding], _OWN_WAITS).any():
        return
    rows = find_stretches(model)
    for rule in _OWN_WAITS:
        bound = (rows.event < 0) & (rows.edge >= 0)
        spent = int(rows.duration[bound][found.mechanism[rows.edge[bound]] == rule].sum())
        if spent:
            yield {"name": MECHANISMS[rule].gap, "category": GAP, "duration_ns": spent}
