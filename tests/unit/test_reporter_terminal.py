"""The report in the terminal, as text."""

import io
from dataclasses import replace
from typing import cast

import pandas as pd
import pytest
from report_data import ALTERNATIVES, NEAR, ROWS, SECOND, WAITS, WHAT_NEXT, compared, make_findings
from rich.console import Console

from tracegraph.cli.reporters.every_section import print_report
from tracegraph.queries.run_part import WHOLE
from tracegraph.workbench.findings.findings import Findings

HOSTILE = "\x1b[31m[bold]evil[/bold]\u202e" + "x" * 200 + "end"


def printed(findings: Findings, width: int = 100, *, full_names: bool = False) -> str:
    stream = io.StringIO()
    print_report(Console(file=stream, width=width), findings, full_names=full_names)
    return "\n".join(line.rstrip() for line in stream.getvalue().splitlines())


def test_sections_come_in_order() -> None:
    text = printed(make_findings())
    titles = [line for line in text.splitlines() if line and not line.startswith(" ")]
    assert titles == [
        "Run tiny-0a1b2c3d",
        "Verdict",
        "Recommendations",
        "What the critical path is made of",
        "Integrity of the input",
        "Window",
        "Critical path",
        "Composition",
        "Where in my code",
        "Hotspots on the critical path (the 5 largest)",
        "Gaps on the critical path",
        "Waiting",
        "Large but not critical",
        "Nearly critical",
    ]


def test_a_report_on_the_run_says_what_if() -> None:
    text = printed(make_findings(part=WHOLE))
    titles = [line for line in text.splitlines() if line and not line.startswith(" ")]
    assert titles[10:16] == [
        "Gaps on the critical path",
        "What if",
        "Other assumptions",
        "Waiting",
        "Large but not critical",
        "Nearly critical",
    ]


@pytest.mark.parametrize(
    "line",
    [
        "  The gain is a replay's: all work of that name removed, on the path or not, and all lags kept.",
        "  gemm<float>       900 ns  850 ns  aten::linear",
        "  evidence (chosen)   75.0 %      25.0 %    30.0 %   50.0 %  aten::evidence",
        "  serialise           85.0 %       0.0 %     5.0 %   50.0 %  aten::serialise",
        "  recorded only      100.0 %       0.0 %     0.0 %   50.0 %  aten::recorded only",
        "  thread 12 (autograd)  waiting for GPU    700 ns  35.0 %      2",
    ],
)
def test_lines_of_a_run(line: str) -> None:
    assert line in printed(make_findings(part=WHOLE)).splitlines()


def test_one_line_where_no_assumption_matters() -> None:
    rows = [ALTERNATIVES[0], {**ALTERNATIVES[0], "assumption": "none", "chosen": False}]
    details = replace(make_findings().details, alternatives=rows)
    text = printed(make_findings(details=details, part=WHOLE))
    assert "none matters: the path is made of the same under every policy between threads" in flowing(text)
    assert "aten::evidence" not in text


def test_an_assumption_that_changes_nothing_says_so() -> None:
    rows = [*ALTERNATIVES, {**ALTERNATIVES[0], "assumption": "same", "chosen": False}]
    details = replace(make_findings().details, alternatives=rows)
    assert "same 75.0 % 25.0 % 30.0 % the same" in flowing(
        printed(make_findings(details=details, part=WHOLE))
    )


def test_no_thread_waits() -> None:
    text = printed(make_findings(waits=WAITS.head(0)))
    assert "  no thread is known to wait for 1 % of the window or more for the same reason" in text


@pytest.mark.parametrize(
    "line",
    [
        "  1 rank, 9 events; in the graph 25 nodes and 12 relationships",
        "  nothing odd, dropped, repaired or missing",
        "  step 5: 2.000 µs, from 1000 to 3000 ns on the clock of the file",
        "  length     2.000 µs in 9 stretches",
        "  tiling     tiles the window: every ns is in exactly one stretch",
        "  explained  82.5 % by events",
        "  gaps       10.0 % untraced CPU time, 7.5 % in gaps with a reason",
        "  Events off the path that may end at most 200 ns later at no cost, the least first:",
        "  aten::add  thread 12 (autograd)  40 ns    120 ns  6.0 %",
        "  gemm<float>   30 ns  cudaLaunchKernel  launch",
        "  kernel                  900 ns  45.0 %  █████████",
        "  root                    200 ns  10.0 %  ██",
        "  name                   category         duration  proportion  prop_in_total  count",
        "  gemm<float>            kernel             900 ns      54.5 %         45.0 %      2",
        "  untraced CPU time  gap         200 ns      57.1 %         10.0 %      1",
        "  The GPU is idle for much of the window",
        "    55.0 % of the window: the GPU is computing for 45.0 % of the window, moving data for 0.0 %, "
        "idle",
        "    for 55.0 %; threshold 30.0 %",
        "    The gaps and the CPU rows of the critical path name what it waits for.",
    ],
)
def test_lines(line: str) -> None:
    assert line in printed(make_findings()).splitlines()


def flowing(text: str) -> str:
    return " ".join(text.split())


def test_all_that_is_unclear_stands_together_and_in_its_parts() -> None:
    rows = [*ROWS[:3], (2, None, "unknown", "gap", 1600, 1700, "", "", ""), *ROWS[4:]]
    text = printed(make_findings(rows))
    parts = "5.0 % unknown gaps, 10.0 % untraced CPU time, 10.0 % untraced Python"
    assert f"unclear 25.0 % unknown or untraced: {parts}" in flowing(text)
    gaps = text[text.index("Gaps on the") :]
    assert gaps.index("unknown") < gaps.index("untraced CPU time")


def test_evidence_is_stated() -> None:
    findings = make_findings()
    margins = [None, None, None, 500, 500, 1000, 1001, 1001, None]
    path = findings.path.assign(margin_ns=pd.array(margins, dtype="Int64"))
    assert "10.0 % starts by inferred dependencies; 50.0 % hangs on 2 near-ties (a second cause" in flowing(
        printed(make_findings(path=path))
    )


def test_nothing_is_nearly_critical() -> None:
    nothing = {"near_critical": NEAR.head(0), "second_causes": SECOND.assign(count=0)}
    text = printed(make_findings(**nothing))
    assert "  no event off the path would lengthen the run by ending 200 ns later" in text
    assert "  no start of a hotspot has a second cause" in text


def test_steps_are_compared() -> None:
    text = printed(make_findings(**compared(1000, 1020, 980, 1010, 1800)))
    assert (
        "length 5 steps of 980 ns to 1.8 µs, median 1.01 µs, spread 15 ns (1.4826 * MAD) "
        "typical step 4, nearest to the median: 1.01 µs "
        "outliers step 5 (1.8 µs): more than 3 spreads from the median"
    ) in flowing(text)
    assert "  gemm<float>       581 ns     160 ns  50.0 %  5 of 5" in text.splitlines()
    assert "  aten::op1         378 ns     342 ns  30.0 %  3 of 5" in text.splitlines()


@pytest.mark.parametrize("lengths", [(), (1000,)])
def test_one_step_is_not_compared(lengths: tuple[int, ...]) -> None:
    assert "Steps" not in printed(make_findings(**compared(*lengths))).splitlines()


def test_integrity_is_stated_with_counts() -> None:
    row = {"code": "pairs_open", "level": "error", "count": 1234, "message": "B without E", "file": "t.json"}
    details = replace(make_findings().details, integrity=(row,))
    assert "  error  pairs_open  1,234  B without E" in printed(make_findings(details=details)).splitlines()


def test_a_hole_in_the_path_is_stated() -> None:
    holed = (*ROWS[:3], *ROWS[4:])
    assert "does NOT tile the window: 100 ns left out or twice" in printed(make_findings(holed))


def test_no_recommendation_says_so() -> None:
    rows = [(0, 4, "aten::linear", "cpu_op", 1000, 3000, "root", "", "")]
    findings = make_findings(rows, gpu=make_findings().gpu.head(0))
    assert "none: no rule reached its threshold" in printed(findings)


def test_hostile_names_are_harmless_and_short() -> None:
    rows = [(0, 1, HOSTILE, HOSTILE, 0, 1000, "root", "", "")]
    findings = make_findings(rows)
    text = printed(findings)
    assert "\\x1b[31m[bold]" in text
    assert "xend" in text
    assert not {"\x1b", "\u202e"} & set(text)
    assert max(map(len, text.splitlines())) <= 100


@pytest.mark.parametrize("width", [80, 100, 140])
@pytest.mark.parametrize("full", [False, True])
def test_names_fold_at_the_width_and_are_never_cut(width: int, full: bool) -> None:
    name = "kernel_" + "f" * 150 + "_end"
    changes = compared(1000, 1020) | {
        "near_critical": NEAR.assign(
            name=name, lane_name="thread 7", slack_ns=123_456_789, duration_ns=123_456_789
        ),
        "second_causes": SECOND.assign(name=name, second=name, second_mechanism="stream wait event"),
    }
    spots = [{"name": name, "category": name, "duration_ns": 123_456_789}] * 3
    what_next = [{**WHAT_NEXT[0], "name": name, "following": spots}]
    alternatives = [{**row, "hotspots": spots} for row in ALTERNATIVES]
    details = make_findings().details
    changes["details"] = replace(details, what_next=what_next, alternatives=alternatives)
    changes["recurring"] = cast(pd.DataFrame, changes["recurring"]).assign(name=name)
    text = printed(make_findings(**changes), width=width, full_names=full)
    text = text[text.index("What if") :]
    assert max(map(len, text.splitlines())) <= width
    assert "…" not in text
    assert text.count("kernel_f") == 22
    assert text.count("f") >= 21 * 150


@pytest.mark.parametrize("width", [80, 100, 200])
def test_names_are_readable_or_in_full(width: int) -> None:
    name = "void at::native::kernel<" + "float, " * 40 + "int>(int)"
    rows = [(0, 1, name, "kernel", 0, 1000, "root", "", "")]
    short, full = (printed(make_findings(rows), width=width, full_names=full) for full in (False, True))
    assert all(len(line) <= width for text in (short, full) for line in text.splitlines())
    hotspots = slice(short.index("Hotspots"), short.index("Gaps"))
    assert "kernel<float>" in "".join(short[hotspots].split())
    assert short[hotspots].count("float") == 1
    assert "".join(full.split()).count("float,") >= 40


def test_a_name_of_millions_of_characters_is_not_printed_whole() -> None:
    text = printed(make_findings([(0, 1, "x" * 1_000_000, "kernel", 0, 1000, "root", "", "")]))
    assert len(text) < 20_000
