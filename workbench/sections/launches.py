"""Launches: how long the calls and the GPU work take, what lies between, and the outliers."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

import pandas as pd

from tracegraph.workbench.findings.findings import Findings
from tracegraph.workbench.sections.blocks import Block, Column, Plot, Table, Words
from tracegraph.workbench.sections.section import GPU, Parameters, Scope, Section
from tracegraph.workbench.text.text import format_ns

_OUTLIERS, _CALLS = 10, 20
"""How many slow launches and how many kinds of calls the tables list."""
_RANK = Column("rank", "rank", "number")
_SUMMARY = (
    Column("name", "call", "name"),
    Column("calls", "calls", "count"),
    Column("count", "GPU work", "count"),
    Column("short_kernels", "short work", "count"),
    Column("slow_calls", "slow calls", "count"),
    Column("long_delays", "long delays", "count"),
    Column("cpu_p50_ns", "call, median", "duration", roomy=True),
    Column("gpu_p50_ns", "work, median", "duration", roomy=True),
    Column("delay_p50_ns", "delay, median", "duration", roomy=True),
    Column("delay_p99_ns", "delay, 99 %", "duration", roomy=True),
)
_LISTED = (
    Column("operator", "operator", "name"),
    Column("name", "call", "name"),
    Column("kernel", "GPU work", "name"),
    Column("stream", "stream", "number", roomy=True),
    Column("cpu_duration_ns", "call", "duration"),
    Column("launch_delay_ns", "delay", "duration"),
    Column("gpu_duration_ns", "work", "duration"),
)
_NOTE = (
    "Short work: shorter than its call, which lasts 50 µs at most. Slow: a call of more than 50 µs. Long: "
    "the work starts more than 100 µs after its call, which costs nothing while the GPU has other work."
)
_PLOTS = {
    "delay": "From a call's end to the start of its GPU work",
    "call": "Durations of the calls that launch",
    "work": "Durations of the GPU work",
}


def _content(findings: Findings) -> Sequence[Block]:
    summary = findings.answers.get("launch_summary")
    if summary is None:
        return []
    if summary.empty:
        return [Words("no call in the window is known to launch GPU work")]
    lead = (_RANK,) if findings.details.ranks > 1 else ()
    listed, spread = findings.answers["launch_stats"], findings.answers["launch_distribution"]
    outliers = listed[listed["slow_call"] | listed["long_delay"]]
    caption = "The longest calls and delays:"
    return [
        Table(summary.head(_CALLS), (*lead, *_SUMMARY), note=_NOTE),
        *_plots(spread),
        *([] if outliers.empty else [Table(outliers, (*lead, *_LISTED), caption)]),
    ]


def _plots(spread: pd.DataFrame) -> Iterator[Plot]:
    """Plot how many launches take how long, on all ranks; steps without a launch are shown, too."""
    for measure, title in _PLOTS.items():
        counts = spread[spread["measure"] == measure].groupby(["from_ns", "to_ns"])["count"].sum()
        least, most = min(counts.index)[0], max(counts.index)[1]
        steps = [0, *(1000 * 2**power for power in range(64))]
        shown = [(start, end) for start, end in pairwise(steps) if start >= least and end <= most]
        rows = pd.DataFrame(
            {
                "_step": [_up_to(end) for _, end in shown],
                "count": [int(counts.get(step, 0)) for step in shown],
            }
        )
        yield Plot(title, rows, "bars", Column("_step", "time"), Column("count", "launches", "count"))


def _up_to(time_ns: int) -> str:
    number, unit = format_ns(time_ns).split()
    return f"< {float(number):.3g} {unit}"


def _asks(scope: Scope) -> Mapping[str, Parameters]:
    if not scope.drawn:
        return {}
    return {
        "launch_summary": scope.between,
        "launch_distribution": scope.between,
        "launch_stats": {**scope.between, "limit": _OUTLIERS},
    }


SECTION = Section(127, "Launches", _content, _asks, group=GPU)
