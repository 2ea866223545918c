"""The sequences of GPU work that are launched most often."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

import pandas as pd

from tracegraph.workbench.findings.findings import Findings
from tracegraph.workbench.sections.blocks import Block, Column, Table, Words
from tracegraph.workbench.sections.section import GPU, Parameters, Scope, Section

_ROWS, _LINES = 20, 6
"""How many sequences are listed, and how many lines of each."""
_COLUMNS = (
    Column("operator", "launched by", "name"),
    Column("count", "count", "count"),
    Column("kernels", "length", "count", roomy=True),
    Column("gpu_duration_ns", "GPU", "duration"),
    Column("share", "of the GPU's", "share"),
    Column("cpu_duration_ns", "CPU", "duration"),
    Column("_sequence", "sequence", "lines"),
)
_RANK = Column("rank", "rank", "number")
_CAPTION = "Sequences of 3 and more, each by the innermost operator, annotation or function that launches it:"
_NOTE = "Sequences inside another name: tracegraph query kernel_patterns -p operator=NAME"
_NONE = "no operator, annotation or function launches 3 pieces of GPU work or more"


def _content(findings: Findings) -> Sequence[Block]:
    rows = findings.answers.get("kernel_patterns")
    if rows is None:
        return []
    if rows.empty:
        return [Words(_NONE)]
    lines = [list(_lines(*pair)) for pair in zip(rows["pattern"], rows["operator"], strict=True)]
    columns = (_RANK, *_COLUMNS) if findings.details.ranks > 1 else _COLUMNS
    return [Table(rows.assign(_sequence=pd.Series(lines, rows.index)), columns, _CAPTION, _NOTE)]


def _lines(pattern: str, operator: str) -> Iterator[tuple[str, str]]:
    """Yield the first names of a sequence, one on each line, with how often it is repeated at once."""
    runs = [(name, len(list(same))) for name, same in groupby(pattern[len(operator) + 1 :].split("|"))]
    for name, times in runs[:_LINES]:
        yield (f"{times} × " if times > 1 else "", name)
    if len(runs) > _LINES:
        yield f"… and {len(runs) - _LINES:,} more", ""


def _asks(scope: Scope) -> Mapping[str, Parameters]:
    return {"kernel_patterns": {**scope.between, "limit": _ROWS}} if scope.drawn else {}


SECTION = Section(129, "Kernel patterns", _content, _asks, group=GPU)
