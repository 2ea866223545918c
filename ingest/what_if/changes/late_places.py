"""Where in a step a late rank is late: which of the events of a name take longer than on other ranks."""

import numpy as np
import pandas as pd

from tracegraph.ingest.arrays import Floats
from tracegraph.ingest.causal.events.events import NONE


def place_factors(own: pd.DataFrame, late: "pd.Series[float]") -> Floats:
    """Compute the factor of each piece of host work: a rank loses what it is late by where it is late.

    Where all ranks run a name equally often in each step, the k-th event of a step stands for the same work
    on all of them. What a rank is to lose is then taken from those that exceed the middle rank's by most, so
    that a slow layer does not make all layers faster. Elsewhere all events of a name lose the same part.

    Parameters
    ----------
    own
        Rank, name, event, step, start and work of pieces of host work.
    late
        By name and rank: the factor (0..1) of the sum of its work.
    """
    even = late.reindex(pd.MultiIndex.from_frame(own[["name", "rank"]])).to_numpy(dtype=float)
    names = late[late < 1].index.get_level_values("name").unique()
    chosen = np.flatnonzero((own["name"].isin(names) & (own["step"] != NONE)).to_numpy())
    found: Floats = np.array(even, dtype=np.float64)
    for name, rows in own.iloc[chosen].assign(at=chosen).groupby("name"):
        place = _places(rows)
        if place is None:
            continue
        total = rows["work"].groupby([place, rows["rank"]]).sum().unstack("rank")
        ranks = total.shape[1]
        middle = np.sort(total.to_numpy(), axis=1)[:, (ranks - 1) // 2]
        for rank in total.columns:
            factor = float(late[name, rank])
            if factor == 1:
                continue
            kept = _kept(total[rank].to_numpy(dtype=float), middle, factor)
            mine = (rows["rank"] == rank).to_numpy()
            found[rows["at"].to_numpy()[mine]] = kept[place.to_numpy()[mine]]
    return found


def _places(rows: pd.DataFrame) -> "pd.Series[int] | None":
    """Give each piece its event's place in its step; None where ranks or steps have different numbers."""
    keys = ["rank", "step"]
    first = rows.groupby([*keys, "event"])["start"].min().reset_index()
    events = first.sort_values("start", kind="stable")
    counts = events.groupby(keys)["event"].count()
    is_alike = counts.nunique() == 1 and len(counts) == rows["rank"].nunique() * rows["step"].nunique()
    if not is_alike or rows["rank"].nunique() < 2:
        return None
    place = pd.Series(events.groupby(keys).cumcount().to_numpy(), index=events["event"])
    return place.loc[rows["event"]].set_axis(rows.index)


def _kept(total: Floats, middle: Floats, factor: float) -> Floats:
    """Take a part of a sum from its places, the one first that exceeds the middle by most; return factors."""
    excess = np.clip(total - middle, 0, None)
    order = np.argsort(-excess, kind="stable")
    less = (1 - factor) * total.sum()
    before = np.append(0, np.cumsum(excess[order])[:-1])
    taken = np.empty(len(total))
    taken[order] = np.clip(less - before, 0, excess[order])
    left = total - taken
    rest = 1 - (less - taken.sum()) / left.sum() if left.sum() else 1.0
    kept: Floats = np.divide(left * rest, total, out=np.ones(len(total)), where=total > 0)
    return kept
