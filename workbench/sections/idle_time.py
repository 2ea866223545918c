"""How long each stream is idle between its work, in kinds."""

from collections.abc import Mapping, Sequence

from tracegraph.workbench.findings.findings import Findings
from tracegraph.workbench.sections.blocks import Block, Column, Plot, Table
from tracegraph.workbench.sections.section import GPU, Parameters, Scope, Section

_COLUMNS = (
    Column("rank", "rank", "number"),
    Column("device", "GPU", "number", roomy=True),
    Column("stream", "stream", "number"),
    Column("idle_category", "kind"),
    Column("idle_ns", "idle", "duration"),
    Column("idle_share", "of the stream's", "share"),
    Column("count", "times", "count"),
    Column("median_ns", "median", "duration", roomy=True),
    Column("max_ns", "longest", "duration"),
)
_AXES = Column("_stream", "stream"), Column("idle_ns", "idle", "duration")
_TOLD = (Column("count", "times", "count"), Column("max_ns", "longest", "duration"))
_MOST_ROWS = 100
"""How many rows the plot and the table show."""


def _content(findings: Findings) -> Sequence[Block]:
    rows = findings.answers.get("idle_time_breakdown")
    if rows is None or rows.empty:
        return []
    streams = [
        f"rank {rank}, stream {stream}" for rank, stream in zip(rows["rank"], rows["stream"], strict=True)
    ]
    plot = Plot(
        "Idle time of each stream",
        rows.assign(_stream=streams).head(_MOST_ROWS),
        "bars",
        *_AXES,
        colour="idle_category",
        told=_TOLD,
        across=True,
    )
    note = (
        "host_wait: the next work was launched after the stream went idle; kernel_wait: it was queued, and "
        "the stream idle for less than 30 µs; other: the rest. Why it was idle: see Why GPUs are idle."
    )
    return [plot, Table(rows.head(_MOST_ROWS), _COLUMNS, note=note)]


def _asks(scope: Scope) -> Mapping[str, Parameters]:
    return {"idle_time_breakdown": scope.between} if scope.drawn else {}


SECTION = Section(124, "Idle time of streams", _content, _asks, group=GPU)
