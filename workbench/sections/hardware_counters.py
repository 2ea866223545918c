"""Hardware counters that the profiler read for each kernel, by operator."""

from collections.abc import Mapping, Sequence

from tracegraph.workbench.findings.findings import Findings
from tracegraph.workbench.sections.blocks import Block, Column, Table, Words
from tracegraph.workbench.sections.section import GPU, Parameters, Scope, Section

_MOST = 200
"""How many rows the table lists, the largest sums first."""
_COLUMNS = (
    Column("rank", "rank", "number", roomy=True),
    Column("operator", "operator", "name"),
    Column("kernel", "kernel", "name"),
    Column("counter", "counter"),
    Column("count", "ranges", "count"),
    Column("sum", "sum", "amount"),
    Column("mean", "mean", "amount", roomy=True),
    Column("min", "least", "amount", roomy=True),
    Column("max", "most", "amount", roomy=True),
)
_NOTE = (
    "Values are in each counter's own unit. Counters of half precision count instructions: of packed ones "
    "two operations are one, and compilers load constants with them, too."
)


def _content(findings: Findings) -> Sequence[Block]:
    counters = findings.answers.get("cupti_counters")
    if counters is None:
        return []
    if counters.empty:
        return [Words("the trace holds no hardware counters: the profiler reads them only on request")]
    blocks: list[Block] = []
    lost = counters[counters["evidence"].isna()]
    if len(lost):
        text = "Counters without an operator belong to ranges that could not be paired with launches."
        blocks.append(Words(text, "warning"))
    counted = counters[counters["sum"] != 0]
    left = len(counters) - len(counted)
    note = f"{_NOTE} Not shown: {left:,} that counted nothing." if left else _NOTE
    shown = counted.sort_values("sum", ascending=False, kind="stable").head(_MOST)
    return [*blocks, Table(shown.reset_index(drop=True), _COLUMNS, note=note, long=True)]


def _asks(scope: Scope) -> Mapping[str, Parameters]:
    return {"cupti_counters": scope.between} if scope.drawn else {}


SECTION = Section(132, "Hardware counters", _content, _asks, group=GPU)
