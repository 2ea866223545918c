"""Why the GPUs are idle: what the next work waits for meanwhile."""

from collections.abc import Mapping, Sequence

from tracegraph.workbench.findings.findings import Findings
from tracegraph.workbench.sections.blocks import Block, Column, Plot, Table
from tracegraph.workbench.sections.section import GPU, Parameters, Scope, Section

_MOST, _PLOTTED, _MOST_INSIDE = 20, 12, 20
"""How many causes the table lists and the plot draws, and how many rows the call stacks have."""
_CAUSES = (
    Column("cause", "waits for", "name"),
    Column("idle_ns", "idle", "duration"),
    Column("share", "of idle time", "share"),
    Column("count", "times", "count"),
    Column("rank", "idle rank", "number"),
    Column("lane_name", "on"),
    Column("caller", "called by", "name", roomy=True),
    Column("longest_ns", "longest", "duration", roomy=True),
    Column("next_name", "then runs", "name", roomy=True),
)
_INSIDE = (
    Column("name", "inside", "name"),
    Column("category", "category", roomy=True),
    Column("duration_ns", "idle", "duration"),
    Column("share", "of idle time", "share"),
)
_AXES = Column("cause", "cause", "name"), Column("idle_ns", "idle time", "duration")
_TOLD = (
    Column("caller", "called by", "name"),
    Column("lane_name", "on"),
    Column("share", "of idle time", "share"),
    Column("next_name", "then runs", "name"),
)


def _content(findings: Findings) -> Sequence[Block]:
    causes, inside = (findings.answers.get(name) for name in ("idle_causes", "idle_inside"))
    if causes is None or inside is None or causes.empty:
        return []
    ranks = causes.assign(_rank=[f"rank {rank}" for rank in causes["rank"]])
    plot = Plot(
        "What the next work of idle GPUs waits for",
        ranks.head(_PLOTTED),
        "bars",
        *_AXES,
        colour="_rank" if findings.details.ranks > 1 else "",
        told=_TOLD,
        across=True,
    )
    note = (
        "While no GPU of a rank works, each moment belongs to what its next work waits for: an event, or a "
        "gap such as the launch itself."
    )
    caption = "Inside what that goes on, from the outside in:"
    tables = [
        Table(causes.head(_MOST), _CAUSES, note=note),
        Table(inside.head(_MOST_INSIDE), _INSIDE, caption),
    ]
    return [plot, *tables]


def _asks(scope: Scope) -> Mapping[str, Parameters]:
    if not scope.drawn:
        return {}
    return {"idle_causes": {**scope.between, "limit": 1000}, "idle_inside": scope.between}


SECTION = Section(101, "Why GPUs are idle", _content, _asks, group=GPU)
