"""How the path changes with its assumptions: other policies between threads, and recorded edges only."""

from collections import Counter
from collections.abc import Iterator

import numpy as np

from tracegraph.ingest.causal.graph.hotspots import find_kinds
from tracegraph.ingest.causal.graph.model import Model, solve
from tracegraph.ingest.causal.graph.path_rows import find_stretches
from tracegraph.ingest.causal.graph.solution import Solution
from tracegraph.ingest.causal.rules import POLICIES
from tracegraph.ingest.causal.rules.edges import Found
from tracegraph.store.schema.schema import RECORDED_ONLY
from tracegraph.vocabulary.categories import GAP
from tracegraph.vocabulary.gaps import GAP_NAMES

_HOTSPOTS = 5
"""How many of the longest hotspots a summary lists: they stand in one cell of the table."""
Summary = dict[str, object]


def find_alternatives(model: Model) -> list[Summary]:
    """Summarise the path under the run's own policy, under each other one, and on recorded edges alone.

    The length of the path is always that of the window.

    Returns
    -------
    list of dict
        One for each: `assumption` (a policy, or `recorded only`), `chosen` (whether it is the run's own),
        `by_category_ns`, `by_gap_ns`, `inferred_ns` (length of the rows whose dependency a timing rule made),
        and `hotspots` (name, category, duration_ns), the five longest.
    """
    summary = _summarise(model)
    rows: list[Summary] = [{"assumption": model.cross_thread, "chosen": True, **summary}]
    for assumption, found in _assumptions(model):
        same = not _differs(model.found, found)
        other = summary if same else _summarise(solve(model.scene, found, assumption, model.meetings))
        rows.append({"assumption": assumption, "chosen": False, **other})
    return rows


def _assumptions(model: Model) -> Iterator[tuple[str, Found]]:
    for policy in POLICIES:
        if policy != model.cross_thread:
            yield policy, model.under(policy)
    yield RECORDED_ONLY, model.found.recorded_only()


def _differs(one: Found, other: Found) -> bool:
    """Tell whether the edges differ; waits come with edges."""
    names = ("cause_lane", "cause_time", "effect_lane", "effect_time", "mechanism")
    pairs = [(getattr(one.edges, name), getattr(other.edges, name)) for name in names]
    return not all(np.array_equal(mine, theirs) for mine, theirs in pairs)


def _summarise(solution: Solution) -> Summary:
    rows, found = find_stretches(solution), solution.dependencies
    is_gap, duration = rows.event < 0, rows.duration
    inferred = (rows.edge >= 0) & ~found.recorded[rows.edge] if len(found) else is_gap & False
    kinds = find_kinds(solution.events, rows.event[~is_gap])
    totals = kinds.lengths(duration[~is_gap])
    by_category = Counter({GAP: int(duration[is_gap].sum())})
    for category, total in zip(kinds.category.tolist(), totals.tolist(), strict=True):
        by_category[str(category)] += total
    by_gap: Counter[str] = Counter()
    for name, total in zip(rows.gap_name[is_gap].tolist(), duration[is_gap].tolist(), strict=True):
        by_gap[GAP_NAMES[name]] += total
    return {
        "by_category_ns": {name: total for name, total in by_category.most_common() if total},
        "by_gap_ns": dict(by_gap.most_common()),
        "inferred_ns": int(duration[inferred].sum()),
        "hotspots": [kinds.row(totals, number) for number in kinds.longest(totals, _HOTSPOTS)],
    }
