"""The steps of a run compared, and what recurs on their paths."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pandas as pd

from tracegraph.workbench.report.findings import Findings
from tracegraph.workbench.report.step_summary import StepSummary
from tracegraph.workbench.sections.blocks import Block, Column, Fact, Facts, Plot, Table
from tracegraph.workbench.sections.section import Parameters, Scope, Section, refuse_part
from tracegraph.workbench.text import format_ns

_MOST_OUTLIERS = 8
_RECURRING = (
    Column("name", "name", "name"),
    Column("category", "category", roomy=True),
    Column("mean_ns", "mean a step", "duration"),
    Column("std_ns", "deviation", "duration"),
    Column("min_ns", "least", "duration", roomy=True),
    Column("max_ns", "most", "duration", roomy=True),
    Column("mean_share", "share", "share"),
    Column("_of_steps", "steps", "number"),
)
_TOLD = (
    Column("gpu_share", "GPU", "share"),
    Column("cpu_share", "CPU", "share"),
    Column("gap_share", "gaps", "share"),
    Column("unclear_share", "unknown or untraced", "share"),
    Column("inferred_share", "inferred", "share"),
    Column("hotspot", "mostly", "name"),
    Column("hotspot_share", "its share", "share"),
)


def _content(findings: Findings) -> Sequence[Block]:
    summary = findings.step_summary
    return [] if summary is None else list(_blocks(findings, summary))


def _blocks(findings: Findings, summary: StepSummary) -> Iterator[Block]:
    lengths = findings.job_steps.set_index("number")["length_ns"]
    length = (
        f"{summary.count} steps of {format_ns(summary.shortest_ns)} to {format_ns(summary.longest_ns)}, "
        f"median {format_ns(summary.median_ns)}, spread {format_ns(summary.spread_ns)} (1.4826 * MAD)"
    )
    if findings.details.ranks > 1:
        length += ", each on the rank that ends it last"
    typical = f"step {summary.typical}, nearest to the median: {format_ns(lengths[summary.typical])}"
    yield Facts([Fact("length", length), Fact("typical", typical), _outliers(lengths, summary)])
    yield _plot(findings.job_steps, summary)
    rows = findings.recurring
    counts = [f"{steps:,} of {len(findings.step_paths):,}" for steps in rows["steps"]]
    of_ranks = " of all ranks" if findings.details.ranks > 1 else ""
    caption = f"What recurs on the paths of the steps{of_ranks}, the largest mean first:"
    yield Table(rows.assign(_of_steps=counts), _RECURRING, caption)


def _plot(steps: pd.DataFrame, summary: StepSummary) -> Plot:
    kinds = np.select([steps["outlier"], steps["typical"]], ["outlier", "typical step"], "step")
    return Plot(
        "Length of each step",
        steps.assign(_kind=kinds),
        "bars",
        Column("number", "step", "number"),
        Column("length_ns", "length", "duration"),
        colour="_kind",
        colours={"step": "", "typical step": "good", "outlier": "warning"},
        marks={f"median, {format_ns(summary.median_ns)}": summary.median_ns},
        told=_TOLD,
    )


def _outliers(lengths: "pd.Series[int]", summary: StepSummary) -> Fact:
    if not summary.outliers:
        return Fact("outliers", "none: no step is more than 3 spreads from the median")
    shown = [f"step {number} ({format_ns(lengths[number])})" for number in summary.outliers[:_MOST_OUTLIERS]]
    left = len(summary.outliers) - len(shown)
    more = f" and {left} more" if left else ""
    return Fact("outliers", f"{', '.join(shown)}{more}: more than 3 spreads from the median", "warning")


def _asks(scope: Scope) -> Mapping[str, Parameters]:
    asked = {"steps": scope.whole}
    if not scope.is_part:
        asked |= {"step_paths": scope.whole, "recurring_hotspots": scope.whole}
    return asked


def _rows(findings: Findings) -> pd.DataFrame:
    refuse_part(findings)
    return findings.step_paths


SECTION = Section(120, "Steps", _content, _asks, _rows)
