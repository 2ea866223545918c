"""HTA's queue lengths and bandwidths from a trace's own rows: by our rules, or as far as ids say by HTA's."""

from collections.abc import Collection, Iterator, Sequence

import numpy as np
import pandas as pd

Ids = Collection[str]
Ranks = Sequence[tuple[int, pd.DataFrame]]

CALLS = (
    *("cudaLaunchKernel", "cudaLaunchKernelExC", "cuLaunchKernel", "cuLaunchKernelEx"),
    *("cudaMemcpyAsync", "cudaMemsetAsync", "hipLaunchKernel", "hipExtModuleLaunchKernel"),
    *("hipMemcpyAsync", "hipMemsetAsync", "hipMemcpyWithStream"),
)
"""The calls that HTA's queue lengths know (§11)."""
_RESIDUE = 1e-9
"""What may be left of a sum of rates that should be 0."""
QUANTILES = {"25%": 0.25, "50%": 0.5, "75%": 0.75}


def queue_points(ranks: Ranks, ids: Ids) -> Iterator[tuple[int, int, pd.DataFrame]]:
    """Rank, stream and the length of its queue after each launch and begin (§11).

    By our rules work with a call of its own counts; D4: work launched by some names of calls. Launches come
    before begins at one time; S8: begins come first.
    """
    for rank, rows in ranks:
        host = rows[~rows["on_gpu"] & (rows["correlation"] > 0)]
        if "D4" in ids:
            called = host[host["name"].isin(CALLS) & (host["partner"] > 0)]
            work = rows[(rows["stream"] != -1) & rows["correlation"].isin(called["correlation"])]
        else:
            called = host.drop_duplicates("correlation")
            work = rows[rows["is_work"] & (rows["correlation"] > 0)]
            work = work[~work["correlation"].duplicated(keep=False)]
        pairs = work.merge(called[["correlation", "start"]], on="correlation", suffixes=("", "_call"))
        for stream, own in pairs.groupby("stream"):
            begins = work[work["correlation"].isin(own["correlation"]) & (work["stream"] == stream)]
            ups = pd.DataFrame({"at": own["start_call"], "step": 1})
            downs = pd.DataFrame({"at": begins["start"], "step": -1})
            points = pd.concat([ups, downs]).sort_values(["at", "step"], ascending=[True, "S8" in ids])
            yield rank, stream, points.assign(queue=points["step"].cumsum())


def queue_length_summary(ranks: Ranks, ids: Ids) -> pd.DataFrame:
    """§11."""
    return _statistics({(a, b): points["queue"] for a, b, points in queue_points(ranks, ids)}, "stream")


def time_blocked_on_full_queue(ranks: Ranks, ids: Ids) -> pd.DataFrame:
    """§11, for two limits; W9: only the last stream of a rank that reaches the limit."""
    found: dict[tuple[int, int, int], float] = {}
    for limit in (64, 8):
        for rank, stream, points in queue_points(ranks, ids):
            lasts = np.diff(points["at"], append=points["at"].max())
            full = (points["queue"] >= limit).to_numpy()
            if full.any():
                if "W9" in ids:
                    found = {key: value for key, value in found.items() if key[:2] != (limit, rank)}
                found[limit, rank, stream] = lasts[full].sum() / 1000
    keys = ["limit", "rank", "stream"]
    rows = [[*key, value] for key, value in found.items() if value]
    return pd.DataFrame(rows, columns=[*keys, "full"]).set_index(keys)


def memory_bw_summary(ranks: Ranks, ids: Ids) -> pd.DataFrame:
    """§11: of all copies of a kind together, GB/s, at each begin and end that leaves some running.

    What takes no time lasts as long as its size and stated rate say. D5: where one ends as another begins,
    both run.
    """
    found = {}
    for rank, rows in ranks:
        copies = rows[rows["is_work"] & (rows["kind"] == "memory")]
        for kind, own in copies.groupby(copies["name"].str.split(" (", regex=False).str[0]):
            values = _rates(own, ids)
            if len(values):
                found[rank, kind] = values
    return _statistics(found, "name")


def _rates(copies: pd.DataFrame, ids: Ids) -> pd.Series:
    copies = copies[copies["rate"] > 0]
    start, end, rate = copies["start"], copies["end"], copies["rate"]
    unseen = 1 + (copies["bytes"].astype(float) / rate).astype("int64")
    end = end.where(end != start, start + unseen)
    begins = pd.DataFrame({"at": start, "falls": 0, "rate": rate})
    ends = pd.DataFrame({"at": end, "falls": 1, "rate": -rate})
    points = pd.concat([begins, ends]).sort_values(["at", "falls"], ascending=[True, "D5" in ids])
    running = points["rate"].cumsum()
    return running[running > _RESIDUE]


def _statistics(samples: dict[tuple[int, object], pd.Series], key: str) -> pd.DataFrame:
    rows = {at: _described(values) for at, values in samples.items()}
    columns = ["count", "mean", "std", "min", *QUANTILES, "max"]
    index = pd.MultiIndex.from_tuples(rows, names=["rank", key]) if rows else None
    return pd.DataFrame(rows.values(), index=index, columns=columns, dtype=float)


def _described(values: pd.Series) -> list[float]:
    quantiles = [values.quantile(share) for share in QUANTILES.values()]
    std = values.std() if len(values) > 1 else 0.0
    return [len(values), values.mean(), std, values.min(), *quantiles, values.max()]
