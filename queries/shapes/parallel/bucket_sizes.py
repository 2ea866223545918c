"""How long steps would take with other sizes of DDP's buckets: a replay with a fitted transfer."""

from itertools import product
from typing import Any

import pandas as pd

from tracegraph.base.gradient_buckets import (
    ACCUMULATES,
    FIRST_MB,
    USUAL_MB,
    Sized,
    fill_buckets,
    reduced_at,
)
from tracegraph.queries.module import Column, Parameter
from tracegraph.queries.shapes.derived_query import Values
from tracegraph.queries.shapes.frame_rows import records
from tracegraph.queries.shapes.parallel.gradients import Pass, passes_of
from tracegraph.queries.shapes.transfers.fit import transfer_fit
from tracegraph.vocabulary.collectives import TRACE

_NS_PER_S = 1e9
GRADIENTS = {"accumulates": ACCUMULATES}
BUCKET_PARAMETERS = (
    Parameter("bucket_mb", "FLOAT", "size of buckets, MiB; null: the usual ones", (0, 100_000), None, True),
    Parameter("first_mb", "FLOAT", "size of the first one, if it is less, MiB", (0, 100_000), FIRST_MB),
)
BUCKET_COLUMNS = (
    Column("rank", "INTEGER", False, "rank of the process"),
    Column("bucket_mb", "FLOAT", True, "size at which a bucket is closed, MiB; null: as recorded"),
    Column("buckets", "INTEGER", False, "buckets of a step, the mean of its steps rounded"),
    Column("step_ns", "INTEGER", False, "length of a step, mean; predicted unless as recorded, ns"),
    Column("least_ns", "INTEGER", True, "least by the errors of latency and bandwidth, ns"),
    Column("most_ns", "INTEGER", True, "most by these errors, ns"),
    Column("gain_ns", "INTEGER", True, "how much shorter than recorded that is, ns"),
    Column("exposed_ns", "INTEGER", True, "how long reducing goes on once the last gradient is there, ns"),
    Column("is_best", "BOOLEAN", True, "whether no other size listed has a shorter step"),
    Column(
        "is_within", "BOOLEAN", True, "whether all sizes lie in the range of the fit; else it extrapolates"
    ),
    Column(
        "evidence", "STRING", True, "times of gradients: `recorded`, or `inferred` between recorded buckets"
    ),
    Column("source", "STRING", True, "who measured the transfers of the fit"),
    Column("lacks", "STRING", True, "why there is no prediction, and what to measure"),
)
"""Columns of `ddp_bucket_sizes`."""


def ddp_bucket_sizes(
    values: Values,
    buckets: pd.DataFrame,
    gradients: pd.DataFrame,
    steps: pd.DataFrame,
    transfers: pd.DataFrame,
    files: pd.DataFrame,
    stated: pd.DataFrame,
) -> pd.DataFrame:
    """Replay the buckets with sizes other than recorded; without a fit of all-reduces, say what it lacks.

    Parameters
    ----------
    buckets
        The buckets as recorded, one a row.
    gradients
        The gradients of each backward pass, with their bytes and when they are ready.
    transfers, files, stated
        What the fit of all-reduces is made of, as in `transfer_fit`.
    """
    fit = _best_fit(records(transfer_fit(values, transfers, files, stated)))
    rows: list[dict[str, Any]] = []
    for rank, own in buckets.groupby("rank", sort=True):
        lengths = steps[steps["rank"].eq(rank)].set_index("number")
        whole = own[own["step"].isin(lengths.index)]
        if whole.empty:
            continue
        length = (lengths["window_end_ns"] - lengths["start_ns"]).loc[sorted(set(whole["step"]))].mean()
        recorded = {
            "rank": rank,
            "buckets": round(len(whole) / whole["step"].nunique()),
            "step_ns": round(length),
        }
        rows.append({**recorded, "lacks": _lacks(fit, whole)})
        if rows[-1]["lacks"] is None:
            passes = list(passes_of(whole, gradients[gradients["rank"].eq(rank)]))
            rows += ({**recorded, **row} for row in _predicted(values, passes, fit, length))
    return pd.DataFrame(rows, columns=[column.name for column in BUCKET_COLUMNS])


def _best_fit(fits: list[dict[str, Any]]) -> dict[str, Any]:
    """Prefer what the trace itself measured; where nothing could be fitted, what that lacks."""
    own = [one for one in fits if one["kind"] == "all_reduce" and not one["in_place"]]
    own.sort(key=lambda one: (one["bytes_per_s"] is None, one["source"] != TRACE))
    nothing = {"bytes_per_s": None, "lacks": "No all-reduces of known size are recorded."}
    return own[0] if own else nothing


def _lacks(fit: dict[str, Any], buckets: pd.DataFrame) -> str | None:
    if fit["bytes_per_s"] is None:
        return f"No size is predicted without latency and bandwidth. {fit['lacks']}"
    if buckets["bytes"].isna().any():
        return "No size is predicted, since the file does not say how many gradients are in each bucket."
    return None


def _predicted(
    values: Values, passes: list[Pass], fit: dict[str, Any], length: float
) -> list[dict[str, Any]]:
    """Return a row for each size, with the lengths that follow from the fit and from its errors."""
    given = values.get("bucket_mb")
    steps = len({one.step for one in passes})
    transfers = [(way, sum(_tail(_as_recorded(one), one, *way) for one in passes)) for way in _transfers(fit)]
    rows = []
    for bucket_mb in USUAL_MB if given is None else (float(given),):
        filled = [fill_buckets(one.gradients, float(values["first_mb"]), bucket_mb) for one in passes]
        changes = []
        for way, before in transfers:
            after = sum(_tail(new, one, *way) for new, one in zip(filled, passes, strict=True))
            changes.append(((after - before) / steps, after / steps))
        all_sizes = [size for new in filled for size, _ in new]
        rows.append(
            {
                "bucket_mb": bucket_mb,
                "buckets": round(len(all_sizes) / steps),
                "step_ns": round(length + changes[0][0]),
                "least_ns": round(length + min(change for change, _ in changes)),
                "most_ns": round(length + max(change for change, _ in changes)),
                "gain_ns": -round(changes[0][0]),
                "exposed_ns": round(changes[0][1]),
                "is_within": fit["valid_from"] <= min(all_sizes) and max(all_sizes) <= fit["valid_to"],
                "evidence": "recorded" if all(one.is_recorded for one in passes) else "inferred",
                "source": fit["source"],
            }
        )
    best = min((row["step_ns"] for row in rows), default=None)
    return [{**row, "is_best": row["step_ns"] == best} for row in rows]


def _transfers(fit: dict[str, Any]) -> list[tuple[float, float]]:
    """Return latency in ns and ns a byte as fitted, and at the ends of their standard errors."""
    alpha, slope = float(fit["alpha_ns"]), _NS_PER_S / fit["bytes_per_s"]
    errors = float(fit["alpha_error_ns"]), slope * fit["bytes_per_s_error"] / fit["bytes_per_s"]
    ways = [(0.0, 0.0), *product((-1.0, 1.0), repeat=2)]
    return [(max(0.0, alpha + a * errors[0]), max(0.0, slope + b * errors[1])) for a, b in ways]


def _as_recorded(one: Pass) -> Sized:
    return list(zip(one.sizes, one.ready, strict=True))


def _tail(buckets: Sized, one: Pass, alpha: float, slope: float) -> float:
    """Return how long reducing goes on after the last gradient."""
    return max(reduced_at(buckets, alpha, slope)) - one.gradients[-1][1]
