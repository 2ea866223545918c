"""How a difference from HTA is seen in a trace: how many rows of its files each one is about."""

from collections.abc import Callable

import pandas as pd
from hta_counters import CALLS, queue_points
from hta_oracle import by_kind, pieces
from hta_rows import step_names


def _works(rows: pd.DataFrame) -> pd.DataFrame:
    return rows[rows["is_work"]]


def fractional(rows: pd.DataFrame) -> int:
    """GPU work whose begin or length is no whole number of µs."""
    work = _works(rows)
    return int(((work["start"] % 1000 != 0) | ((work["end"] - work["start"]) % 1000 != 0)).sum())


def in_the_last_step(rows: pd.DataFrame) -> int:
    """Rows of the CPU that begin with the last step or after it."""
    host = rows[~rows["on_gpu"]]
    return int((host["start"] >= host["start"][host["name"].isin(step_names([rows]))].max()).sum())


def on_the_host(rows: pd.DataFrame) -> int:
    """Rows of CPU operators with a stream."""
    return int(((rows["stream"] != -1) & (rows["category"] == "cpu_op")).sum())


def waits(rows: pd.DataFrame) -> int:
    """Rows of cuda_sync with a stream."""
    return int(((rows["stream"] != -1) & (rows["category"] == "cuda_sync")).sum())


def without_call(rows: pd.DataFrame) -> int:
    """GPU work with a correlation that no row of the host has."""
    host = rows[~rows["on_gpu"]]
    return int((~_works(rows)["correlation"].isin(host["correlation"])).sum())


def not_linked(rows: pd.DataFrame) -> int:
    """GPU work without a partner, or with the one at index 0."""
    return int((_works(rows)["partner"] <= 0).sum())


def overlapping(rows: pd.DataFrame) -> int:
    """GPU work that begins before earlier work of its stream has ended."""
    work = _works(rows).sort_values(["start", "end", "index"])
    ended = work.groupby("stream")["end"].transform(lambda ends: ends.cummax().shift(fill_value=0))
    return int((work["start"] < ended).sum())


def against_the_clock(rows: pd.DataFrame) -> int:
    """GPU work that begins before its call does, or ends after the blocking copy call that waits for it."""
    host = rows[~rows["on_gpu"] & (rows["correlation"] > 0)].drop_duplicates("correlation")
    pairs = _works(rows).merge(host, on="correlation", suffixes=("", "_call"))
    blocking = pairs["name_call"].str.contains("Memcpy") & ~pairs["name_call"].str.contains("Async")
    early, late = pairs["start"] < pairs["start_call"], blocking & (pairs["end"] > pairs["end_call"])
    return int((early | late).sum())


def other_calls(rows: pd.DataFrame) -> int:
    """GPU work with a call of its own, of a name that HTA's queue lengths do not know."""
    work = _works(rows)
    work = work[(work["correlation"] > 0) & ~work["correlation"].duplicated(keep=False)]
    host = rows[~rows["on_gpu"] & ~rows["name"].isin(CALLS)]
    return int(work["correlation"].isin(host["correlation"]).sum())


def ties(rows: pd.DataFrame) -> int:
    """Moments at which work is launched on a stream and other work begins there."""
    points = [points for _, _, points in queue_points([(0, rows)], ())]
    moments = (set(one["at"][one["step"] == 1]) & set(one["at"][one["step"] == -1]) for one in points)
    return sum(map(len, moments))


def many_names(rows: pd.DataFrame) -> int:
    """Kinds of kernels with more than ten names."""
    return int((_works(rows).groupby("kind")["name"].nunique() > 10).sum())


def fractional_pieces(rows: pd.DataFrame) -> int:
    """Stretches in which the same kinds of kernels run, of a length that is no whole number of µs."""
    return sum(length % 1000 != 0 for _, length in pieces(by_kind(_works(rows))))


def copies_in_a_row(rows: pd.DataFrame) -> int:
    """Moments at which a copy ends and another of its kind begins."""
    copies = _works(rows).query("kind == 'memory'")
    kinds = copies.groupby(copies["name"].str.split(" (", regex=False).str[0])
    return sum(len(set(own["start"]) & set(own["end"])) for _, own in kinds)


def streams_left_out(rows: pd.DataFrame) -> int:
    """Streams with a queue of eight or more, but one."""
    full = [stream for _, stream, points in queue_points([(0, rows)], ()) if points["queue"].max() >= 8]
    return max(len(full) - 1, 0)


SEEN: dict[str, Callable[[pd.DataFrame], int]] = {
    "W1": fractional,
    "S1": in_the_last_step,
    "W3": many_names,
    "W4": many_names,
    "W5": on_the_host,
    "W6": waits,
    "W9": streams_left_out,
    "S2": without_call,
    "S6": overlapping,
    "S8": ties,
    "D1": against_the_clock,
    "D2": fractional_pieces,
    "D3": not_linked,
    "D4": other_calls,
    "D5": copies_in_a_row,
}
