"""Latency and bandwidth of each kind of transfer, or why they cannot be told."""

from typing import Any

import numpy as np
import pandas as pd

from tracegraph.base.least_squares import NOT_RISING, Line, fit_line, why_not_fitted
from tracegraph.queries.module import Column
from tracegraph.queries.shapes.derived_query import Values
from tracegraph.queries.shapes.frame_rows import records
from tracegraph.queries.shapes.transfers.points import KEYS, KIND, OF, RANKS, transfer_points

_TESTED = {
    "all_reduce": "all_reduce_perf",
    "all_gather": "all_gather_perf",
    "reduce_scatter": "reduce_scatter_perf",
    "all_to_all": "alltoall_perf",
    "broadcast": "broadcast_perf",
    "reduce": "reduce_perf",
    "send_recv": "sendrecv_perf",
    "gather": "gather_perf",
    "scatter": "scatter_perf",
}
"""The program among NCCL's tests that measures a kind."""
FIT_COLUMNS = (
    KIND,
    RANKS,
    Column("bytes_per_s", "FLOAT", True, "data by the time beyond the latency, B/s; null without a fit"),
    Column("bytes_per_s_error", "FLOAT", True, "its standard error, B/s"),
    Column("alpha_ns", "INTEGER", True, "latency: time of an operation of no bytes, ns"),
    Column("alpha_error_ns", "INTEGER", True, "its standard error, ns"),
    Column("is_alpha_known", "BOOLEAN", True, "whether the sizes determine the latency"),
    Column("sizes", "INTEGER", False, "number of sizes"),
    Column("valid_from", "INTEGER", False, "smallest of them: below it the model extrapolates, B"),
    Column("valid_to", "INTEGER", False, "largest of them, B"),
    Column("mean_error", "FLOAT", True, "mean relative error of the fitted times"),
    Column("largest_error", "FLOAT", True, "largest relative error of the fitted times"),
    Column("r_squared", "FLOAT", True, "share of the variance of the times that is explained; says little"),
    *(column for column in OF if column not in (KIND, RANKS)),
    Column("lacks", "STRING", True, "why there is no fit, or what it cannot tell, and what to measure"),
)
"""Columns of `transfer_fit`."""


def transfer_fit(
    values: Values, transfers: pd.DataFrame, files: pd.DataFrame, stated: pd.DataFrame
) -> pd.DataFrame:
    """Fit T = α + S/β to the points of each kind, group, algorithm and protocol.

    Where the sizes are too few or too near to each other, or where waits for ranks that are not here are in
    the times, the row says so instead.

    Parameters
    ----------
    transfers, files, stated
        Rows of `transfers`, `traces` and `stated_transfers`.

    Returns
    -------
    pd.DataFrame
        α in ns and β in B/s, a row for each fit, in the columns of `FIT_COLUMNS`.
    """
    points = transfer_points(values, transfers, files, stated)
    found = [_fitted(group) for _, group in points.groupby(list(KEYS), sort=False, dropna=False)]
    return pd.DataFrame(found, columns=[column.name for column in FIT_COLUMNS])


def _fitted(points: pd.DataFrame) -> dict[str, Any]:
    first = records(points.head(1))[0]
    sizes, times = (points[name].to_numpy(dtype=np.float64) for name in ("bytes", "time_ns"))
    row = {
        **{name: first[name] for name in KEYS},
        "sizes": len(points),
        "valid_from": int(sizes.min()),
        "valid_to": int(sizes.max()),
    }
    refused = list(why_not_fitted(sizes, waits_inside=bool(first["is_least"])))
    line = None if refused else fit_line(sizes, times)
    if line is None:
        refused = refused or [NOT_RISING]
        return {**row, "lacks": " ".join([*refused, _measure(first)])}
    return {**row, **_values(line), "lacks": None if line.is_alpha_known else _latency(first)}


def _values(line: Line) -> dict[str, Any]:
    return {
        "alpha_ns": round(line.alpha_ns),
        "alpha_error_ns": round(line.alpha_error_ns),
        "bytes_per_s": line.bytes_per_s,
        "bytes_per_s_error": line.bytes_per_s_error,
        "is_alpha_known": line.is_alpha_known,
        "r_squared": line.r_squared,
        "mean_error": line.mean_error,
        "largest_error": line.largest_error,
    }


def _latency(first: dict[str, Any]) -> str:
    return f"These sizes do not determine the latency: measure smaller ones. {_measure(first)}"


def _measure(first: dict[str, Any]) -> str:
    """Say how to measure it with NCCL's tests, on the nodes of the job."""
    program = _TESTED.get(first["kind"])
    if program is None:
        return "Record operations of more sizes."
    ranks = first["ranks"]
    gpus = f" -g {ranks}" if ranks is not None and first["nodes"] == 1 else ""
    return (
        f"Or measure it: NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,TUNING {program} -b 8 -e 1G -f 2{gpus} "
        "> nccl.log, then tracegraph attach RUN nccl.log."
    )
