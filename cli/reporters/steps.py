"""The steps of a run, in the terminal: how their lengths compare, and what recurs on their paths."""

import pandas as pd
from rich.console import Group, RenderableType
from rich.text import Text

from tracegraph.cli.reporters.layout import facts, table
from tracegraph.cli.reporters.names import Names
from tracegraph.workbench.report.findings import Findings
from tracegraph.workbench.report.step_summary import StepSummary
from tracegraph.workbench.text import format_ns, format_share

_MOST_OUTLIERS = 8


def compared_steps(findings: Findings, summary: StepSummary, names: Names) -> RenderableType:
    """Return the lengths of the steps, the typical one, the outliers and the recurring hotspots."""
    lengths = findings.step_paths.set_index("number")["length_ns"]
    lines = facts()
    lines.add_row(
        "length",
        Text(
            f"{summary.count} steps of {format_ns(summary.shortest_ns)} to {format_ns(summary.longest_ns)}, "
            f"median {format_ns(summary.median_ns)}, spread {format_ns(summary.spread_ns)} (1.4826 * MAD)"
        ),
    )
    typical = format_ns(lengths[summary.typical])
    lines.add_row("typical", Text(f"step {summary.typical}, nearest to the median: {typical}"))
    lines.add_row("outliers", _outliers(lengths, summary))
    recurring = Text("What recurs on the paths of the steps, the largest mean first:")
    return Group(lines, Text(), recurring, _recurring(findings.recurring, summary.count, names))


def _outliers(lengths: "pd.Series[int]", summary: StepSummary) -> Text:
    if not summary.outliers:
        return Text("none: no step is more than 3 spreads from the median")
    shown = [f"step {number} ({format_ns(lengths[number])})" for number in summary.outliers[:_MOST_OUTLIERS]]
    left = len(summary.outliers) - len(shown)
    more = f" and {left} more" if left else ""
    return Text(f"{', '.join(shown)}{more}: more than 3 spreads from the median", style="yellow")


def _recurring(frame: pd.DataFrame, steps: int, names: Names) -> RenderableType:
    rows = table("name", ">mean a step", ">deviation", ">share", ">steps")
    for row in frame.to_dict("records"):
        rows.add_row(
            names.of(row["name"]),
            format_ns(row["mean_ns"]),
            format_ns(row["std_ns"]),
            format_share(row["mean_share"]),
            f"{row['steps']:,} of {steps:,}",
        )
    return rows
