"""Times of operations by size: of a trace from the rendezvous on, and of NCCL's tests."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from tracegraph.queries.module import Column
from tracegraph.queries.shapes.derived_query import Values
from tracegraph.queries.shapes.frame_rows import records
from tracegraph.queries.shapes.links.link_use import in_one_node
from tracegraph.queries.shapes.peak.devices import device_names
from tracegraph.vocabulary.collectives import NCCL_CHOICES, NCCL_TESTS, TRACE

KIND = Column("kind", "STRING", False, "kind of operation, such as `all_reduce`")
RANKS = Column("ranks", "INTEGER", True, "number of ranks that take part")
OF = (
    KIND,
    Column(
        "source",
        "STRING",
        False,
        f"who measured: `{TRACE}`, from the rendezvous to the end, or `{NCCL_TESTS}`",
    ),
    Column("group", "STRING", True, "name of the process group, where a trace states it"),
    RANKS,
    Column("nodes", "INTEGER", True, "number of nodes that they are on, where that is known"),
    Column("algorithm", "STRING", True, "NCCL's algorithm, where its log says it; names of kernels do not"),
    Column("protocol", "STRING", True, "NCCL's protocol, where its log says it"),
    Column("in_place", "BOOLEAN", True, "of NCCL's tests: whether result and input share their memory"),
    Column("is_least", "BOOLEAN", False, "whether waits for ranks that are not here are inside the times"),
)
"""What operations that are fitted together have in common."""
KEYS = tuple(column.name for column in OF)
POINT_COLUMNS = (
    *OF,
    Column("bytes", "INTEGER", False, "data of one operation, counted as NCCL's tests do, B"),
    Column("time_ns", "INTEGER", False, "median of the operations of this size, ns"),
    Column("count", "INTEGER", False, "how many there are; a row of NCCL's tests is a mean and counts once"),
)
"""Columns of `transfer_points`."""


def transfer_points(
    _: Values, transfers: pd.DataFrame, files: pd.DataFrame, stated: pd.DataFrame
) -> pd.DataFrame:
    """List the time of each size, from the rows of `transfers`, `traces` and `stated_transfers`."""
    names = [column.name for column in POINT_COLUMNS]
    rows = [*_of_trace(transfers, files), *_of_tests(stated)]
    points = pd.DataFrame(rows, columns=names)
    return points.sort_values([*KEYS, "bytes"], kind="stable", ignore_index=True)


def _of_trace(transfers: pd.DataFrame, files: pd.DataFrame) -> list[Mapping[str, Any]]:
    """Take operations that move data whose size is known."""
    devices = {len(names) for names in device_names(files).values()}
    on_each = devices.pop() if len(devices) == 1 else 0
    rows: dict[tuple[Any, ...], list[int]] = {}
    for one in records(transfers):
        if one["name"] is not None and one["bytes"]:
            one_node = in_one_node(one["ranks"], one["size"], on_each)
            key = (one["name"], one["group"], one["size"], 1 if one_node else None, not one["is_whole"])
            rows.setdefault((*key, one["bytes"]), []).extend(one["transfer_ns"])
    return [
        {
            "source": TRACE,
            **dict(zip(("kind", "group", "ranks", "nodes", "is_least", "bytes"), key, strict=True)),
            "time_ns": int(np.percentile(times, 50, method="inverted_cdf")),
            "count": len(times),
        }
        for key, times in rows.items()
    ]


def _of_tests(stated: pd.DataFrame) -> list[Mapping[str, Any]]:
    """Take the rows of NCCL's tests, with the choice that NCCL's log states for their kind and size."""
    rows = records(stated)
    chosen: dict[tuple[str, int], set[tuple[str | None, str | None]]] = {}
    for one in rows:
        if one["source"] == NCCL_CHOICES:
            chosen.setdefault((one["kind"], one["bytes"]), set()).add((one["algorithm"], one["protocol"]))
    points: list[Mapping[str, Any]] = []
    for one in rows:
        if one["source"] != NCCL_TESTS or not one["time_ns"] or not one["bytes"]:
            continue
        ways = chosen.get((one["kind"], one["bytes"]), set())
        algorithm, protocol = next(iter(ways)) if len(ways) == 1 else (None, None)
        points.append({**one, "algorithm": algorithm, "protocol": protocol, "is_least": False, "count": 1})
    return points
