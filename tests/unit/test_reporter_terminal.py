"""The report in the terminal, as text."""

import io
from dataclasses import replace

import pytest
from report_data import ROWS, make_findings
from rich.console import Console

from tracegraph.cli.findings import Findings
from tracegraph.cli.recommendations import Recommendation, recommend
from tracegraph.cli.reporters.terminal import print_report

ADVICE = (Recommendation("idle-gpu", "The GPU is idle", "55 % of the window", 0.55, 0.3, "Feed it."),)
HOSTILE = "\x1b[31m[bold]evil[/bold]\u202e" + "x" * 200 + "end"


def printed(findings: Findings, advice: tuple[Recommendation, ...] = (), width: int = 100) -> str:
    stream = io.StringIO()
    print_report(Console(file=stream, width=width), findings, advice)
    return "\n".join(line.rstrip() for line in stream.getvalue().splitlines())


def test_sections_come_in_order() -> None:
    text = printed(make_findings(), ADVICE)
    titles = [line for line in text.splitlines() if line and not line.startswith(" ")]
    assert titles == [
        "Run tiny-0a1b2c3d",
        "Integrity of the input",
        "Window",
        "Critical path",
        "Composition",
        "Hotspots on the critical path (the 5 largest)",
        "Gaps on the critical path",
        "Recommendations",
    ]


@pytest.mark.parametrize(
    "line",
    [
        "  1 rank, 9 events; in the graph 25 nodes and 12 relationships",
        "  nothing odd, dropped, repaired or missing",
        "  step 5: 2.000 µs, from 1000 to 3000 ns on the clock of the file",
        "  length     2.000 µs in 9 stretches",
        "  tiling     tiles the window: every ns is in exactly one stretch",
        "  gaps       17.5 % in named gaps, 0.0 % unknown",
        "  kernel                  900 ns  45.0 %  █████████",
        "  root                    200 ns  10.0 %  ██",
        "  name                   category         duration  proportion  prop_in_total  count",
        "  gemm<float>            kernel             900 ns      54.5 %         45.0 %      2",
        "  untraced CPU time  gap         200 ns      57.1 %         10.0 %      1",
        "  The GPU is idle",
        "    55 % of the window; threshold 30.0 %",
        "    Feed it.",
    ],
)
def test_lines(line: str) -> None:
    assert line in printed(make_findings(), ADVICE).splitlines()


def test_explained_and_untraced_share_stand_together() -> None:
    assert "82.5 % by events, of which untraced Python (self time of annotations) is 10.0 %" in printed(
        make_findings()
    )


def test_integrity_is_stated_with_counts() -> None:
    row = {"code": "pairs_open", "level": "error", "count": 1234, "message": "B without E", "file": "t.json"}
    details = replace(make_findings().details, integrity=(row,))
    assert "  error  pairs_open  1,234  B without E" in printed(make_findings(details=details)).splitlines()


def test_a_hole_in_the_path_is_stated() -> None:
    holed = (*ROWS[:3], *ROWS[4:])
    assert "does NOT tile the window: 100 ns left out or twice" in printed(make_findings(holed))


def test_no_recommendation_says_so() -> None:
    assert "none: no rule reached its threshold" in printed(make_findings())


def test_hostile_names_are_harmless_and_short() -> None:
    rows = [(0, 1, HOSTILE, HOSTILE, 0, 1000, "root", "", "")]
    findings = make_findings(rows)
    text = printed(findings, tuple(recommend(findings)))
    assert "\\x1b[31m[bold]" in text
    assert "xend" in text
    assert not {"\x1b", "\u202e"} & set(text)
    assert max(map(len, text.splitlines())) <= 100


@pytest.mark.parametrize("width", [60, 100, 200])
def test_hotspot_rows_are_single_lines_of_the_width(width: int) -> None:
    rows = [(0, 1, "void kernel<" + "float, " * 40 + ">", "kernel", 0, 1000, "root", "", "")]
    text = printed(make_findings(rows), width=width)
    assert all(len(line) <= width for line in text.splitlines())
    shown = [line for line in text.splitlines() if line.startswith("  void kernel<")]
    assert len(shown) == 1 or width == 60
