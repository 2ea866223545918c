"""The memory of the devices: what is allocated over time, peaks, and the operators that allocate most."""

from collections.abc import Iterator, Mapping, Sequence

import pandas as pd

from tracegraph.workbench.findings.findings import Findings
from tracegraph.workbench.sections.blocks import Block, Column, Plot, Table, Words
from tracegraph.workbench.sections.section import MEMORY, Parameters, Scope, Section

_MOST_OPERATORS = 20
"""How many operators the table lists."""
_LEAST_SHARE = 0.001
"""Memory that never reaches this part of the largest is not drawn."""
_RANK = Column("rank", "rank", "number")
_PEAKS = (
    Column("_device", "device"),
    Column("_allocated", "most allocated", "bytes"),
    Column("allocated_share", "of the device", "share"),
    Column("reserved_bytes", "most reserved", "bytes"),
    Column("reserved_share", "of the device", "share"),
    Column("_after_ns", "after", "duration"),
    Column("step", "step", "number", roomy=True),
    Column("phase", "phase", roomy=True),
    Column("_name", "by", "name"),
    Column("inside", "inside", "name", roomy=True),
)
_OPERATORS = (
    Column("_device", "device"),
    Column("_name", "name", "name"),
    Column("count", "allocations", "count"),
    Column("allocated_bytes", "allocated", "bytes"),
    Column("freed_bytes", "freed", "bytes"),
    Column("net_bytes", "net", "bytes"),
    Column("largest_bytes", "largest", "bytes", roomy=True),
)
_AXES = (Column("_after_ns", "time", "duration"), Column("_level", "memory", "bytes"))
_TOLD = (Column("bytes", "by", "bytes"), Column("name", "in", "name"))


def _content(findings: Findings) -> Sequence[Block]:
    asked = [findings.answers.get(name) for name in ("memory_timeline", "memory_peak", "memory_operators")]
    timeline, peaks, operators = (None if one is None else _named(findings, one) for one in asked)
    if timeline is None or peaks is None or operators is None:
        return []
    if peaks.empty:
        return [Words("no memory rows: torch's profiler records them with profile_memory=True")]
    unknown = sorted(set(peaks["device_type"][peaks["allocated_bytes"].isna() | peaks["device"].isna()]))
    uncounted = (
        f"What was allocated before the recording is not in the file, and not counted: {', '.join(unknown)}."
    )
    note = uncounted if unknown else ""
    caption = "What was allocated and freed while an operator was the innermost, whoever allocated it:"
    ranks = [_RANK] if findings.details.ranks > 1 else []
    listed = [] if operators.empty else [Table(operators, (*ranks, *_OPERATORS), caption)]
    return [*_plots(timeline), Table(peaks, (*ranks, *_PEAKS), note=note), *listed]


def _named(findings: Findings, rows: pd.DataFrame) -> pd.DataFrame:
    """Add to the rows their device in a word, their time in the window, and what is known to be allocated."""
    number = rows["device"].astype("string").radd(" ").fillna("")
    named = rows.assign(
        _device=rows["device_type"].astype("string") + number, _name=rows["name"].fillna("outside any event")
    )
    if "at_ns" not in rows:
        return named
    allocated = rows["allocated_bytes"].fillna(rows["net_bytes"])
    return named.assign(_after_ns=rows["at_ns"] - findings.start_ns, _allocated=allocated)


def _plots(timeline: pd.DataFrame) -> Iterator[Plot]:
    """Plot each kind of device that has much memory."""
    highest = timeline.groupby("device_type")["_allocated"].max().sort_values(ascending=False)
    worth = highest >= _LEAST_SHARE * highest.max()
    several = timeline["rank"].nunique() > 1
    for kind in highest.index[worth]:
        rows = timeline[timeline["device_type"] == kind]
        rank = "rank " + rows["rank"].astype(str) + " " if several else ""
        place = rank + rows["_device"]
        levels = [rows.assign(_level=rows["_allocated"], _line=place + " allocated")]
        if rows["reserved_bytes"].fillna(0).any():
            levels.append(rows.assign(_level=rows["reserved_bytes"], _line=place + " reserved"))
        title = f"Memory over time: {kind}"
        yield Plot(title, pd.concat(levels), "levels", *_AXES, colour="_line", told=_TOLD)


def _asks(scope: Scope) -> Mapping[str, Parameters]:
    if not scope.drawn:
        return {}
    return {
        "memory_timeline": scope.between,
        "memory_peak": scope.between,
        "memory_operators": {**scope.between, "limit": _MOST_OPERATORS},
    }


SECTION = Section(131, "Memory", _content, _asks, group=MEMORY)
