"""Sections: found by themselves, ordered, and shown by every renderer, whatever they hold."""

import io
import json
from pathlib import Path

import pandas as pd
import pytest
from call_stacks import frames_of
from report_data import WAITS, compared, make_findings
from rich.console import Console

from tracegraph.base.progress import silent
from tracegraph.cli.reporters.every_section import print_report
from tracegraph.queries.catalog import find
from tracegraph.queries.run_part import WHOLE, RunPart
from tracegraph.queries.runs import RunWindow
from tracegraph.workbench.findings.findings import Findings
from tracegraph.workbench.output.folder import write_folder
from tracegraph.workbench.output.page import report_page
from tracegraph.workbench.sections import blocks
from tracegraph.workbench.sections.blocks import Column, Fact, Facts, Table, Words, exact_rows
from tracegraph.workbench.sections.cells import cell_text
from tracegraph.workbench.sections.section import Scope, Section, all_sections, questions
from tracegraph.workbench.sections.shown_names import ShownNames

FOLDER = Path(blocks.__file__).parent
OF_RUN = Scope("r", RunWindow(1000, 3000, 7), WHOLE, drawn=True)


def test_each_module_with_a_section_is_one() -> None:
    named = {path.stem for path in FOLDER.glob("*.py") if "\nSECTION = " in path.read_text()}
    assert set(all_sections()) == named
    places = [section.place for section in all_sections().values()]
    assert places == sorted(set(places))


@pytest.mark.parametrize("scope", [OF_RUN, Scope("r", RunWindow(0, 1, 2), RunPart(5), drawn=False)])
def test_every_question_is_a_query_with_all_it_needs(scope: Scope) -> None:
    for name, values in questions(scope).items():
        find(name).complete(values)


def test_lanes_are_asked_for_where_they_are_drawn() -> None:
    assert "lane_timeline" in questions(OF_RUN)
    assert "lane_timeline" not in questions(Scope("r", OF_RUN.window, WHOLE, drawn=False))


def test_steps_are_compared_in_a_report_on_the_run() -> None:
    assert {"step_paths", "recurring_hotspots"} <= set(questions(OF_RUN))
    assert "step_paths" not in questions(Scope("r", OF_RUN.window, RunPart(3), drawn=True))


def test_assumptions_are_shares() -> None:
    table = next(one for one in content("assumptions", make_findings(part=WHOLE)) if isinstance(one, Table))
    rows = table.frame[["name", "chosen", "same", "events", "named_gaps", "unknown", "inferred"]]
    assert rows.head(2).to_numpy().tolist() == [
        ["evidence", True, True, 0.75, 0.25, 0, 0.3],
        ["serialise", False, False, 0.85, 0, 0.15, 0.05],
    ]
    assert table.frame["_longest"].tolist()[0] == [(" 50.0 %  ", "aten::evidence")]


def content(name: str, findings: Findings) -> list[blocks.Block]:
    return list(all_sections()[name].content(findings))


def test_a_section_of_ones_own_is_shown_everywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    frame = pd.DataFrame({"name": ["<b>"], "spent_ns": [1500], "_people": ["x"]})
    columns = (Column("name", "who", "name"), Column("spent_ns", "spent", "duration"))
    shown = [Words("in words"), Facts([Fact("fact", "known")]), Table(frame, columns, "the caption")]
    section = Section(1, "My section", lambda _: shown)
    sections = {**all_sections(), "mine": section}
    for module in ("cli.reporters.every_section", "workbench.output.page", "workbench.output.folder"):
        monkeypatch.setattr(f"tracegraph.{module}.all_sections", lambda: sections)
    monkeypatch.setattr("tracegraph.workbench.output.summary.all_sections", lambda: sections)
    stream = io.StringIO()
    print_report(Console(file=stream, width=100), make_findings())
    page = report_page(make_findings())
    write_folder(make_findings(), tmp_path, silent)
    for text in ("My section", "in words", "known", "the caption", "1.500 µs"):
        assert text in stream.getvalue()
        assert text in page
    assert (tmp_path / "mine.csv").read_text() == "name,spent_ns,label\n<b>,1500,<b>\n"
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert summary["sections"]["mine"] == [[{"name": "<b>", "spent_ns": 1500, "label": "<b>"}]]


def test_every_section_shows_a_path_of_one_gap() -> None:
    rows = [(0, None, "unknown", "gap", 0, 1000, "root", "", "")]
    findings = make_findings(rows, waits=WAITS.head(0), **compared(1000, 900))
    print_report(Console(file=io.StringIO()), findings)
    assert report_page(findings).count("<section") > 10


@pytest.mark.parametrize(
    ("kind", "value", "text"),
    [
        ("duration", 1500, "1.500 µs"),
        ("share", 0.5, "50.0 %"),
        ("count", 1234, "1,234"),
        ("name", "a\x1b[31m", "a\\x1b[31m"),
        ("lines", [("1 ", "a"), ("", "b\x00")], "1 a\nb\\x00"),
        ("text", None, ""),
        ("duration", pd.NA, ""),
        ("share", float("nan"), ""),
    ],
)
def test_cells(kind: blocks.Kind, value: object, text: str) -> None:
    assert cell_text(kind, value, ShownNames([])) == text


def test_texts_for_people_are_no_rows() -> None:
    assert list(exact_rows(pd.DataFrame({"a": [1], "_b": [2]})).columns) == ["a"]


def test_where_in_my_code_is_an_outline_and_the_largest_names_without_plumbing() -> None:
    calls = [
        (0, None, "main", "thread", 0),
        (1, 0, "train.py(3): step", "python_function", 500),
        (2, 1, "torch/nn/modules/module.py(9): _call_impl", "python_function", 100),
        (3, 2, "aten::mm", "cpu_op", 1400),
    ]
    answers = {name: find(name).shaped({}, [frames_of(*calls)]) for name in ("path_outline", "path_inside")}
    outline, largest = (
        one for one in content("my_code", make_findings(answers=answers)) if isinstance(one, Table)
    )
    assert outline.frame["name"].tolist() == ["main", "train.py(3): step", calls[2][2], "aten::mm"]
    assert largest.frame["name"].tolist() == ["train.py(3): step", "aten::mm"]
    stream = io.StringIO()
    print_report(
        Console(file=stream, width=100),
        make_findings(answers={**make_findings().answers, **answers}),
    )
    assert "\n    train.py(3): step " in stream.getvalue()
    assert "\n        aten::mm " in stream.getvalue()
    assert "shows your own code here" not in stream.getvalue()


def test_without_python_functions_it_says_how_to_record_them() -> None:
    (words,) = [one for one in content("my_code", make_findings()) if isinstance(one, Words) and one.tone]
    assert "with_stack=True" in words.text


def test_without_call_stacks_there_is_neither_an_outline_nor_a_flame_graph() -> None:
    answers = {name: find(name).shaped({}, [frames_of()]) for name in ("path_outline", "path_inside")}
    findings = make_findings(answers={**answers, "path_frames": frames_of()})
    assert (content("my_code", findings), content("flame", findings)) == ([], [])


def test_nothing_large_is_off_the_path() -> None:
    answers = make_findings().answers
    (table,) = content("off_path", make_findings())
    assert isinstance(table, Table)
    none = {**answers, "off_path_hotspots": answers["off_path_hotspots"].head(0)}
    (words,) = content("off_path", make_findings(answers=none))
    assert isinstance(words, Words)
    assert words.text.startswith("none: ")
