"""Cards in a notebook: they say what the page says, run nothing, ask for nothing and stay small."""

from collections.abc import Sequence
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import tiny
from report_data import make_findings
from tiny import call, event, kernel

from tracegraph.ingest.what_if.graph.graph import ReplayGraph, graph_of
from tracegraph.queries.module import in_types
from tracegraph.queries.run_part import WHOLE
from tracegraph.queries.shapes.replay_rows import RUN_COLUMNS
from tracegraph.store.connection_settings import ConnectionSettings
from tracegraph.store.workspace import open_workspace
from tracegraph.workbench import Run, Workbench
from tracegraph.workbench.findings.findings import Findings
from tracegraph.workbench.findings.first_fix import NOTHING
from tracegraph.workbench.findings.recommendations import recommend
from tracegraph.workbench.findings.verdict import judge
from tracegraph.workbench.methods.methods import Runs
from tracegraph.workbench.methods.run_report import Report
from tracegraph.workbench.notebook.cards import report_card
from tracegraph.workbench.what_if.answer import Question, answer
from tracegraph.workbench.what_if.answer_words import answer_facts
from tracegraph.workbench.what_if.plan import Made, Plan, make_plan

HOSTILE = [
    "</style><script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "<!-- {{ 7 * 7 }} -->",
    "\x1b[31m\u202eevil",
]
SAFE_TAGS = {"div", "style", "p", "dl", "dt", "dd", "span", "ul", "li", "i", "small", "b", "code"} | {
    *("table", "thead", "tbody", "tr", "th", "td")
}
SAFE_ATTRIBUTES = {"class", "style", "title"}
ENOUGH = 40_000
"""No card is longer, in characters."""
GPU_BOUND: Sequence[tiny.Row] = (
    event("aten::mm", 0, 20),
    call("cudaLaunchKernel", 5, 10, 1),
    kernel("gemm<float>", 20, 180, 1),
    call("cudaDeviceSynchronize", 20, 184, 2),
    event("log", 184, 204),
)


class Card(HTMLParser):
    """A card as a browser reads it: its text and its titles, with all tags closed and harmless."""

    def __init__(self, card: str | None) -> None:
        super().__init__()
        assert card is not None
        assert len(card) < ENOUGH
        self._open: list[str] = []
        self._texts: list[str] = []
        self.titles: list[str] = []
        self.feed(card)
        self.close()
        assert self._open == []

    @property
    def text(self) -> str:
        return " ".join(" ".join(self._texts).split())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in SAFE_TAGS
        given = dict(attrs)
        assert set(given) <= SAFE_ATTRIBUTES
        assert "url" not in (given.get("style") or "")
        self.titles.append(given.get("title") or "")
        self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_comment(self, data: str) -> None:
        raise AssertionError("a card has no comments")

    def handle_data(self, data: str) -> None:
        if self._open[-1:] == ["style"]:
            assert "url" not in data
            assert "@import" not in data
        else:
            self._texts.append(data)


def fix(name: str, gain_ns: int) -> dict[str, Any]:
    return {
        "fix": name,
        "title": f"Do {name}",
        "selector": "name=x",
        "gain_ns": gain_ns,
        "low_ns": gain_ns - 50,
        "high_ns": gain_ns + 50,
        "base_ns": 2000,
        "speedup": 2000 / (2000 - gain_ns),
        "inferred_share": 0.0,
        "evidence": f"{name} was seen",
        "how": f"do {name} well",
        "command": f"tracegraph what-if --{name} name=x",
        "assumptions": [],
    }


def with_fixes(*fixes: dict[str, Any]) -> Findings:
    """A whole run that shows these fixes, and that kernels bound."""
    row = {"resource": "GPU computing", "length_ns": 900, "gain_ns": 1100, "share": 0.55}
    bounds = {"base_ns": 2000, "bottlenecks": ["GPU computing"], "resources": [row], "floors": []}
    findings = make_findings(part=WHOLE)
    return replace(findings, details=replace(findings.details, bounds=bounds, fixes=fixes))


def runs(*rows: dict[str, Any]) -> Runs:
    ready = {"state": "ready", "created": "2026-01-02T03:04:05.6+00:00", "ranks": 2, "duration_ns": 5_000_000}
    frame = pd.DataFrame([{**ready, **row} for row in rows], columns=[one.name for one in RUN_COLUMNS])
    return Runs(in_types(frame.astype({"ranks": "Int64", "duration_ns": "Int64"}), RUN_COLUMNS))


def graph() -> ReplayGraph:
    return graph_of(tiny.model(*GPU_BOUND))


def test_a_report_begins_with_the_verdict_and_ends_with_the_fixes() -> None:
    findings = with_fixes(fix("fuse", 300), fix("unsync", 200))
    text = Card(Report(findings)._repr_html_()).text
    advised = [one.number for one in recommend(findings)[:5]]
    assert [row["title"] for row in findings.fixes] == ["Do fuse", "Do unsync"]
    in_order = ["tiny-0a1b2c3d: 2 µs", *judge(findings).sentences, "GPU work 900 ns · 45.0 %", *advised]
    assert [one for one in in_order if one not in text] == []
    places = [text.index(one) for one in in_order]
    assert places == sorted(places)
    assert "tracegraph what-if --unsync name=x" in text
    assert repr(Report(findings)) == "<Report on tiny-0a1b2c3d: 2.000 µs>"


def test_what_stands_between_backticks_is_code() -> None:
    hostile = {**fix("fuse", 300), "evidence": "in `<b>aten::mm</b>`", "how": "drop `item()`"}
    card = report_card(with_fixes(hostile))
    assert "<code>&lt;b&gt;aten::mm&lt;/b&gt;</code>" in card
    assert "`" not in Card(card).text


def test_without_fixes_the_card_says_so() -> None:
    text = Card(report_card(with_fixes())).text
    assert NOTHING in text
    assert "tracegraph what-if --" not in text


def test_of_many_fixes_the_first_are_shown() -> None:
    many = [fix(f"fix{number}", 1500 - number) for number in range(300)]
    found = with_fixes(*many)
    ends = range(4, 2004, 4)
    path = pd.concat([found.path.head(1)] * 500, ignore_index=True)
    path = path.assign(start_ns=[end - 4 for end in ends], end_ns=ends)
    path["category"] = [f"category {number}" for number in range(500)]
    found = replace(found, path=path)
    text = Card(report_card(found)).text
    assert "Do fix4" in text
    assert "Do fix5" not in text
    assert f"and {len(recommend(found)) - 5} more" in text


@pytest.mark.parametrize("name", HOSTILE)
def test_names_of_a_trace_are_text(name: str) -> None:
    named = make_findings([(0, 1, name, name, 0, 1000, "root", "", "")])
    shown = Card(report_card(replace(named, details=replace(named.details, name=name, fixes=()))))
    visible = name.replace("\x1b", "\\x1b").replace("\u202e", "\\u202e")
    assert visible in shown.text
    listed = Card(runs({"name": name, "state": name, "scenario_of": name})._repr_html_())
    assert listed.text.count(visible) == 3
    rows = [event(name, 0, 100), event(f"{name} 2", 100, 150)]
    asked = answer(graph_of(tiny.model(*rows)), name, Question(remove=(f"name={name}",)))
    assert Card(asked._repr_html_()).text.count(visible) >= 3
    made = Made((name,), (name,), 10, 90, name)
    floor = {"floor": "busiest thread", "name": name, "length_ns": 50}
    plan = Plan(name, 100, (made,), (made,), (floor,))
    assert Card(plan._repr_html_()).text.count(visible) == 7


def test_a_prediction_says_before_after_range_and_what_is_then_critical() -> None:
    asked = answer(graph(), "run", Question(remove=("name=gemm*",), overhead="none"))
    text = Card(asked._repr_html_()).text
    assert text.startswith("run: the run without name=gemm* before 204.000 µs after 44.000 µs")
    assert [fact.text for fact in answer_facts(asked) if fact.text not in text] == []
    assert "critical then" in text
    assert "gemm<float> 1 160.000 µs" in text
    assert repr(asked).startswith("<WhatIf run without name=gemm*: ")


def test_what_gets_longer_stays_inside_its_bar() -> None:
    asked = answer(graph(), "run", Question(scale=((3.0, "name=gemm*"),), overhead="none"))
    widths = [part.split("%")[0] for part in str(asked._repr_html_()).split("width:")[1:] if "%" in part[:7]]
    assert all(0 <= float(width) <= 100 for width in widths)


def test_a_plan_lists_its_fixes_in_order_with_their_gains() -> None:
    plan = make_plan(graph(), "run", 2)
    text = Card(plan._repr_html_()).text
    assert plan.steps
    for count, one in enumerate(plan.steps, 1):
        assert f"{count} fix" in text
        assert one.titles[0] in text
        assert one.command in text
    assert repr(plan).startswith("<Plan for run: 1 fix, 204.000 µs become ")
    assert NOTHING in Card(Plan("run", 100, (), (), ())._repr_html_()).text


def test_runs_are_listed_as_people_read_them() -> None:
    listed = runs(
        {"name": "new", "bounded_by": "host work"},
        {"name": "half", "state": "loading", "ranks": None, "duration_ns": None},
        {"name": "changed", "scenario_of": "new"},
    )
    text = Card(listed._repr_html_()).text
    assert text.startswith("Stored runs run created (UTC) ranks length bounded by scenario of")
    assert "new 2026-01-02 03:04 2 5.000 ms host work" in text
    assert "half 2026-01-02 03:04 loading" in text
    assert "new" in repr(listed)


def test_of_many_runs_the_newest_are_listed() -> None:
    text = Card(runs(*({"name": f"run-{number}"} for number in range(1000)))._repr_html_()).text
    assert "run-19 " in text
    assert "run-20 " not in text
    assert text.endswith("and 980 more runs")


def test_no_runs_and_runs_of_unknown_age() -> None:
    assert "no run is stored" in Card(runs()._repr_html_()).text
    assert "old 2 5.000 ms" in Card(runs({"name": "old", "created": None})._repr_html_()).text


def test_a_selection_of_runs_is_a_frame_as_any_other() -> None:
    listed = runs({"name": "new"})
    assert type(listed[["name", "ranks"]]) is pd.DataFrame
    assert "tracegraph-card" not in str(listed.head(1)._repr_html_())  # type: ignore[operator]
    del listed["nodes"]
    assert "dataframe" in str(listed._repr_html_())


def test_a_run_that_cannot_be_asked_says_why(tmp_path: Path) -> None:
    bench = Workbench(open_workspace(tmp_path), ConnectionSettings(None, "neo4j", "", None))
    bench.close()
    run = Run(bench, "<run>")
    text = Card(run._repr_html_()).text
    assert text == "<run> the workbench is closed open another one: Workbench.open()"
    assert repr(run) == "<Run <run>>"
