"""How the path changes where its assumptions do: other policies between threads, and recorded edges only."""

from collections.abc import Iterator

import numpy as np

from tracegraph.ingest.model import Model, Solution, solve
from tracegraph.ingest.path_rows import path_rows
from tracegraph.ingest.policies import POLICIES, Found, find_edges, only_recorded
from tracegraph.store.schema import RECORDED_ONLY

_HOTSPOTS = 5
Summary = dict[str, object]


def find_alternatives(model: Model) -> list[Summary]:
    """The path's summary under the run's own policy, under each other one, and on recorded edges alone.

    One row each: assumption (a policy, or `recorded only`), chosen (whether it is the run's own),
    by_category_ns, by_gap_ns, inferred_ns (length of the rows whose dependency a timing rule made), and
    hotspots (name, category, duration_ns), the five longest. The length is always that of the window.
    """
    own = find_edges(model.basis, model.cross_thread)
    rows = [{"assumption": model.cross_thread, "chosen": True, **_summarise(model)}]
    for assumption, found in _assumptions(model, own):
        summary = _summarise(solve(model.basis, *found)) if _differs(own, found) else _summarise(model)
        rows.append({"assumption": assumption, "chosen": False, **summary})
    return rows


def _assumptions(model: Model, own: Found) -> Iterator[tuple[str, Found]]:
    for policy in POLICIES:
        if policy != model.cross_thread:
            yield policy, find_edges(model.basis, policy)
    yield RECORDED_ONLY, only_recorded(own)


def _differs(one: Found, other: Found) -> bool:
    """Whether the edges differ; waits come with edges."""
    names = ("cause_lane", "cause_time", "effect_lane", "effect_time", "mechanism")
    pairs = [(getattr(one[0], name), getattr(other[0], name)) for name in names]
    return not all(np.array_equal(mine, theirs) for mine, theirs in pairs)


def _summarise(solution: Solution) -> Summary:
    rows = path_rows(solution)
    rows = rows.assign(duration_ns=rows["end_ns"] - rows["start_ns"])
    is_gap = rows["category"] == "gap"
    hotspots = rows[~is_gap].groupby(["name", "category"], sort=True)["duration_ns"].sum()
    longest = hotspots.sort_values(ascending=False, kind="stable").head(_HOTSPOTS).reset_index()
    return {
        "by_category_ns": _sums(rows.groupby("category")["duration_ns"].sum().to_dict()),
        "by_gap_ns": _sums(rows[is_gap].groupby("name")["duration_ns"].sum().to_dict()),
        "inferred_ns": int(rows.loc[rows["evidence"] == "inferred", "duration_ns"].sum()),
        "hotspots": [
            {"name": str(name), "category": str(category), "duration_ns": int(duration)}
            for name, category, duration in longest.itertuples(index=False)
        ],
    }


def _sums(lengths: dict[object, int]) -> dict[str, int]:
    ordered = sorted(lengths.items(), key=lambda item: (-item[1], str(item[0])))
    return {str(key): int(value) for key, value in ordered}
