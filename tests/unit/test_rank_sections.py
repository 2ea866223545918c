"""What a report says of several ranks, from tables of a few rows."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pandas as pd
import pytest
from report_data import ROWS, make_findings, path_frame

from tracegraph.queries.catalog import find
from tracegraph.queries.module import in_types
from tracegraph.queries.run_part import WHOLE
from tracegraph.workbench.findings.findings import Findings
from tracegraph.workbench.findings.recommendations import recommend
from tracegraph.workbench.sections.blocks import Facts, Table, Words
from tracegraph.workbench.sections.section import all_sections

WAITS = (
    (1, 10, 8, 5, 0.1, 5, 50, 600, 0.75, 90, False),
    (0, 10, 2, 200, 0.1, 150, 60, 200, 0.25, 40, False),
)
LATE = (
    (1, "load\x1b[31m", "python_function", "train.py(3): step", 900, 100, 900, 800),
    (1, "waiting for GPU", "gap", None, 90, 0, 90, 90),
    (0, "aten::add", "cpu_op", None, 50, 0, 50, 50),
)
STEPS = ((1, 1, 100, 5, 4, 0, 300, 1.0), (1, 0, 100, 5, 1, 300, 0, 0.0), (2, 0, 100, 5, 4, 0, 20, 1.0))


def rows_of(query: str, rows: Sequence[tuple[Any, ...]]) -> pd.DataFrame:
    columns = find(query).columns
    return in_types(pd.DataFrame(rows, columns=[column.name for column in columns]), columns)


def findings(*, waits: Sequence[tuple[Any, ...]] = WAITS, ranks: int = 2, on_rank: int = 1) -> Findings:
    plain = make_findings()
    answers = {
        **plain.answers,
        "rank_waits": rows_of("rank_waits", waits),
        "late_causes": rows_of("late_causes", LATE),
        "step_waits": rows_of("step_waits", STEPS),
        "collective_kinds": rows_of(
            "collective_kinds", [("all_reduce", "0", 2048, 3, 9, 3, 4, 30, 10, 2e9, 1.0)]
        ),
        "collectives": rows_of("collectives", []),
    }
    return replace(
        plain,
        answers=answers,
        path=path_frame(ROWS).assign(rank=on_rank),
        details=replace(plain.details, ranks=ranks),
        part=WHOLE,
    )


def said(of: Findings) -> list[tuple[str, str]]:
    (block,) = all_sections()["ranks"].content(of)
    assert isinstance(block, Facts)
    return [(fact.word, fact.text) for fact in block.facts]


@pytest.mark.parametrize(("rank", "length", "named"), [(1, 700, True), (1, 100, False), (0, 700, False)])
def test_the_phase_in_which_a_rank_is_late_is_named(rank: int, length: int, named: bool) -> None:
    """Only where most of the waiting lies there, and where the phase is longer than on the middle rank."""
    rows = [
        (one, 1, "backward", 1, 0, 100 + length * (one == rank), 0, "inferred", 0.98, 0) for one in (0, 1)
    ]
    of = findings()
    of = replace(of, answers={**of.answers, "phases": rows_of("phases", rows)})
    first = next(text for word, text in said(of) if word == "late by")
    assert first.endswith("; most of it in the phase backward") == named


def test_the_rank_that_is_waited_for_its_cause_and_how_steadily() -> None:
    assert said(findings()) == [
        ("pace", "100.0 % of the critical path is on rank 1"),
        ("waited for", "rank 1: the others wait 600 ns for it together, 75.0 % of all waiting, up to 90 ns "
                       "at once; it came last to 8 of 10 operations"),
        ("late by", "800 ns inside `train.py(3): step`: 800 ns `load\\x1b[31m`; 90 ns waiting for GPU"),
        ("waited for", "rank 0: the others wait 200 ns for it together, 25.0 % of all waiting, up to 40 ns "
                       "at once; it came last to 2 of 10 operations"),
        ("late by", "unknown: the critical path does not lead through rank 0, so others' work hides it"),
        ("steadiness", "wandering: rank 1 in 1 of 2 steps, rank 0 in 1 of 2 steps"),
        ("communication", "3.9 % of the time waiting for others, 2.8 % transferring, with nothing else to "
                          "compute (mean of the ranks)"),
    ]  # fmt: skip


def test_a_run_of_one_rank_has_no_such_section() -> None:
    sections = all_sections()
    assert [sections[name].content(findings(ranks=1)) for name in ("ranks", "rank_waits")] == [[], []]


def test_who_is_waited_for_much_is_recommended_to_look_at() -> None:
    late = {one.code: one.number for one in recommend(findings())}
    assert late["straggler"] == (
        "30.0 % of the window (600 ns) each other rank waits for rank 1, in the mean; it comes last to 8 of "
        "10 operations"
    )
    assert "straggler" not in {one.code for one in recommend(findings(ranks=1))}


def test_ranks_that_share_nothing_say_so() -> None:
    alone = [(rank, 0, 0, 0, 0.0, 0, 0, 0, 0.0, 0, False) for rank in range(2)]
    (block,) = all_sections()["ranks"].content(findings(waits=alone))
    assert isinstance(block, Words)
    assert block.text == "the files share no operation: when one rank waited for another is unknown"


@pytest.mark.parametrize(("name", "rows"), [("rank_waits", 2), ("collectives", 1)])
def test_the_tables(name: str, rows: int) -> None:
    blocks = all_sections()[name].content(findings())
    tables = [block for block in blocks if isinstance(block, Table)]
    assert len(tables[0].frame) == rows
    if name == "rank_waits":
        assert tables[0].frame[["rank", "path_share"]].to_numpy().tolist() == [[0, 0.0], [1, 1.0]]
        by_step = tables[-1].frame[["number", "rank", "caused_ns", "length_ns"]]
        assert by_step.to_numpy().tolist() == [[1, 1, 300, 100], [2, 0, 20, 100]]


def test_which_ranks_are_in_full_is_said_first() -> None:
    """Of one in short nobody knows why it is late, nor what it computes while it waits."""
    short = (2, 10, 8, 5, 0.1, None, None, 600, 0.75, 90, True)
    blocks = all_sections()["ranks"].content(findings(waits=(short, *WAITS), ranks=3, on_rank=2))
    detail, known = (block.facts for block in blocks if isinstance(block, Facts))
    assert [fact.word for fact in detail] == ["in full"]
    assert detail[0].text.startswith("ranks 0, 1: what is said of work")
    assert "Of the other 1 rank only" in detail[0].text
    late = next(fact.text for fact in known if fact.word == "late by")
    assert late.startswith("not known, since rank 2 is in short: `tracegraph runs load")
    assert late.endswith("--rank 2` loads one")
    told = next(fact.text for fact in known if fact.word == "communication")
    assert told.endswith("(mean of the ranks in full)")
