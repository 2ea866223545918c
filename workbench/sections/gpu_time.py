"""How the GPUs spend their time: computing, communicating, moving memory or idle."""

from collections.abc import Mapping, Sequence

import pandas as pd

from tracegraph.vocabulary.kernel_types import COMMUNICATION, COMPUTATION, MEMORY
from tracegraph.workbench.findings.findings import Findings
from tracegraph.workbench.sections.blocks import Block, Column, Plot, Table, Words
from tracegraph.workbench.sections.section import GPU, Parameters, Scope, Section

IDLE = "idle"
COLOURS = {COMPUTATION: "#e8871e", COMMUNICATION: "#2a9d8f", MEMORY: "#d1495b", IDLE: "#b4bcc6"}
"""Colours of the types of kernels, and of no kernel, in all plots."""
_RANKS = (
    Column("rank", "rank", "number"),
    Column("span_ns", "first to last work", "duration"),
    Column("busy_ns", "busy", "duration"),
    Column("idle_ns", "idle", "duration"),
    Column("idle_share", "idle", "share"),
    Column("compute_ns", "computing", "duration"),
    Column("non_compute_ns", "only other work", "duration", roomy=True),
    Column("communication_ns", "communicating", "duration", roomy=True),
    Column("memory_ns", "moving memory", "duration", roomy=True),
)
_TYPES = (
    Column("rank", "rank", "number"),
    Column("kernel_type", "what runs at the same time"),
    Column("duration_ns", "duration", "duration"),
    Column("share", "of busy time", "share"),
)
_AXES = Column("_rank", "rank"), Column("duration_ns", "time", "duration")
_MOST_ROWS = 64
"""How many rows each table lists."""


def _content(findings: Findings) -> Sequence[Block]:
    ranks, types = (findings.answers.get(name) for name in ("temporal_breakdown", "kernel_type_breakdown"))
    if ranks is None or types is None:
        return []
    if ranks.empty:
        return [Words("no GPU work is recorded here: sections about GPUs are left out", "note")]
    idle = ranks.assign(kernel_type=IDLE, duration_ns=ranks["idle_ns"])
    bars = pd.concat([types, idle])[["rank", "kernel_type", "duration_ns"]]
    plot = Plot(
        "Time of the GPUs of each rank",
        bars.assign(_rank=[f"rank {rank}" for rank in bars["rank"]]),
        "bars",
        *_AXES,
        colour="kernel_type",
        colours=COLOURS,
        across=True,
    )
    note = "From the first GPU work in the window to the last. What overlaps counts once."
    caption = "What runs alone and what overlaps:"
    return [
        plot,
        Table(ranks.head(_MOST_ROWS), _RANKS, note=note),
        Table(types.head(_MOST_ROWS), _TYPES, caption),
    ]


def _asks(scope: Scope) -> Mapping[str, Parameters]:
    asked = ("temporal_breakdown", "kernel_type_breakdown")
    return dict.fromkeys(asked, scope.between) if scope.drawn else {}


SECTION = Section(121, "GPU time", _content, _asks, group=GPU)
