"""Series over time: the queue of each stream, the rate of copies, events about a topic.

A module gives them as lists, because every row of a result costs as much as a hundred numbers in a list.
"""

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np
import pandas as pd

from tracegraph.queries.module import Column

QUEUE_COLUMNS = (
    Column("rank", "INTEGER", False, "rank of the process"),
    Column("device", "INTEGER", True, "index of the GPU"),
    Column("stream", "INTEGER", True, "id of the stream"),
    Column("at_ns", "INTEGER", False, "when work is launched, at the start of its call, or begins, ns"),
    Column("length", "INTEGER", False, "launched and not begun since then; below 0: begun before its call"),
    Column("lane", "INTEGER", False, "lane id of the stream"),
    Column("begins", "BOOLEAN", False, "whether work begins, else it is launched"),
)
"""Columns of `queue_length_series`."""
BANDWIDTH_COLUMNS = (
    Column("rank", "INTEGER", False, "rank of the process"),
    Column("copy_kind", "STRING", False, "what copies do, such as `Memcpy HtoD`"),
    Column("at_ns", "INTEGER", False, "when a copy of the kind begins or ends, ns"),
    Column("bytes_per_s", "INTEGER", False, "what those that run since then move together, B/s"),
)
"""Columns of `memory_bandwidth_series`."""
ABOUT_COLUMNS = (
    Column("beginning", "STRING", True, "the first beginning that fits, null for GPU work"),
    Column("kernel_type", "STRING", True, "type of GPU work"),
    Column("name", "STRING", False, "name of the event"),
    Column("lane", "INTEGER", False, "lane id"),
    Column("start_ns", "INTEGER", False, "start, ns"),
    Column("end_ns", "INTEGER", False, "end, ns"),
)
"""Columns of `events_about`."""


def queue_length_series(_: Mapping[str, Any], points: pd.DataFrame) -> pd.DataFrame:
    """Return rows by rank, device, stream and time, from `queue_points`."""
    return _unfolded(points, QUEUE_COLUMNS, ("at_ns", "length", "begins"))


def memory_bandwidth_series(_: Mapping[str, Any], points: pd.DataFrame) -> pd.DataFrame:
    """Return rows by rank, kind and time, from `bandwidth_points`."""
    return _unfolded(points, BANDWIDTH_COLUMNS, ("at_ns", "bytes_per_s"))


def events_about(_: Mapping[str, Any], times: pd.DataFrame) -> pd.DataFrame:
    """Return rows by beginning, lane, start, end and name, from `times_about`."""
    rows = _unfolded(times, ABOUT_COLUMNS, ("start_ns", "end_ns"))
    return rows.sort_values(["beginning", "lane", "start_ns", "end_ns", "name"], ignore_index=True)


def _unfolded(points: pd.DataFrame, columns: Sequence[Column], lists: Sequence[str]) -> pd.DataFrame:
    """Unfold the lists into a row for each entry, in their order."""
    sizes = points[lists[0]].map(len).astype("int64")
    rows = points.drop(columns=list(lists)).loc[points.index.repeat(sizes)].reset_index(drop=True)
    for name in lists:
        rows[name] = np.fromiter(chain.from_iterable(points[name]), dtype=np.int64, count=len(rows))
    return rows[[column.name for column in columns]]
