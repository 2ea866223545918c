"""The numbers of HTA's GPU tables from a trace's own rows: by our rules, and as far as ids say by HTA's.

The ids are those of tests/support/hta_differences.py. Times in µs, rates in GB/s, shares in percent as in
HTA's tables. Nothing here is the product's: it is what both HTA and the product are compared with.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import pairwise

import numpy as np
import pandas as pd
from hta_counters import memory_bw_summary, queue_length_summary, time_blocked_on_full_queue
from hta_rows import gpu_rows

KINDS = ("computation", "communication", "memory")
Ids = Collection[str]
Ranks = Sequence[tuple[int, pd.DataFrame]]
"""The rows of each rank."""


def merged(rows: pd.DataFrame) -> list[tuple[int, int]]:
    """The time in which some row runs, as intervals that do not touch."""
    found: list[tuple[int, int]] = []
    for start, end in sorted(zip(rows["start"].tolist(), rows["end"].tolist(), strict=True)):
        if found and start <= found[-1][1]:
            found[-1] = found[-1][0], max(found[-1][1], end)
        else:
            found.append((start, end))
    return found


def length(intervals: list[tuple[int, int]]) -> int:
    """Their length together, ns."""
    return sum(end - start for start, end in intervals)


def by_kind(rows: pd.DataFrame) -> dict[str, list[tuple[int, int]]]:
    """The intervals in which each kind of kernel runs."""
    return {kind: merged(rows[rows["kind"] == kind]) for kind in KINDS}


def pieces(groups: dict[str, list[tuple[int, int]]]) -> Iterator[tuple[str, int]]:
    """What runs at the same time, between any two moments at which that changes, and for how long, ns."""
    points = sorted(
        (time, sign * (1 << bit))
        for bit, intervals in enumerate(groups.values())
        for start, end in intervals
        for time, sign in ((start, 1), (end, -1))
    )
    state = 0
    for (time, change), (next_time, _) in pairwise(points):
        state += change
        if state > 0:
            named = [name for bit, name in enumerate(groups) if state >> bit & 1]
            yield " overlapping ".join(named), next_time - time


def temporal_breakdown(ranks: Ranks, ids: Ids) -> pd.DataFrame:
    """§4."""
    found = []
    for rank, rows in ranks:
        work = gpu_rows(rows, ids)
        if len(work):
            every, computing = merged(work), length(merged(work[work["kind"] == "computation"]))
            span, busy = every[-1][1] - every[0][0], length(every)
            times = np.array([span - busy, computing, busy - computing, span]) / 1000
            found.append([rank, *times, *(100 * times[:3] / times[3])])
    shares = ["idle_%", "compute_%", "non_compute_%"]
    return _table(found, ["rank"], ["idle", "compute", "non_compute", "span", *shares])


def kernel_type_breakdown(ranks: Ranks, ids: Ids) -> pd.DataFrame:
    """§5; with D2 each piece is cut to whole µs."""
    found: dict[str, float] = {}
    for _, rows in ranks:
        for name, piece in pieces(by_kind(gpu_rows(rows, ids))):
            found[name] = found.get(name, 0) + (piece // 1000 if "D2" in ids else piece / 1000)
    total = sum(found.values())
    rows = [[name, time, 100 * time / total] for name, time in found.items() if time]
    return _table(rows, ["kernel_type"], ["sum", "%"])


def gpu_kernel_breakdown_all(ranks: Ranks, ids: Ids) -> pd.DataFrame:
    """§6 without a limit."""
    return pd.concat([_by_name(rows, ids).assign(rank=rank) for rank, rows in ranks]).pipe(_keyed)


def _by_name(rows: pd.DataFrame, ids: Ids) -> pd.DataFrame:
    work = gpu_rows(rows, ids)
    work = work[work["kind"] != "other"].assign(length=lambda t: (t["end"] - t["start"]) / 1000)
    by = work.groupby(["kind", "name"])["length"].agg(["sum", "max", "min", "std", "mean"])
    return by.fillna({"std": 0.0}).reset_index()


def _keyed(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.set_index(["rank", "kind", "name"]).sort_index()


def gpu_kernel_breakdown_top10(ranks: Ranks, ids: Ids) -> pd.DataFrame:
    """§6 with ten names; by our rules those are whole rows and `others` has the extremes of its rows.

    W3: the sums are grouped again. W4: fewer names than ten may be kept.
    """
    found = []
    for rank, rows in ranks:
        counts = gpu_rows(rows, ids).groupby(["kind", "name"]).size()
        for kind, names in _by_name(rows, ids).groupby("kind"):
            table = names.sort_values(["sum", "name"], ascending=[False, True]).reset_index(drop=True)
            kept = np.arange(len(table)) < 10
            if "W4" in ids and len(table) > 10:
                kept &= table["sum"].cumsum() <= table["sum"].cumsum().quantile(0.8)
            table["count"] = [counts[kind, name] for name in table["name"]]
            parts = [table[kept], _others(table[~kept], ids)]
            if "W3" in ids and len(table) > 10:
                parts[0] = parts[0].assign(max=table["sum"], min=table["sum"], mean=table["sum"], std=0.0)
            found += [part.assign(rank=rank, kind=kind) for part in parts if len(part)]
    if not found:
        return _table([], ["rank", "kind", "name"], ["sum", "max", "min", "std", "mean"])
    return pd.concat(found).drop(columns="count").pipe(_keyed)


def _others(rest: pd.DataFrame, ids: Ids) -> pd.DataFrame:
    if not len(rest):
        return rest
    one = {"name": "others", "sum": rest["sum"].sum()}
    if "W3" in ids:
        sums = rest["sum"]
        std = sums.std() if len(sums) > 1 else 0.0
        extremes = {"max": sums.max(), "min": sums.min(), "mean": sums.mean(), "std": std}
    else:
        mean = one["sum"] / rest["count"].sum()
        extremes = {"max": rest["max"].max(), "min": rest["min"].min(), "mean": mean, "std": np.nan}
    return pd.DataFrame([{**one, **extremes}])


def comm_comp_overlap(ranks: Ranks, ids: Ids) -> pd.DataFrame:
    """§8; a rank that does not communicate has no row."""
    found = []
    for rank, rows in ranks:
        intervals = by_kind(gpu_rows(rows, ids))
        both = {name: intervals[name] for name in ("communication", "computation")}
        total = length(both["communication"])
        if total:
            shared = sum(piece for name, piece in pieces(both) if "overlapping" in name)
            found.append([rank, 100 * shared / total])
    return _table(found, ["rank"], ["overlap_%"])


def idle_gaps(ranks: Ranks, ids: Ids) -> pd.DataFrame:
    """§9: each time between two works of a stream, and of which category it is.

    By our rules since the last of all works before ended; S6: since the one before did, also if it overlaps.
    D3: what has no partner, or one at index 0, counts as launched by the first row of the file.
    """
    found = []
    for rank, rows in ranks:
        work = rows[rows["is_work"]].sort_values(["start", "end", "index"])
        calls = rows[~rows["on_gpu"] & (rows["correlation"] > 0)].drop_duplicates("correlation")
        launched = work["correlation"].map(calls.set_index("correlation")["start"])
        if "D3" in ids:
            launched = work["partner"].map(rows["start"])
        for stream, of_stream in work.groupby("stream"):
            ended = of_stream["end"] if "S6" in ids else of_stream["end"].cummax()
            start, since = of_stream["start"].to_numpy()[1:], ended.to_numpy()[:-1]
            since = since if "S6" in ids else np.minimum(since, start)
            late = (launched[of_stream.index[1:]] - since > 0).to_numpy()
            category = np.where(late, "host_wait", np.where(start - since < 30_000, "kernel_wait", "other"))
            gaps = {"category": category, "gap": (start - since) / 1000}
            found.append(pd.DataFrame({"rank": rank, "stream": stream, **gaps}))
    return pd.concat(found) if found else pd.DataFrame(columns=["rank", "stream", "category", "gap"])


def idle_time_breakdown(ranks: Ranks, ids: Ids) -> pd.DataFrame:
    """§9 by category; without categories that take no time."""
    gaps = idle_gaps(ranks, ids)
    sums = gaps.groupby(["rank", "stream", "category"])["gap"].sum().to_frame("idle")
    total = sums.groupby(["rank", "stream"])["idle"].transform("sum")
    sums["ratio"] = sums["idle"] / total
    return sums[sums["idle"] != 0]


def idle_interval_stats(ranks: Ranks, ids: Ids) -> pd.DataFrame:
    """§9, the statistics of the times."""
    by = idle_gaps(ranks, ids).groupby(["rank", "stream", "category"])["gap"]
    found = by.agg(["count", "mean", "std", "min", "median", "max"])
    return found.fillna({"std": 0.0})


FEATURES: dict[str, Callable[[Ranks, Ids], pd.DataFrame]] = {
    one.__name__: one
    for one in (
        temporal_breakdown,
        kernel_type_breakdown,
        gpu_kernel_breakdown_all,
        gpu_kernel_breakdown_top10,
        comm_comp_overlap,
        idle_time_breakdown,
        idle_interval_stats,
        queue_length_summary,
        time_blocked_on_full_queue,
        memory_bw_summary,
    )
}


def _table(rows: list, keys: list[str], columns: list[str]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=[*keys, *columns]).set_index(keys).sort_index()
