"""How much of the communication on GPUs computation hides, and what it does not hide."""

from collections.abc import Mapping, Sequence

import pandas as pd

from tracegraph.workbench.findings.findings import Findings
from tracegraph.workbench.sections.blocks import Block, Column, Plot, Table
from tracegraph.workbench.sections.section import OTHERS, Parameters, Scope, Section

_MOST = 20
"""How many kernels with exposed communication the table lists."""
_MOST_STEPS = 64
"""How many steps of ranks the table lists."""
_RANKS = (
    Column("rank", "rank", "number"),
    Column("communication_ns", "communication", "duration"),
    Column("overlap_ns", "hidden by computation", "duration"),
    Column("overlap_share", "hidden", "share"),
    Column("exposed_ns", "exposed", "duration"),
    Column("overlap_efficiency", "of what could overlap", "share"),
)
_STEPS = (
    Column("rank", "rank", "number"),
    Column("step", "step", "number"),
    Column("step_ns", "time", "duration"),
    Column("computing_ns", "computing", "duration"),
    Column("communication_ns", "communication", "duration"),
    Column("exposed_ns", "exposed", "duration"),
    Column("hidden_share", "hidden", "share"),
    Column("overlap_efficiency", "of what could overlap", "share"),
)
_KERNELS = (
    Column("rank", "rank", "number"),
    Column("name", "kernel", "name"),
    Column("collective", "operation", "name", roomy=True),
    Column("group", "group", "name", roomy=True),
    Column("count", "count", "count"),
    Column("duration_ns", "duration", "duration"),
    Column("exposed_ns", "exposed", "duration"),
    Column("exposed_share", "exposed", "share"),
)
_AXES = Column("_rank", "rank"), Column("duration_ns", "communication", "duration")
_PARTS = {"overlap_ns": "hidden by computation", "exposed_ns": "exposed"}


def _content(findings: Findings) -> Sequence[Block]:
    ranks, kernels = (findings.answers.get(name) for name in ("comm_comp_overlap", "exposed_communication"))
    if ranks is None or kernels is None or ranks.empty:
        return []
    parts = [ranks.assign(part=text, duration_ns=ranks[name]) for name, text in _PARTS.items()]
    bars = pd.concat(parts)[["rank", "part", "duration_ns"]]
    plot = Plot(
        "Communication of each rank",
        bars.assign(_rank=[f"rank {rank}" for rank in bars["rank"]]),
        "bars",
        *_AXES,
        colour="part",
        colours={"hidden by computation": "#2a9d8f", "exposed": "#d1495b"},
        across=True,
    )
    note = (
        "A kernel that waits for other ranks counts as communication; of several ranks see Collectives. What "
        "could overlap is the shorter of communication and computing."
    )
    steps = findings.answers.get("step_overlap")
    by_step = [] if steps is None or steps["step"].isna().all() else [steps.head(_MOST_STEPS)]
    return [
        plot,
        Table(ranks, _RANKS, note=note),
        *(Table(rows, _STEPS, "By rank and step:", long=True) for rows in by_step),
        Table(kernels.head(_MOST), _KERNELS, "What is not hidden:"),
    ]


def _asks(scope: Scope) -> Mapping[str, Parameters]:
    asked = ("comm_comp_overlap", "step_overlap", "exposed_communication")
    return dict.fromkeys(asked, scope.between) if scope.drawn else {}


SECTION = Section(126, "Communication and computation", _content, _asks, group=OTHERS)
