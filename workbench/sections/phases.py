"""How long forward, backward and optimizer take, and what their critical paths are made of."""

from collections.abc import Iterator, Mapping, Sequence

import pandas as pd

from tracegraph.vocabulary.phases import PHASE_NAMES
from tracegraph.workbench.findings.findings import Findings
from tracegraph.workbench.sections.blocks import Block, Column, Plot, Table, Words
from tracegraph.workbench.sections.section import CODE, Parameters, Scope, Section, refuse_part
from tracegraph.workbench.text.text import plural

_PHASE = Column("phase", "phase")
_COLUMNS = (
    _PHASE,
    Column("mean_ns", "mean length", "duration"),
    Column("min_ns", "shortest", "duration", roomy=True),
    Column("max_ns", "longest", "duration", roomy=True),
    Column("step_deviation_ns", "deviation over steps", "duration", roomy=True),
    Column("rank_deviation_ns", "deviation over ranks", "duration", roomy=True),
    Column("mean_window_ns", "with its GPU work", "duration", roomy=True),
    Column("gpu_share", "GPU", "share"),
    Column("cpu_share", "CPU", "share"),
    Column("gap_share", "gaps", "share"),
    Column("unclear_share", "unknown or untraced", "share", roomy=True),
    Column("hotspot", "mostly", "name"),
    Column("hotspot_share", "its share", "share", roomy=True),
    Column("count", "times", "count", roomy=True),
)
_OF_A_GPU = ("mean_window_ns", "gpu_share")
_OF_SEVERAL = ("step_deviation_ns", "rank_deviation_ns")
"""Columns that a run of one step, or of one rank, has nothing for."""
_COLOURS = dict(zip(PHASE_NAMES, ("#8a8f98", "#c9a227", "#3b7dd8", "#d9603b", "#3f9c63"), strict=True))
_MOST_BARS = 60
"""How many steps, ranks or occurrences the plot draws."""


def _content(findings: Findings) -> Sequence[Block]:
    phases = findings.answers.get("phases")
    if findings.part or phases is None or phases.empty:
        return []
    return list(_blocks(findings, phases))


def _blocks(findings: Findings, phases: pd.DataFrame) -> Iterator[Block]:
    yield Words(_evidence(phases))
    yield _plot(phases)
    rows = findings.answers.get("phase_paths")
    if rows is None:
        return
    hidden = [
        *(_OF_A_GPU if findings.gpu.empty else ()),
        *(one for one in _OF_SEVERAL if rows[one].isna().all()),
    ]
    columns = [column for column in _COLUMNS if column.field not in hidden]
    caption = "How long the thread is in each phase, and what the critical paths of the phases are made of:"
    yield Table(rows, columns, caption)


def _evidence(phases: pd.DataFrame) -> str:
    inferred = phases["evidence"].eq("inferred")
    named, told = (list(dict.fromkeys(phases.loc[chosen, "phase"])) for chosen in (~inferred, inferred))
    parts = [f"{', '.join(named)}: named by annotations"] if named else []
    sure = phases.loc[inferred, "confidence"].min()
    parts += [f"{', '.join(told)}: inferred from what ran, confidence from {sure:.2g}"] if told else []
    outside = int(phases["step"].isna().sum())
    parts += [f"{plural(outside, 'phase')} in no step"] if 0 < outside < len(phases) else []
    return "; ".join(parts)


def _plot(phases: pd.DataFrame) -> Plot:
    """Plot mean lengths by rank if there are several, else the lengths in each step, or in order."""
    rows = phases.assign(length_ns=phases["end_ns"] - phases["start_ns"])
    if rows["rank"].nunique() > 1:
        title, x = "Mean time in each phase on each rank", Column("rank", "rank", "number")
        rows = rows.groupby(["rank", "phase"])["length_ns"].mean().reset_index()
    elif rows["step"].notna().any():
        title, x = "Time in each phase of each step", Column("step", "step", "number")
        inside = rows[rows["step"].notna()]
        rows = inside.groupby(["step", "phase"])["length_ns"].sum().reset_index()
    else:
        title, x = "Time in each phase, in their order", Column("occurrence", "which one", "number")
        rows = rows.groupby(["occurrence", "phase"])["length_ns"].sum().reset_index()
    shown = rows[rows[x.field].isin(rows[x.field].drop_duplicates().sort_values().head(_MOST_BARS))]
    left = rows[x.field].nunique() - shown[x.field].nunique()
    shown = shown.assign(_order=shown["phase"].map(PHASE_NAMES.index)).sort_values([x.field, "_order"])
    return Plot(
        title,
        shown.astype({x.field: "int64"}).reset_index(drop=True),
        "bars",
        x,
        Column("length_ns", "length", "duration"),
        colour="phase",
        colours={name: _COLOURS[name] for name in PHASE_NAMES if (shown["phase"] == name).any()},
        told=(_PHASE,),
        note=f"{left:,} more are not drawn." if left else "",
    )


def _asks(scope: Scope) -> Mapping[str, Parameters]:
    if scope.part:
        return {}
    asked = {"phases": scope.whole}
    return {**asked, "phase_paths": scope.whole} if scope.drawn else asked


def _rows(findings: Findings) -> pd.DataFrame:
    refuse_part(findings)
    return findings.answers.get("phases", pd.DataFrame())


SECTION = Section(119, "Phases", _content, _asks, _rows, group=CODE)
