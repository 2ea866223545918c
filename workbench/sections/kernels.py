"""The kernels that take the GPUs' time, and how their durations are distributed."""

from collections.abc import Mapping, Sequence

from tracegraph.workbench.findings.findings import Findings
from tracegraph.workbench.sections.blocks import Block, Column, Plot, Table
from tracegraph.workbench.sections.gpu_time import COLOURS
from tracegraph.workbench.sections.section import GPU, Parameters, Scope, Section

_TOP, _PLOTTED, _MOST_ROWS = 10, 15, 120
"""How many kernels of each rank and type are asked for, how many are plotted, and how many rows listed."""
_COLUMNS = (
    Column("rank", "rank", "number"),
    Column("kernel_type", "type"),
    Column("name", "name", "name"),
    Column("count", "count", "count"),
    Column("sum_ns", "all", "duration"),
    Column("share", "of GPU work", "share"),
    Column("min_ns", "shortest", "duration", roomy=True),
    Column("median_ns", "median", "duration"),
    Column("mean_ns", "mean", "duration", roomy=True),
    Column("std_ns", "deviation", "duration", roomy=True),
    Column("p99_ns", "99 %", "duration", roomy=True),
    Column("max_ns", "longest", "duration"),
)
_AXES = Column("name", "kernel", "name"), Column("sum_ns", "all durations", "duration")
_TOLD = (
    Column("rank", "rank", "number"),
    Column("count", "count", "count"),
    Column("median_ns", "median", "duration"),
    Column("max_ns", "longest", "duration"),
)


def _content(findings: Findings) -> Sequence[Block]:
    rows = findings.answers.get("kernel_breakdown")
    if rows is None or rows.empty:
        return []
    longest = rows.sort_values("sum_ns", ascending=False, kind="stable").head(_PLOTTED)
    plot = Plot(
        "Kernels by all their durations",
        longest,
        "bars",
        *_AXES,
        colour="kernel_type",
        colours=COLOURS,
        told=_TOLD,
        across=True,
    )
    caption = (
        f"Of each rank and type the {_TOP} longest, the rest together; all: tracegraph query kernel_breakdown"
    )
    return [plot, Table(rows.head(_MOST_ROWS), _COLUMNS, caption)]


def _asks(scope: Scope) -> Mapping[str, Parameters]:
    return {"kernel_breakdown": {**scope.between, "top": _TOP}} if scope.drawn else {}


SECTION = Section(123, "Kernels", _content, _asks, group=GPU)
