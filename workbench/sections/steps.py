"""The steps of a run compared, and what recurs on their paths."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pandas as pd

from tracegraph.base.units import short_ns
from tracegraph.workbench.findings.findings import Findings
from tracegraph.workbench.findings.step_summary import StepSummary
from tracegraph.workbench.sections.blocks import Block, Column, Fact, Facts, Plot, Table
from tracegraph.workbench.sections.section import TIME, Parameters, Scope, Section, refuse_part
from tracegraph.workbench.text.text import the_first

_MOST_OUTLIERS = 8
"""How many outliers are named."""
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
_TYPES = (
    Column("type", "type"),
    Column("count", "steps", "count"),
    Column("_batch", "batch"),
    Column("_tokens", "tokens"),
    Column("total_ns", "in all", "duration"),
    Column("median_ns", "median", "duration"),
    Column("spread_ns", "spread", "duration", roomy=True),
    Column("shortest_ns", "shortest", "duration", roomy=True),
    Column("longest_ns", "longest", "duration", roomy=True),
    Column("typical", "typical", "number"),
    Column("_outliers", "outliers"),
)
_SAID = (
    Column("type", "type"),
    Column("batch", "batch", "count"),
    Column("tokens", "tokens", "count"),
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
    length = f"{summary.count} steps of {short_ns(summary.shortest_ns)} to {short_ns(summary.longest_ns)}"
    if not summary.types:
        spread = f"spread {short_ns(summary.spread_ns)} (1.4826 * MAD)"
        length += f", median {short_ns(summary.median_ns)}, {spread}"
    if findings.details.ranks > 1:
        length += ", each on the rank that ends it last"
    nearest = (
        f"nearest to the median of {summary.types[0].type}" if summary.types else "nearest to the median"
    )
    typical = f"step {summary.typical}, {nearest}: {short_ns(lengths[summary.typical])}"
    yield Facts([Fact("length", length), Fact("typical", typical), _outliers(lengths, summary)])
    if summary.types:
        yield _types(summary)
    yield _plot(findings.job_steps, summary)
    rows = findings.recurring
    counts = [f"{steps:,} of {len(findings.step_paths):,}" for steps in rows["steps"]]
    of_ranks = " of all ranks" if findings.details.ranks > 1 else ""
    caption = f"What recurs on the paths of the steps{of_ranks}, the largest mean first:"
    yield Table(rows.assign(_of_steps=counts), _RECURRING, caption, folded=caption.removesuffix(":"))


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
        marks={} if summary.types else {f"median, {short_ns(summary.median_ns)}": summary.median_ns},
        told=_TOLD if not summary.types else (*_SAID, *_TOLD),
    )


def _types(summary: StepSummary) -> Table:
    """List iterations of a server by type: the time of a prefill says nothing about a decode."""
    rows = pd.DataFrame(
        {
            "type": one.type,
            "count": one.count,
            "total_ns": one.total_ns,
            "median_ns": one.median_ns,
            "spread_ns": one.spread_ns,
            "shortest_ns": one.shortest_ns,
            "longest_ns": one.longest_ns,
            "typical": one.typical,
            "_batch": _range_text(one.batch),
            "_tokens": _range_text(one.tokens),
            "_outliers": _shown(one.outliers),
        }
        for one in summary.types
    )
    return Table(rows, _TYPES, "Iterations by what they do, compared within their type:")


def _range_text(found: tuple[int, int] | None) -> str:
    if found is None:
        return "not stated"
    return f"{found[0]:,}" if found[0] == found[1] else f"{found[0]:,} to {found[1]:,}"


def _shown(numbers: Sequence[int]) -> str:
    return the_first(numbers, _MOST_OUTLIERS) if numbers else "none"


def _outliers(lengths: "pd.Series[int]", summary: StepSummary) -> Fact:
    if not summary.outliers:
        of = "of its type" if summary.types else ""
        return Fact("outliers", f"none: no step is more than 3 spreads from the median {of}".strip())
    shown = [f"step {number} ({short_ns(lengths[number])})" for number in summary.outliers[:_MOST_OUTLIERS]]
    left = len(summary.outliers) - len(shown)
    more = f" and {left} more" if left else ""
    of_type = " of their type" if summary.types else ""
    return Fact(
        "outliers", f"{', '.join(shown)}{more}: more than 3 spreads from the median{of_type}", "warning"
    )


def _asks(scope: Scope) -> Mapping[str, Parameters]:
    asked = {"steps": scope.whole}
    if not scope.part:
        asked |= {"step_paths": scope.whole, "recurring_hotspots": scope.whole}
    return asked


def _rows(findings: Findings) -> pd.DataFrame:
    refuse_part(findings)
    return findings.step_paths


SECTION = Section(120, "Steps", _content, _asks, _rows, group=TIME)
