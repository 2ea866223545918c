"""Ranks for which others wait, over steps: the potential stragglers of HTA."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from tracegraph.queries.module import Column

STRAGGLER_COLUMNS = (
    Column("rank", "INTEGER", False, "rank of the process"),
    Column("steps_led", "INTEGER", False, "number of steps in which the others waited for it most"),
    Column("steps", "INTEGER", False, "number of steps in which ranks waited"),
    Column("caused_ns", "INTEGER", False, "time in which others waited for it, all of them together, ns"),
    Column("caused_share", "FLOAT", False, "straggler score: share of all waiting that it caused, 0..1"),
    Column("longest_ns", "INTEGER", False, "longest wait for it, ns"),
    Column("last", "INTEGER", False, "number of operations to which it came last"),
    Column("operations", "INTEGER", False, "number of operations that it took part in"),
)
"""Columns of `potential_stragglers`."""


def potential_stragglers(_: Mapping[str, Any], waits: pd.DataFrame, by_step: pd.DataFrame) -> pd.DataFrame:
    """List the ranks that made others wait: by the steps that they led, then by the time that they caused."""
    causing = by_step[by_step["caused_ns"] > 0]
    order = causing.sort_values(["number", "caused_ns", "rank"], ascending=[True, False, True])
    led = order.drop_duplicates("number")["rank"].value_counts()
    rows = waits[waits["caused_ns"] > 0]
    rows = rows.assign(
        steps_led=rows["rank"].map(led).fillna(0).astype("int64"), steps=causing["number"].nunique()
    )
    rows = rows.sort_values(["steps_led", "caused_ns", "rank"], ascending=[False, False, True])
    return rows.reset_index(drop=True)
