"""How much slower steps are because workers, stages and types of operations differ: logs of operations."""

from collections.abc import Mapping, Sequence

import pandas as pd

from tracegraph.workbench.findings.findings import Findings
from tracegraph.workbench.sections.blocks import Block, Column, HeatMap, Plot, Table, Words
from tracegraph.workbench.sections.section import OTHERS, Parameters, Scope, Section
from tracegraph.workbench.text.text import format_ns, format_share, format_times, plural

_COLUMNS = (
    Column("level", "of", "text"),
    Column("group", "which", "text"),
    Column("slowdown", "a step takes, times", "times"),
    Column("gain_ns", "shorter if ideal", "duration"),
    Column("share", "of what is lost", "share"),
)
_WORKERS = (
    Column("group", "rank", "text"),
    Column("dp_rank", "dp rank", "number"),
    Column("stage", "stage", "number"),
    Column("slowdown", "a step takes, times", "times"),
    Column("gain_ns", "shorter if ideal", "duration"),
    Column("share", "of what is lost", "share"),
)
_WORKER, _MOST_WORKERS = "worker", 10
_LEAST, _MOST = 1.0, 1.5
"""Slowdowns from which on a worker has a colour, and the strongest one, as in the published heat maps."""
_LOSS = 1.005
"""Below this slowdown, stragglers are not said to cost anything. Chosen by eye, as half of the 1 % from which
fixes are told."""


def _content(findings: Findings) -> Sequence[Block]:
    told, rows = findings.stragglers, findings.answers.get("operation_stragglers", pd.DataFrame())
    if not told or rows.empty:
        return []
    workers = rows[rows["level"] == _WORKER]
    named = workers.assign(_rank=[f"rank {rank}" for rank in workers["group"]])
    axes = Column("_rank", "rank"), Column("slowdown", "a step takes, times", "amount")
    return [
        Words(_sentences(told)),
        Table(rows[rows["level"] != _WORKER], _COLUMNS, note=_METHOD),
        _heat_map(workers),
        Table(workers.head(_MOST_WORKERS), _WORKERS, "The workers with which alone a step would be slowest:"),
        Plot("How slow a step is with each worker alone as it was", named, "bars", *axes, across=True),
    ]


_METHOD = (
    "Each row: how many times the ideal a step takes where only this group keeps its own times, and what is "
    "gained where only this group takes ideal ones. Ideal is the mean of a type's work, the median of its "
    "transfers."
)


def _sentences(told: Mapping[str, object]) -> str:
    recorded, without, ideal = (
        format_ns(int(str(told[name]))) for name in ("recorded_ns", "without_delays_ns", "ideal_ns")
    )
    slowdown = float(str(told["slowdown"]))
    said = (
        f"A step takes {recorded}, {without} without delays of the host between operations, and {ideal} if "
        "all operations of a type take the same time."
    )
    worst, last = told["worst_workers"], told["last_stage"]
    if slowdown < _LOSS or worst is None or last is None:
        return f"{said} Stragglers cost next to nothing (S = {slowdown:.3f})."
    left_out = told["left_out"]
    beside = f" {plural(len(left_out), 'step')} left out." if isinstance(left_out, list) and left_out else ""
    return (
        f"{said} Stragglers make it {format_times(slowdown)} times as long (S). The worst workers, 3 % of "
        f"them, explain {format_share(float(str(worst)))} of that (M_W), the last stage "
        f"{format_share(float(str(last)))} (M_S).{beside}"
    )


def _heat_map(workers: pd.DataFrame) -> HeatMap:
    grid = workers.pivot_table(index="stage", columns="dp_rank", values="slowdown", aggfunc="max")
    cells = [[None if pd.isna(value) else float(value) for value in row] for row in grid.to_numpy()]
    return HeatMap(
        across="dp rank",
        down="stage",
        columns=[str(name) for name in grid.columns],
        rows=[str(name) for name in grid.index],
        cells=cells,
        least=_LEAST,
        most=_MOST,
        note=f"A worker has the smaller slowdown of its stage and its dp rank; red from {_MOST:g} times on.",
    )


def _asks(scope: Scope) -> Mapping[str, Parameters]:
    return {"operation_stragglers": scope.whole}


SECTION = Section(36, "Stragglers", _content, _asks, group=OTHERS)
