"""What a report says of operators, launches, kernel patterns and annotations, from tables of a few rows."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd
import pytest
from report_data import make_findings

from tracegraph.queries.catalog import find
from tracegraph.queries.module import in_types
from tracegraph.queries.run_part import WHOLE
from tracegraph.queries.runs import RunWindow
from tracegraph.workbench.findings.findings import Findings
from tracegraph.workbench.sections.blocks import Block, Plot, Table, Words
from tracegraph.workbench.sections.section import Scope, all_sections

SECTIONS = ("operators", "kernel_patterns", "user_annotations", "launches")
OPERATORS = (
    (0, "aten::mm", None, 2, 100, 140, 70.0, 900, 900, 60, 300),
    (1, "aten::mm", None, 2, 300, 340, 170.0, 0, 0, 0, 0),
    (0, "aten::add", None, 1, 500, 500, 500.0, 0, 10, 500, 0),
)
PATTERNS = (("f|gemm|gemm|add", 4, 90, 120, 0, "f", "python_function", 3, 0.25),)
ANNOTATIONS = (
    (0, "ProfilerStep#1", "user_annotation", 1, 900, 900.0, 0.0, 900, 900, 50),
    (0, "forward", "gpu_user_annotation", 1, 700, 700.0, 0.0, 700, 700, None),
    (0, "forward", "user_annotation", 2, 300, 150.0, 1.0, 100, 200, 40),
)
SUMMARY = ((0, "cudaLaunchKernel", 9, 1, 9, 2, 3, 5.0, 9.0, 10, 7.0, 8.0, 9, 1.0, 2.0, 3),)
SPREAD = (
    (0, "call", 1000, 2000, 4),
    (0, "call", 4000, 8000, 4),
    (1, "call", 4000, 8000, 1),
    (0, "delay", 0, 1000, 9),
    (0, "work", 4096000, 8192000, 9),
)
LAUNCH = (0, 1, "cudaLaunchKernel", 5, 6, 7, "gemm", "kernel", 0, 7, "aten::mm")
STATS = ((*LAUNCH, False, True, False, 0, 9, 1, 2), (*LAUNCH, True, False, False, 0, 9, 3, 4))
ANSWERS: Mapping[str, Sequence[tuple[Any, ...]]] = {
    "operators": OPERATORS,
    "kernel_patterns": PATTERNS,
    "user_annotations": ANNOTATIONS,
    "launch_summary": SUMMARY,
    "launch_distribution": SPREAD,
    "launch_stats": STATS,
}


def findings(*, ranks: int = 1, **answers: Sequence[tuple[Any, ...]]) -> Findings:
    plain = make_findings()
    told = {
        query: in_types(
            pd.DataFrame(rows, columns=[c.name for c in find(query).columns]), find(query).columns
        )
        for query, rows in {**ANSWERS, **answers}.items()
    }
    return replace(
        plain, answers={**plain.answers, **told}, details=replace(plain.details, ranks=ranks), part=WHOLE
    )


def content(name: str, of: Findings) -> Sequence[Block]:
    return all_sections()[name].content(of)


def tables(name: str, of: Findings) -> list[Table]:
    return [block for block in content(name, of) if isinstance(block, Table)]


def plots(name: str, of: Findings) -> list[Plot]:
    return [block for block in content(name, of) if isinstance(block, Plot)]


@pytest.mark.parametrize("name", SECTIONS)
def test_asked_and_shown_on_a_page_only(name: str) -> None:
    window = RunWindow(0, 10, 1)
    section = all_sections()[name]
    assert section.asks(Scope("r", window, WHOLE, drawn=False)) == {}
    assert set(section.asks(Scope("r", window, WHOLE, drawn=True))) <= set(ANSWERS)
    assert content(name, make_findings()) == []


def test_operators_by_all_time_of_their_own() -> None:
    (table,) = tables("operators", findings())
    assert table.frame["name"].tolist() == ["aten::mm", "aten::add", "aten::mm"]
    assert [column.title for column in table.columns][-2:] == ["CPU on the path", "GPU on the path"]
    (plot,) = plots("operators", findings(ranks=2))
    bars = plot.frame[["name", "on", "duration_ns"]].to_numpy().tolist()
    assert bars == [
        ["aten::mm", "CPU", 400],
        ["aten::add", "CPU", 500],
        ["aten::mm", "GPU", 900],
        ["aten::add", "GPU", 0],
    ]
    assert tables("operators", findings(ranks=2))[0].columns[0].title == "rank"


def test_operators_without_a_gpu_say_nothing_of_it() -> None:
    of = findings(operators=[(0, "aten::mm", None, 2, 100, 140, 70.0, None, None, 60, None)])
    (table,) = tables("operators", of)
    assert not [column.title for column in table.columns if "GPU" in column.title]
    assert set(plots("operators", of)[0].frame["on"]) == {"CPU"}


def test_a_sequence_is_told_a_line_each() -> None:
    (table,) = tables("kernel_patterns", findings())
    assert table.frame["_sequence"].tolist() == [[("2 × ", "gemm"), ("", "add")]]
    long = ("|".join(["f", *(f"k{i}" for i in range(9))]), 4, 90, 120, 0, "f", "python_function", 9, 0.25)
    (table,) = tables("kernel_patterns", findings(kernel_patterns=[long]))
    assert table.frame["_sequence"][0][-2:] == [("", "k5"), ("… and 3 more", "")]


def test_annotations_on_threads_and_on_streams_without_steps() -> None:
    threads, streams = tables("user_annotations", findings())
    assert threads.frame["sum_ns"].tolist() == [300]
    assert [column.title for column in threads.columns][-1] == "GPU work inside"
    assert streams.frame["sum_ns"].tolist() == [700]
    (words,) = content("user_annotations", findings(user_annotations=ANNOTATIONS[:1]))
    assert words == Words("the trace holds no annotation but steps")


def test_launches_are_spread_over_steps_of_time_without_a_gap() -> None:
    delay, call, work = plots("launches", findings())
    assert call.frame.to_numpy().tolist() == [["< 2 µs", 4], ["< 4 µs", 0], ["< 8 µs", 5]]
    assert delay.frame.to_numpy().tolist() == [["< 1 µs", 9]]
    assert work.frame.to_numpy().tolist() == [["< 8.19 ms", 9]]
    summary, outliers = tables("launches", findings())
    assert summary.frame["long_delays"].tolist() == [3]
    assert outliers.frame["call_source_index"].tolist() == [1]
    assert len(tables("launches", findings(launch_stats=STATS[1:]))) == 1


@pytest.mark.parametrize("name", SECTIONS)
def test_what_is_not_there_is_said(name: str) -> None:
    (block,) = content(name, findings(**dict.fromkeys(ANSWERS, ())))
    assert isinstance(block, Words)
