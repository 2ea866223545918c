"""What a report says of memory, from tables of a few rows."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pandas as pd
from report_data import make_findings

from tracegraph.queries.catalog import find
from tracegraph.queries.module import in_types
from tracegraph.queries.run_part import WHOLE
from tracegraph.queries.runs import RunWindow
from tracegraph.workbench.findings.findings import Findings
from tracegraph.workbench.sections.blocks import Plot, Table, Words
from tracegraph.workbench.sections.section import Scope, all_sections

GB = 1_000_000_000
TIMELINE = (
    (0, "cpu", None, 1000, 8, 0, 8, 8, 4, "aten::empty"),
    (0, "cuda", 0, 1000, 2 * GB, 3 * GB, 0, 5, 1, None),
    (0, "cuda", 0, 1500, 1 * GB, 3 * GB, -GB, -GB, 2, "gemm"),
)
PEAKS = (
    (0, "cpu", None, 8, 8, 1000, 8, 4, "aten::empty", "cpu_op", None, None, None, 0, 1000, None, None, None),
    (
        *(0, "cuda", 0, 2 * GB, 0, 1000, 5, 7, "mm", "cpu_op", "linear", 3, "forward"),
        *(3 * GB, 1000, 8 * GB, 0.25, 0.375),
    ),
)
OPERATORS = (
    (0, "cuda", 0, "aten::mm", "cpu_op", 2, GB, 0, GB, GB),
    (0, "cuda", 0, None, None, 0, 0, 8, -8, 0),
)


def rows_of(query: str, rows: Sequence[tuple[Any, ...]]) -> pd.DataFrame:
    columns = find(query).columns
    return in_types(pd.DataFrame(rows, columns=[column.name for column in columns]), columns)


def findings(
    timeline: Sequence[tuple[Any, ...]] = TIMELINE, peaks: Sequence[tuple[Any, ...]] = PEAKS, ranks: int = 1
) -> Findings:
    plain = make_findings()
    asked = {
        "memory_timeline": rows_of("memory_timeline", timeline),
        "memory_peak": rows_of("memory_peak", peaks),
        "memory_operators": rows_of("memory_operators", OPERATORS if peaks else ()),
    }
    details = replace(plain.details, ranks=ranks)
    return replace(plain, answers={**plain.answers, **asked}, details=details)


def test_the_timeline_the_peaks_and_the_operators_are_shown() -> None:
    plot, peaks, operators = all_sections()["memory"].content(findings())
    assert isinstance(plot, Plot)
    assert plot.title == "Memory over time: cuda"
    assert list(plot.frame[["_line", "_after_ns", "_level"]].itertuples(index=False, name=None)) == [
        ("cuda 0 allocated", 0, 2 * GB),
        ("cuda 0 allocated", 500, GB),
        ("cuda 0 reserved", 0, 3 * GB),
        ("cuda 0 reserved", 500, 3 * GB),
    ]
    assert isinstance(peaks, Table)
    assert peaks.frame["_device"].tolist() == ["cpu", "cuda 0"]
    assert peaks.note.endswith("not counted: cpu.")
    assert "rank" not in {column.field for column in peaks.columns}
    assert isinstance(operators, Table)
    assert operators.frame["_name"].tolist() == ["aten::mm", "outside any event"]


def test_without_totals_the_sum_of_sizes_is_shown() -> None:
    timeline = [(0, "cuda", 0, 1000, None, None, 7, 7, 1, None)]
    peaks = [(0, "cuda", 0, None, 7, 1000, 7, *[None] * 11)]
    plot, table, _ = all_sections()["memory"].content(findings(timeline, peaks))
    assert isinstance(plot, Plot)
    assert plot.frame["_level"].tolist() == [7]
    assert isinstance(table, Table)
    assert table.frame["_allocated"].tolist() == [7]
    assert table.note == "What was allocated before the recording is not in the file, and not counted: cuda."


def test_ranks_are_told_apart() -> None:
    timeline = [TIMELINE[1], (1, *TIMELINE[1][1:])]
    plot, table, _ = all_sections()["memory"].content(findings(timeline, ranks=2))
    assert isinstance(plot, Plot)
    assert list(plot.frame["_line"]) == [
        *("rank 0 cuda 0 allocated", "rank 1 cuda 0 allocated"),
        *("rank 0 cuda 0 reserved", "rank 1 cuda 0 reserved"),
    ]
    assert isinstance(table, Table)
    assert table.columns[0].field == "rank"


def test_a_trace_without_memory_rows_says_so() -> None:
    (said,) = all_sections()["memory"].content(findings((), ()))
    assert isinstance(said, Words)
    assert "profile_memory=True" in said.text


def test_only_a_page_asks() -> None:
    section, window = all_sections()["memory"], RunWindow(0, 1, 2)
    assert not section.asks(Scope("r", window, WHOLE, drawn=False))
    assert not section.content(make_findings())
    assert set(section.asks(Scope("r", window, WHOLE, drawn=True))) == set(findings().answers) - set(
        make_findings().answers
    )
