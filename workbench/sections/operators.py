"""The operators with the most time of their own, what they launched, and how much of it is critical."""

from collections.abc import Mapping, Sequence

import pandas as pd

from tracegraph.workbench.findings.findings import Findings
from tracegraph.workbench.sections.blocks import Block, Column, Plot, Table, Words
from tracegraph.workbench.sections.section import CODE, Parameters, Scope, Section

_ROWS, _BARS = 20, 12
"""How many operators the table lists and the plot draws."""
_RANK = Column("rank", "rank", "number")
_COLUMNS = (
    Column("name", "name", "name"),
    Column("count", "calls", "count"),
    Column("self_cpu_ns", "own CPU", "duration"),
    Column("cpu_ns", "CPU", "duration"),
    Column("mean_cpu_ns", "a call", "duration", roomy=True),
)
_ON_GPU = (Column("self_gpu_ns", "own GPU", "duration"), Column("gpu_ns", "GPU", "duration", roomy=True))
_ON_PATH = Column("path_self_ns", "CPU on the path", "duration")
_GPU_ON_PATH = Column("path_gpu_ns", "GPU on the path", "duration")
_AXES = Column("name", "operator", "name"), Column("duration_ns", "time", "duration")
_NOTE = (
    "Own CPU: while no operator inside is open; calls to the GPU and Python inside count. Own GPU: the work "
    "that it launched itself; such work adds up, at the same time or not. Of calls inside others of the "
    "name, CPU and GPU count the outermost."
)


def _content(findings: Findings) -> Sequence[Block]:
    rows = findings.answers.get("operators")
    if rows is None:
        return []
    if rows.empty:
        return [Words("the file holds no operator")]
    on_gpu = bool(rows["self_gpu_ns"].notna().any())
    largest = rows.assign(_own_ns=rows["self_cpu_ns"] + rows["self_gpu_ns"].fillna(0).astype("int64"))
    largest = largest.sort_values("_own_ns", ascending=False, kind="stable").head(_ROWS)
    columns = (*_COLUMNS, *(_ON_GPU if on_gpu else ()), _ON_PATH, *([_GPU_ON_PATH] if on_gpu else ()))
    caption = "Those with the most time of their own:" if len(rows) > _ROWS else ""
    return [
        _plot(rows),
        Table(largest, (_RANK, *columns) if findings.details.ranks > 1 else columns, caption, _NOTE),
    ]


def _plot(rows: pd.DataFrame) -> Plot:
    """Plot the operators' own time by name, on all ranks."""
    parts = {"CPU": "self_cpu_ns", "GPU": "self_gpu_ns"}
    sums = rows.groupby("name", sort=False)[list(parts.values())].sum()
    largest = sums.loc[sums.sum(axis=1).sort_values(ascending=False, kind="stable").index[:_BARS]]
    bars = pd.concat(
        [
            pd.DataFrame({"name": largest.index, "duration_ns": largest[column].astype("int64"), "on": on})
            for on, column in parts.items()
            if rows[column].notna().any()
        ],
        ignore_index=True,
    )
    return Plot("Own time of the operators", bars, "bars", *_AXES, colour="on", across=True)


def _asks(scope: Scope) -> Mapping[str, Parameters]:
    return {"operators": scope.walked} if scope.drawn else {}


SECTION = Section(
    118,
    "Operators",
    _content,
    _asks,
    lambda findings: findings.answers.get("operators", pd.DataFrame()),
    group=CODE,
)
