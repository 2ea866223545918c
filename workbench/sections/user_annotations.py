"""The user's annotations: how long they last, and the GPU work launched inside."""

from collections.abc import Mapping, Sequence

import pandas as pd

from tracegraph.queries.shapes.category_roles import of_role
from tracegraph.vocabulary.categories import Role
from tracegraph.vocabulary.step_names import STEP_PREFIX
from tracegraph.workbench.findings.findings import Findings
from tracegraph.workbench.sections.blocks import Block, Column, Table, Words
from tracegraph.workbench.sections.section import CODE, Parameters, Scope, Section

_ROWS = 20
"""How many annotations each table lists."""
_RANK = Column("rank", "rank", "number")
_TIMES = (
    Column("count", "count", "count"),
    Column("sum_ns", "duration", "duration"),
    Column("mean_ns", "mean", "duration"),
    Column("std_ns", "deviation", "duration", roomy=True),
    Column("min_ns", "shortest", "duration", roomy=True),
    Column("max_ns", "longest", "duration"),
)
_NAME, _GPU = Column("name", "name", "name"), Column("gpu_ns", "GPU work inside", "duration")
_STREAMS = (
    "On streams, from the first work launched inside to the last: what idles or runs for others in between "
    "counts, too:"
)


def _content(findings: Findings) -> Sequence[Block]:
    rows = findings.answers.get("user_annotations")
    if rows is None:
        return []
    rows = rows[~rows["name"].str.startswith(STEP_PREFIX)]
    if rows.empty:
        return [Words("the trace holds no annotation but steps")]
    rows = rows.sort_values("sum_ns", ascending=False, kind="stable")
    on_stream = of_role(rows["category"], Role.GPU_ANNOTATION)
    lead = (_RANK, _NAME) if findings.details.ranks > 1 else (_NAME,)
    threads, streams = rows[~on_stream].head(_ROWS), rows[on_stream].head(_ROWS)
    columns = (*lead, *_TIMES, *([_GPU] if threads["gpu_ns"].notna().any() else ()))
    return [
        *([] if threads.empty else [Table(threads, columns, "On threads, without the profiler's steps:")]),
        *([] if streams.empty else [Table(streams, (*lead, *_TIMES), _STREAMS)]),
    ]


def _asks(scope: Scope) -> Mapping[str, Parameters]:
    return {"user_annotations": scope.between} if scope.drawn else {}


SECTION = Section(
    130,
    "User annotations",
    _content,
    _asks,
    lambda findings: findings.answers.get("user_annotations", pd.DataFrame()),
    group=CODE,
)
