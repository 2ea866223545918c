"""HTA's GPU tables and ours in one form: the same keys and columns, µs, GB/s and percent."""

from collections.abc import Callable

import numpy as np
import pandas as pd
from hta import HtaRuns, expected

LIMITS = (64, 8)
"""The lengths from which on a queue counts as full here; HTA's own, 1024, is reached nowhere."""
_STATISTICS = ["count", "mean", "std", "min", "25%", "50%", "75%", "max"]
_SHARES = {"%", "idle_%", "compute_%", "non_compute_%", "overlap_%", "ratio"}
_QUARTILES = {"p25": "25%", "median": "50%", "p75": "75%"}


def theirs(trace: str, feature: str, variant: str) -> pd.DataFrame | None:
    """HTA's table; without categories of no idle time and ranks of no communication."""
    found = expected(trace, feature, variant)
    if found is None or ("rank" not in found and feature != "kernel_type_breakdown"):
        return None
    return _THEIRS[feature](found).sort_index()


def ours(runs: HtaRuns, trace: str, feature: str) -> pd.DataFrame:
    """Our table."""
    return _OURS[feature](runs, trace).sort_index()


def difference(feature: str, theirs: pd.DataFrame, found: pd.DataFrame, slack: float = 1e-6) -> str:
    """What of HTA's table is not found beyond what printing rounds away, "" for nothing.

    `slack`: relative, for what HTA adds up as 64-bit numbers of µs.
    """
    if set(theirs.index) != set(found.index):
        apart = sorted(set(theirs.index) ^ set(found.index), key=str)
        return f"{len(theirs)} rows and {len(found)}, such as {apart[0]}"
    found = found.reindex(theirs.index)
    for column in theirs if len(theirs) else ():
        most = _rounding(feature, column) + slack * theirs[column].abs()
        wrong = (theirs[column] - found[column]).abs() > most
        if wrong.any():
            at = wrong[wrong].index[0]
            return f"{column} in {wrong.sum()} rows, such as {at}: {theirs[column][at]}, {found[column][at]}"
    return ""


def lies_between(table: pd.DataFrame, one: pd.DataFrame, other: pd.DataFrame) -> bool:
    """Whether HTA's numbers lie between two others, or as near as 2 % to them.

    More cannot be said where an unstable sort decides the order of what happens at the same time.
    """
    if not set(table.index) == set(one.index) == set(other.index):
        return False
    one, other = one.reindex(table.index), other.reindex(table.index)
    low, high = np.minimum(one, other), np.maximum(one, other)
    slack = 0.02 * np.maximum(1, low.abs()) * [column != "count" for column in table]
    return bool(((table >= low - slack) & (table <= high + slack)).all(axis=None))


def _rounding(feature: str, column: str) -> float:
    if column == "%":
        return 0.0501
    if column == "idle" and feature.startswith("idle"):
        return 0.02  # thousands of gaps, each short or long by half a step of a 64-bit number
    return 0.0051 if column in _SHARES or feature.startswith("idle") else 1e-3


def _their_names(found: pd.DataFrame) -> pd.DataFrame:
    names = {f"{name} (us)": name for name in ("sum", "max", "min", "mean")}
    named = found.rename(columns=names | {"stddev": "std", "kernel_type": "kind"})
    named["kind"] = named["kind"].str.lower()
    return named.set_index(["rank", "kind", "name"])[["sum", "max", "min", "std", "mean"]]


def _their_types(found: pd.DataFrame) -> pd.DataFrame:
    found = found.assign(kernel_type=found["kernel_type"].str.lower()).set_index("kernel_type")
    return found[found["sum"] != 0].rename(columns={"percentage": "%"})


def _their_times(found: pd.DataFrame) -> pd.DataFrame:
    names = {"idle": "idle", "compute": "compute", "non_compute": "non_compute", "kernel": "span"}
    times = {f"{theirs}_time(us)": mine for theirs, mine in names.items()}
    shares = {f"{name}_time_pctg": f"{name}_%" for name in ("idle", "compute", "non_compute")}
    return found.set_index("rank").rename(columns=times | shares)[[*times.values(), *shares.values()]]


def _their_blocked(found: pd.DataFrame) -> pd.DataFrame:
    found = found[found["max_queue_length"].isin(LIMITS) & (found["duration_at_max_queue_length"] > 0)]
    found = found.rename(columns={"max_queue_length": "limit", "duration_at_max_queue_length": "full"})
    return found.set_index(["limit", "rank", "stream"])[["full"]]


def _their_idle(found: pd.DataFrame) -> pd.DataFrame:
    found = found[found["idle_time"] != 0].rename(columns={"idle_time": "idle", "idle_time_ratio": "ratio"})
    return found.set_index(["rank", "stream", "idle_category"])


def _their_gaps(found: pd.DataFrame) -> pd.DataFrame:
    found = found[found["count"] > 0].set_index(["rank", "stream", "idle_category"]).fillna({"std": 0.0})
    return found.rename(columns={"50%": "median"})[["count", "mean", "std", "min", "median", "max"]]


_THEIRS: dict[str, Callable[[pd.DataFrame], pd.DataFrame]] = {
    "temporal_breakdown": _their_times,
    "kernel_type_breakdown": _their_types,
    "gpu_kernel_breakdown_all": _their_names,
    "gpu_kernel_breakdown_top10": _their_names,
    "comm_comp_overlap": lambda found: found.set_index("rank").set_axis(["overlap_%"], axis=1).dropna(),
    "idle_time_breakdown": _their_idle,
    "idle_interval_stats": _their_gaps,
    "queue_length_summary": lambda found: found.set_index(["rank", "stream"]).fillna({"std": 0.0}),
    "time_blocked_on_full_queue": _their_blocked,
    "memory_bw_summary": lambda found: found.set_index(["rank", "name"]).fillna({"std": 0.0}),
}


def _times(runs: HtaRuns, trace: str) -> pd.DataFrame:
    rows = runs.rows("temporal_breakdown", trace).set_index("rank")
    times = {name: rows[f"{name}_ns"] / 1000 for name in ("idle", "compute", "non_compute", "span")}
    shares = {f"{name}_%": 100 * rows[f"{name}_share"] for name in ("idle", "compute", "non_compute")}
    return pd.DataFrame(times | shares)


def _types(runs: HtaRuns, trace: str) -> pd.DataFrame:
    rows = runs.rows("kernel_type_breakdown", trace)
    sums = rows.groupby("kernel_type")["duration_ns"].sum() / 1000
    return pd.DataFrame({"sum": sums, "%": 100 * sums / sums.sum()})


def _names(runs: HtaRuns, trace: str, top: int) -> pd.DataFrame:
    rows = runs.rows("kernel_breakdown", trace, top=top).rename(columns={"kernel_type": "kind"})
    rows = rows.set_index(["rank", "kind", "name"])
    columns = ("sum", "max", "min", "std", "mean")
    return pd.DataFrame({name: rows[f"{name}_ns"] / 1000 for name in columns})


def _idle(runs: HtaRuns, trace: str) -> pd.DataFrame:
    rows = runs.rows("idle_time_breakdown", trace).set_index(["rank", "stream", "idle_category"])
    rows = rows[rows["idle_ns"] != 0]
    return pd.DataFrame({"idle": rows["idle_ns"] / 1000, "ratio": rows["idle_share"]})


def _gaps(runs: HtaRuns, trace: str) -> pd.DataFrame:
    rows = runs.rows("idle_time_breakdown", trace).set_index(["rank", "stream", "idle_category"])
    times = {name: rows[f"{name}_ns"] / 1000 for name in ("mean", "std", "min", "median", "max")}
    return pd.DataFrame({"count": rows["count"], **times})


def _queues(runs: HtaRuns, trace: str) -> pd.DataFrame:
    rows = runs.rows("queue_length", trace).rename(columns=_QUARTILES)
    return rows.set_index(["rank", "stream"])[_STATISTICS]


def _blocked(runs: HtaRuns, trace: str) -> pd.DataFrame:
    rows = pd.concat(runs.rows("queue_length", trace, full=limit).assign(limit=limit) for limit in LIMITS)
    rows = rows[rows["full_ns"] > 0].set_index(["limit", "rank", "stream"])
    return pd.DataFrame({"full": rows["full_ns"] / 1000})


def _bandwidths(runs: HtaRuns, trace: str) -> pd.DataFrame:
    rows = runs.rows("memory_bandwidth", trace).drop(columns="count")
    rows = rows[rows["samples"] > 0].rename(columns=_QUARTILES | {"samples": "count", "copy_kind": "name"})
    rows = rows.set_index(["rank", "name"])[_STATISTICS].astype(float)
    return rows / [1, *[1e9] * 7]


_OURS: dict[str, Callable[[HtaRuns, str], pd.DataFrame]] = {
    "temporal_breakdown": _times,
    "kernel_type_breakdown": _types,
    "gpu_kernel_breakdown_all": lambda runs, trace: _names(runs, trace, 10_000),
    "gpu_kernel_breakdown_top10": lambda runs, trace: _names(runs, trace, 10),
    "comm_comp_overlap": lambda runs, trace: pd.DataFrame(
        {"overlap_%": 100 * runs.rows("comm_comp_overlap", trace).set_index("rank")["overlap_share"]}
    ),
    "idle_time_breakdown": _idle,
    "idle_interval_stats": _gaps,
    "queue_length_summary": _queues,
    "time_blocked_on_full_queue": _blocked,
    "memory_bw_summary": _bandwidths,
}
