"""What a report says of the stragglers of an operation log, from measures of a small job."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from operation_logs import Job, usual
from report_data import make_findings

from tracegraph.ingest.operations.stragglers import find_stragglers
from tracegraph.queries.run_part import WHOLE
from tracegraph.queries.shapes.replay_rows import OPERATION_STRAGGLER_COLUMNS, straggler_rows
from tracegraph.workbench.findings.findings import Findings
from tracegraph.workbench.output.page import report_page
from tracegraph.workbench.output.summary import summarise
from tracegraph.workbench.sections.blocks import HeatMap, Table, Words
from tracegraph.workbench.sections.section import all_sections


def findings(slow: dict[tuple[int, int], float]) -> Findings:
    job = Job(2, 3, 4)
    log = job.log(1, job.times(1, usual(slow)))
    names = {
        "dp_rank": "data_rank",
        "optype": "type",
        "seq_id": "sequence",
        "mc": "chunk",
        "gmc": "model_chunk",
    }
    rows = log.rename(columns=names).assign(
        start_ns=np.rint(log["start_ts"] * 1e9).astype(np.int64),
        end_ns=np.rint((log["start_ts"] + log["duration"]) * 1e9).astype(np.int64),
    )
    told = find_stragglers(rows)
    assert told is not None
    asked = straggler_rows({}, pd.DataFrame({"stragglers": [json.dumps(told)]}))
    plain = make_findings()
    details = replace(plain.details, stragglers=told)
    return replace(
        plain, details=details, part=WHOLE, answers={**plain.answers, "operation_stragglers": asked}
    )


SLOW = findings({(1, 2): 1.8})
SECTION = all_sections()["operation_stragglers"]


def test_rows_are_listed_by_level_the_slowest_first_and_an_older_run_has_none() -> None:
    rows = SLOW.answers["operation_stragglers"]
    assert list(rows.columns) == [column.name for column in OPERATION_STRAGGLER_COLUMNS]
    assert rows["level"].drop_duplicates().tolist() == ["job", "optype", "dp_rank", "stage", "worker"]
    for _, own in rows.groupby("level"):
        assert own["slowdown"].is_monotonic_decreasing
    workers = rows[rows["level"] == "worker"]
    assert workers[["group", "dp_rank", "stage"]].iloc[0].tolist() == ["5", 1, 2]
    assert straggler_rows({}, pd.DataFrame({"stragglers": [None]})).empty


def test_the_section_says_what_stragglers_cost_and_draws_the_workers() -> None:
    words, table, heat, workers, _ = SECTION.content(SLOW)
    assert isinstance(words, Words)
    assert "Stragglers make it 1." in words.text
    assert isinstance(table, Table)
    assert isinstance(workers, Table)
    assert workers.frame["group"].iloc[0] == "5"
    assert isinstance(heat, HeatMap)
    assert (heat.columns, heat.rows) == (["0", "1"], ["0", "1", "2"])
    warmest = max((heat.warmth(value), place) for place, value in enumerate(heat.cells[2]))
    assert warmest[1] == 1
    assert warmest[0] > 0.2


def test_an_even_job_is_not_said_to_have_stragglers() -> None:
    (words, *_) = SECTION.content(findings({}))
    assert isinstance(words, Words)
    assert "Stragglers cost next to nothing" in words.text


def test_a_trace_without_a_log_has_no_section_and_no_numbers() -> None:
    plain = replace(make_findings(), part=WHOLE)
    assert SECTION.content(plain) == []
    assert "stragglers" not in summarise(plain)


def test_summary_holds_the_measures_under_their_published_names() -> None:
    told = summarise(SLOW)["stragglers"]
    assert isinstance(told, dict)
    assert set(told) == {
        *("S", "by_optype", "by_dp_rank", "by_stage", "by_worker", "M_W", "M_S", "T_s", "T0_s", "T1_s")
    }
    assert told["S"] == pytest.approx(told["T0_s"] / told["T1_s"])
    assert told["by_worker"]["5"] == min(told["by_dp_rank"]["1"], told["by_stage"]["2"])


def test_the_page_has_the_heat_map_as_a_table() -> None:
    page = report_page(SLOW)
    assert '<table class="heat">' in page
    assert page.count('<td class="number warm') == 6


def test_warmth_is_bounded() -> None:
    heat = HeatMap("a", "b", ["0"], ["0"], [[1.0]], least=1.0, most=1.5)
    assert [heat.warmth(value) for value in (None, 0.5, 1.25, 9.0)] == [0.0, 0.0, 0.5, 1.0]
    assert replace(heat, most=1.0).warmth(2.0) == 0.0
