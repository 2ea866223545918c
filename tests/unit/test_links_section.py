"""The sections on links and overlap: what is said where the link is known or not, and of one rank."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pandas as pd
from report_data import make_findings

from tracegraph.queries.catalog import find
from tracegraph.queries.module import in_types
from tracegraph.queries.run_part import WHOLE
from tracegraph.queries.runs import RunWindow
from tracegraph.queries.shapes.peak.job import Job
from tracegraph.workbench.findings.findings import Findings
from tracegraph.workbench.sections import collectives, communication
from tracegraph.workbench.sections.blocks import Block, Table, Words
from tracegraph.workbench.sections.links import SECTION
from tracegraph.workbench.sections.section import Scope

SOURCE = "NVIDIA A100 data sheet, June 2021: 600 GB/s both ways"
ROW = {
    **{"name": "all_reduce", "ranks": 8, "bytes": 67_108_864, "count": 81, "sum_ns": 10**9, "lacks": None},
    **{"transfer_ns": 608_000, "bus_bandwidth": 193.2e9, "share": 0.644, "link": "NVLink 3"},
    **{"link_source": SOURCE, "evidence": "recorded", "is_least": False},
}
ALONE = {**ROW, "rank": 0, "is_least": True, "lacks": "Waits are inside. Give all files."}


def answers(**rows: Sequence[dict[str, Any]]) -> Findings:
    found = make_findings()
    frames = {}
    for name, listed in rows.items():
        columns = find(name).columns
        frame = pd.DataFrame(list(listed), columns=[column.name for column in columns])
        frames[name] = in_types(frame, columns)
    return replace(found, answers={**found.answers, **frames})


def said(blocks: Sequence[Block]) -> list[str]:
    return [block.text for block in blocks if isinstance(block, Words)]


def test_what_transfers_longest_is_compared_with_its_link() -> None:
    blocks = SECTION.content(answers(link_use=[ROW]))
    assert said(blocks) == [
        "What transfers longest, all_reduce of 67.1 MB between 8 ranks, reaches 193 GB/s, 64.4 % of "
        f"NVLink 3 in one direction ({SOURCE})."
    ]
    (table,) = (block for block in blocks if isinstance(block, Table))
    assert len(table.frame) == 1


def test_of_one_rank_it_is_a_least_value_and_nobody_knows_why_it_takes_long() -> None:
    first, alone, *missing = said(SECTION.content(answers(link_use=[ALONE, ALONE])))
    assert "reaches at least 193 GB/s" in first
    assert "nobody can tell" in alone
    assert missing == ["Waits are inside.", "Give all files."]


def test_without_a_link_only_what_lacks_is_said() -> None:
    unknown = {**ROW, "share": None, "link": None, "link_source": None, "lacks": "Give --link."}
    assert said(SECTION.content(answers(link_use=[unknown]))) == ["Give --link."]
    assert SECTION.content(answers(link_use=[])) == []


def test_it_is_asked_for_a_page_or_where_the_user_says_the_link() -> None:
    scope = Scope("r", RunWindow(0, 9, 0), WHOLE, drawn=False)
    assert SECTION.asks(scope) == {}
    asked = SECTION.asks(replace(scope, job=Job(link="NDR", peak=2.0)))
    assert asked["link_use"]["link"] == "NDR"
    assert "peak" not in asked["link_use"]
    assert "link" not in SECTION.asks(replace(scope, drawn=True))["link_use"]


def test_steps_are_listed_where_there_are_some() -> None:
    rank = {"rank": 0, "communication_ns": 4, "overlap_ns": 1, "overlap_share": 0.25, "exposed_ns": 3}
    step = {
        "rank": 0,
        "step_ns": 9,
        "computing_ns": 2,
        "communication_ns": 4,
        "overlap_ns": 1,
        "exposed_ns": 3,
    }
    shared = {"comm_comp_overlap": [{**rank, "computing_ns": 2}], "exposed_communication": []}
    tables = [
        [
            b.caption
            for b in communication.SECTION.content(answers(**shared, step_overlap=[one]))
            if isinstance(b, Table)
        ]
        for one in ({**step, "step": 7}, step)
    ]
    assert ["By rank and step:" in listed for listed in tables] == [True, False]


def test_each_operation_says_what_it_takes_long_for() -> None:
    kind = {"name": "all_reduce", "count": 1, "skew_ns": 1, "median_skew_ns": 1, "longest_skew_ns": 1}
    kind |= {"transfer_ns": 1, "median_transfer_ns": 1, "confidence": 1.0}
    operation = {
        "operation": 0,
        "name": "all_reduce",
        "members": 2,
        "missing": "[]",
        "start_ns": 0,
        "end_ns": 9,
    }
    operation |= {"last_rank": 1, "skew_ns": 8, "transfer_ns": 1, "cause": "late arrival"}
    operation |= {"evidence": "recorded", "confidence": 1.0}
    found = answers(collective_kinds=[kind], collectives=[operation])
    *_, table = (block for block in collectives.SECTION.content(found) if isinstance(block, Table))
    assert [column.title for column in table.columns if column.field == "cause"] == ["takes long for"]
    assert "two thirds" in table.note
