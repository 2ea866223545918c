"""How the path changes with its assumptions: other policies between threads, and recorded edges only."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import fields
from typing import TypeVar

import numpy as np
import pandas as pd

from tracegraph.ingest.causal.graph.hotspots import find_kinds
from tracegraph.ingest.causal.graph.model import Model, find_path
from tracegraph.ingest.causal.graph.path_rows import find_stretches
from tracegraph.ingest.causal.graph.solution import Solution
from tracegraph.ingest.causal.rules import POLICIES
from tracegraph.ingest.causal.rules.edges import Edges, Found, Waits
from tracegraph.store.schema.schema import RECORDED_ONLY
from tracegraph.vocabulary.categories import GAP
from tracegraph.vocabulary.gaps import GAP_NAMES

_HOTSPOTS = 5
"""How many of the longest hotspots a summary lists: they stand in one cell of the table."""
Summary = dict[str, object]
Table = TypeVar("Table", Edges, Waits)


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
    known: list[tuple[Found, Summary]] = []
    for assumption, found in _assumptions(model):
        same = _known(known, found) if _differs(model.found, found) else summary
        if same is None:
            same = _summarise(find_path(model.scene, found, assumption, model.meetings))
            known.append((found, same))
        rows.append({"assumption": assumption, "chosen": False, **same})
    return rows


def _known(known: Iterable[tuple[Found, Summary]], found: Found) -> Summary | None:
    """Return the summary of what finds the same edges and waits, if there is one."""
    alike = (
        summary
        for other, summary in known
        if _are_equal(found.edges, other.edges) and _are_equal(found.waits, other.waits)
    )
    return next(alike, None)


def _assumptions(model: Model) -> Iterator[tuple[str, Found]]:
    for policy in POLICIES:
        if policy != model.cross_thread:
            yield policy, model.under(policy)
    yield RECORDED_ONLY, model.found.recorded_only()


def _differs(one: Found, other: Found) -> bool:
    """Tell whether the edges differ; waits come with edges."""
    names = ("cause_lane", "cause_time", "effect_lane", "effect_time", "mechanism")
    return not _are_equal(one.edges, other.edges, names)


def _are_equal(one: Table, other: Table, names: Iterable[str] | None = None) -> bool:
    """Tell whether two tables have the same rows, in these columns or in all."""
    names = names or [field.name for field in fields(one)]
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in names)


def _summarise(solution: Solution) -> Summary:
    rows, found = find_stretches(solution), solution.dependencies
    is_gap, duration = rows.event < 0, rows.duration
    inferred = (rows.edge >= 0) & ~found.recorded[rows.edge] if len(found) else is_gap & False
    kinds = find_kinds(solution.events, rows.event[~is_gap])
    totals = kinds.lengths(duration[~is_gap])
    by_category = Counter({GAP: int(duration[is_gap].sum())})
    for category, total in zip(kinds.category.tolist(), totals.tolist(), strict=True):
        by_category[str(category)] += total
    number, names = pd.factorize(rows.gap_name[is_gap])
    spent = np.zeros(len(names), dtype=np.int64)
    np.add.at(spent, number, duration[is_gap])
    by_gap = Counter({GAP_NAMES[name]: total for name, total in zip(names, spent.tolist(), strict=True)})
    return {
        "by_category_ns": {name: total for name, total in by_category.most_common() if total},
        "by_gap_ns": dict(by_gap.most_common()),
        "inferred_ns": int(duration[inferred].sum()),
        "hotspots": [kinds.row(totals, number) for number in kinds.longest(totals, _HOTSPOTS)],
    }
