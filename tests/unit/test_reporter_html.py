"""The page: safe data, small however large the run, exact numbers. How it looks is tested in a browser."""

import base64
import gzip
import hashlib
import json
import re
from dataclasses import replace
from typing import Any

import pandas as pd
import pytest
from markupsafe import escape
from report_data import LANES, make_findings

from tracegraph.workbench.findings.findings import Findings
from tracegraph.workbench.output.page import packed, packed_json, read_part, report_page
from tracegraph.workbench.pictures.lanes import draw_lanes

MIB = 1 << 20
HOSTILE = [
    "</script><script>alert(1)</script>",
    "<!--<script>",
    "\u2028\u2029",
    "${alert(1)}",
    "<img src=x onerror=alert(1)>",
]


def charts_of(page: str) -> list[dict[str, Any]]:
    found = re.search(r'<script type="application/octet-stream" id="data">([A-Za-z0-9+/=]*)</script>', page)
    assert found is not None
    charts: list[dict[str, Any]] = unpacked(found[1])
    return charts


def unpacked(text: str) -> Any:
    return json.loads(gzip.decompress(base64.b64decode(text)))


@pytest.mark.parametrize("name", HOSTILE)
def test_names_stay_inside_their_script(name: str) -> None:
    page, plain = (
        report_page(make_findings([(0, 1, text, text, 0, 1000, "root", "", "")])) for text in (name, "plain")
    )
    assert page.count("<script") == plain.count("<script") > 1
    assert page.count("</script>") == plain.count("</script>")
    assert "<!--" not in page
    shown = name.replace("\u2028\u2029", "\\u2028\\u2029")
    assert charts_of(page)[0]["data"]["names"] == [shown, "train"]
    assert page.count(str(escape(shown))) > 3


def test_policy_allows_this_script_and_style_only() -> None:
    page = report_page(make_findings())
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)
    assert policy is not None
    parts = re.findall(r"<(script|style)>(.*?)</\1>", page, re.DOTALL)
    assert [kind for kind, _ in parts] == ["style", *["script"] * 9]
    library = read_part("vendor/echarts.min.js")
    for text in (*(text for _, text in parts), library):
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy[1]
    assert policy[1].startswith("default-src 'none';")
    assert page.count(packed(library)) == 1
    assert not re.search(r"https?://|url\(", page)


def test_whole_numbers_beyond_a_double_are_text() -> None:
    start = 1_695_835_542_514_261_123
    page = report_page(make_findings([(0, 1, "a", "cpu_op", start, start + 5, "root", "", "")]))
    assert f"from {start} to {start + 5}\N{NO-BREAK SPACE}ns" in page
    assert unpacked(packed_json([{"at": start, "len": 5}])) == [{"at": str(start), "len": 5}]


def test_a_row_sorts_by_its_number() -> None:
    page = report_page(make_findings())
    assert '<td class="number" data-value="900">900 ns</td>' in page
    assert '<td class="number" data-value="0.45">45.0 %</td>' in page


def test_what_is_folded_has_its_words_instead_of_its_caption() -> None:
    (title,) = re.findall(
        r"<summary>(The names with most of the path inside[^<]*)</summary>", report_page(make_findings())
    )
    assert not title.endswith(":")
    assert f"<h3>{title}" not in report_page(make_findings())


def large(events: int, lanes: int, name_length: int) -> Findings:
    """Findings with `events` short events of different long names on `lanes` lanes, all on the path."""
    lane = [index % lanes for index in range(events)]
    names = [f"{index}".ljust(name_length, "x") for index in range(events)]
    rows = pd.DataFrame(
        {
            "lane": lane,
            "start_ns": range(events),
            "name": names,
            "category": "kernel",
            "count": 1,
            "slack_ns": 0,
        }
    )
    rows["end_ns"] = rows["start_ns"] + 1
    path = rows.assign(source_index=rows.index, dependency="SEQUENTIAL", mechanism="m", evidence="", rank=0)
    path = path.assign(confidence=1.0, lag_ns=0, position=rows.index, margin_ns=pd.NA)
    shown = pd.concat([LANES.head(1).assign(lane=number) for number in range(lanes)])
    return make_findings(start_ns=0, end_ns=events, path=path, timeline=rows, lanes=shown)


@pytest.mark.exhaustive
def test_page_stays_small() -> None:
    page = report_page(large(300_000, 100, 300))
    assert len(page.encode()) < 10 * MIB


def test_drawing_merges_below_a_pixel_and_keeps_the_time() -> None:
    findings = large(300_000, 2, 8)
    drawing = draw_lanes(findings)
    assert len(drawing.rectangles["start"]) <= 100_000
    assert sum(drawing.rectangles["count"]) == 300_000
    assert sum(drawing.path["count"]) == 300_000
    assert sum(drawing.path["length"]) == 300_000
    assert len(drawing.path["start"]) <= 8_001


def test_a_frame_is_drawn_below_what_it_runs_inside_and_beside_what_it_overlaps() -> None:
    rows = [
        ("module", 0, 90),
        ("step 1", 0, 30),
        ("next", 25, 40),
        ("step 2", 30, 60),
        ("a", 32, 38),
        ("b", 45, 50),
    ]
    frames = pd.DataFrame(rows, columns=["name", "start_ns", "end_ns"]).assign(
        lane=0, category="python_function"
    )
    findings = make_findings()
    drawing = draw_lanes(replace(findings, answers={**findings.answers, "stack_timeline": frames}))
    names = [drawing.names[place] for place in drawing.stacks["name"]]
    depths = dict(zip(names, drawing.stacks["depth"], strict=True))
    assert depths == {"module": 0, "step 1": 1, "next": 2, "step 2": 1, "a": 3, "b": 2}


def test_drawing_caps_the_lanes_and_says_so() -> None:
    drawing = draw_lanes(large(1_000, 100, 8))
    assert (len(drawing.lanes), drawing.hidden_lanes) == (60, 40)
    assert max(drawing.rectangles["lane"]) == 59


@pytest.mark.parametrize(("kind", "on_path", "length", "drawn"), [
    ("thread", False, 19, False),
    ("thread", False, 20, True),
    ("thread", True, 1, True),
    ("stream", False, 1, True),
])  # fmt: skip
def test_threads_off_the_path_that_hardly_work_are_not_drawn(
    kind: str, on_path: bool, length: int, drawn: bool
) -> None:
    findings = large(10_000, 2, 8)
    lanes = findings.lanes.assign(kind=["thread", kind])
    rare = findings.timeline[findings.timeline["lane"] == 1].head(1)
    timeline = pd.concat([findings.timeline[findings.timeline["lane"] == 0], rare.assign(end_ns=1 + length)])
    path = findings.path if on_path else findings.path.assign(lane=0)
    drawing = draw_lanes(replace(findings, lanes=lanes, timeline=timeline, path=path))
    assert (len(drawing.lanes), drawing.hidden_lanes) == ((2, 0) if drawn else (1, 1))


def test_drawing_of_a_small_run_is_exact() -> None:
    drawing = draw_lanes(make_findings())
    assert [lane["name"] for lane in drawing.lanes] == ["thread 11 (main)", "GPU 0 stream 7"]
    assert drawing.hidden_lanes == 1
    first = {key: values[0] for key, values in drawing.rectangles.items()}
    assert (first["start"], first["length"], drawing.names[first["name"]]) == (0, 200, "ProfilerStep#5")
    assert len(drawing.path["start"]) == 9
    reasons = [drawing.reasons[place] for place in drawing.path["reason"]]
    assert reasons[0] == ""
    assert reasons[4] == "correlation, recorded, 100.0 % sure"
    assert reasons[7] == "stream wait, inferred, 100.0 % sure"
