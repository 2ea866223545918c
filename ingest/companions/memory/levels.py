"""How much memory each class holds over time, and where it is most."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

MOST_POINTS = 1_000
"""How many times a picture has at most: neighbours are joined to the one with most memory."""


@dataclass(frozen=True)
class Peak:
    """Where most memory is used: its place among all changes, when (None: before the recording), bytes."""

    place: int
    at_ns: int | None
    bytes: int


def levels(changes: pd.DataFrame) -> pd.DataFrame:
    """Sum up what changes: a row for each place, a column for each class, bytes, and `at_ns`.

    `changes`: place, at_ns (null before the recording), class, bytes (negative where it is less).
    """
    table = changes.pivot_table(index="place", columns="class", values="bytes", aggfunc="sum", fill_value=0)
    running = table.sort_index().cumsum().astype(np.int64)
    return running.assign(at_ns=changes.groupby("place")["at_ns"].first())


def peak_of(running: pd.DataFrame) -> Peak:
    """Find the first place where the classes together hold most."""
    total = running.drop(columns="at_ns").sum(axis=1)
    row = int(total.to_numpy().argmax())
    at_ns = running["at_ns"].iloc[row]
    return Peak(int(str(running.index[row])), None if pd.isna(at_ns) else int(at_ns), int(total.iloc[row]))


def over_time(running: pd.DataFrame) -> pd.DataFrame:
    """Return at_ns, class and bytes at up to `MOST_POINTS` times: of neighbours, the one with most memory."""
    known = running.dropna(subset=["at_ns"])
    if known.empty:
        return pd.DataFrame({"at_ns": [], "class": [], "bytes": []})
    group = np.arange(len(known)) * MOST_POINTS // max(len(known), MOST_POINTS)
    total = known.drop(columns="at_ns").sum(axis=1)
    chosen = known.loc[total.groupby(group).idxmax()]
    rows = chosen.melt("at_ns", var_name="class", value_name="bytes")
    return rows.astype({"at_ns": "int64"}).sort_values(["at_ns", "class"], ignore_index=True)
