"""The buckets in which gradients are reduced, and how long steps would take with other sizes of them."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from tracegraph.workbench.findings.findings import Findings
from tracegraph.workbench.sections.blocks import Block, Column, Plot, Table, Words, filled
from tracegraph.workbench.sections.section import OTHERS, Parameters, Scope, Section
from tracegraph.workbench.text.text import format_ns, format_share

_MOST_BUCKETS = 40
"""How many buckets the table lists."""
_BUCKETS = (
    Column("bucket", "bucket", "number"),
    Column("bytes", "data", "bytes"),
    Column("elements", "gradients", "count", roomy=True),
    Column("waited_ns", "waits for ranks", "duration"),
    Column("transfer_ns", "transfer", "duration"),
    Column("length_ns", "both", "duration", roomy=True),
    Column("exposed_ns", "exposed", "duration"),
    Column("count", "times", "count", roomy=True),
)
_SIZES = (
    Column("bucket_mb", "size, MiB", "number"),
    Column("buckets", "buckets", "count"),
    Column("step_ns", "step", "duration"),
    Column("least_ns", "least", "duration"),
    Column("most_ns", "most", "duration"),
    Column("gain_ns", "shorter", "duration"),
    Column("exposed_ns", "after the last gradient", "duration", roomy=True),
)
_NOTE = (
    "Means over steps and ranks. A bucket is exposed where nothing is computed while it waits or transfers."
)
_PREDICTED = (
    "Gradients are ready when they were; a bucket begins when it is full and the one before has ended, and "
    "takes the fitted latency and its data by the fitted bandwidth. Least and most follow from the errors of "
    "both."
)


def _content(findings: Findings) -> Sequence[Block]:
    buckets, sizes = (findings.answers.get(name) for name in ("ddp_buckets", "ddp_bucket_sizes"))
    if buckets is None or buckets.empty:
        return []
    blocks: list[Block] = []
    if sizes is not None and len(sizes):
        blocks += _predicted(sizes)
    means = _means(buckets)
    return [*blocks, Table(means, filled(means, _BUCKETS), "The buckets as recorded:", _NOTE)]


def _means(buckets: pd.DataFrame) -> pd.DataFrame:
    """Take the means of each bucket over steps and ranks."""
    rows = buckets.assign(length_ns=buckets["end_ns"] - buckets["start_ns"])
    fields = [one.field for one in _BUCKETS if one.field not in ("bucket", "count")]
    groups = rows.groupby("bucket", sort=True)
    # Of some operations waits are not known: a mean of the others would be none of the bucket.
    whole = groups[fields].count().eq(groups.size(), axis=0)
    means = groups[fields].mean().where(whole).astype("Float64").round().astype("Int64")
    means = means.assign(count=groups.size())
    return means.reset_index().head(_MOST_BUCKETS)


def _predicted(sizes: pd.DataFrame) -> Sequence[Block]:
    """Show what steps other sizes would give on the rank whose steps are longest, or why nobody knows."""
    recorded = sizes[sizes["bucket_mb"].isna()]
    longest = recorded.sort_values("step_ns", ascending=False, kind="stable").head(1)
    rank = longest["rank"].iloc[0]
    rows = sizes[sizes["rank"].eq(rank) & sizes["bucket_mb"].notna()]
    if rows.empty:
        return [Words(str(text), "note") for text in longest["lacks"].dropna()]
    recorded_ns, best = int(longest["step_ns"].iloc[0]), rows.sort_values("step_ns", kind="stable").iloc[0]
    return [
        Words(_said(recorded_ns, best)),
        *([] if rows["is_within"].all() else [Words(_BEYOND, "note")]),
        Plot(
            f"Length of a step by the size of buckets, on rank {rank}",
            rows.reset_index(drop=True),
            "curves",
            Column("bucket_mb", "size of buckets, MiB", "amount"),
            Column("step_ns", "predicted step", "duration"),
            between=("least_ns", "most_ns"),
            marks={"as recorded": recorded_ns},
            told=(_SIZES[1], *_SIZES[3:6]),
            note=_PREDICTED,
        ),
        Table(rows, _SIZES, "Other sizes:"),
    ]


_BEYOND = "Some sizes lie outside of those that were measured: there the prediction extrapolates."
_NEXT_TO_NOTHING = 0.005
"""Part of a step below which no size is said to gain anything. Chosen by eye, as half of the 1 % from which
fixes are told."""


def _said(recorded_ns: int, best: "pd.Series[Any]") -> str:
    length_ns, size = int(best["step_ns"]), float(best["bucket_mb"])
    gain = recorded_ns - length_ns
    if gain < _NEXT_TO_NOTHING * recorded_ns:
        return f"A step takes {format_ns(recorded_ns)}; no other size of buckets would shorten it noticeably."
    least, most = (format_ns(int(best[name])) for name in ("least_ns", "most_ns"))
    return (
        f"A step takes {format_ns(recorded_ns)}; with buckets of {size:g} MiB (bucket_cap_mb={size:g}) it "
        f"would take {format_ns(length_ns)}, between {least} and {most}: "
        f"{format_share(gain / recorded_ns)} less."
    )


def _asks(scope: Scope) -> Mapping[str, Parameters]:
    if not scope.drawn or not scope.communicates or scope.part:
        return {}
    return {"ddp_buckets": scope.whole, "ddp_bucket_sizes": scope.between}


SECTION = Section(103, "Buckets of gradients", _content, _asks, group=OTHERS)
