"""Of any run: what bounds it gains most, and the first fix is the verdict's and the first that is advised."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import random_traces
import tiny
from hypothesis import assume, given
from report_data import make_findings
from verdict_checks import check_verdict

from benchmarks.accuracy.verdicts import Input, chosen_inputs
from tracegraph.base.errors import InputError
from tracegraph.base.progress import silent
from tracegraph.ingest.pipeline import ingest_run
from tracegraph.ingest.sources.expand import find_sources
from tracegraph.ingest.what_if.fixes.fix_rows import find_fixes
from tracegraph.ingest.what_if.predictions.predict import Predictor, predictor_of
from tracegraph.ingest.what_if.resource_bounds import find_bounds
from tracegraph.queries.run_part import WHOLE
from tracegraph.workbench.findings.findings import Findings
from tracegraph.workbench.findings.verdict import judge
from tracegraph.workbench.sections.blocks import Words
from tracegraph.workbench.sections.section import all_sections

ROOT = Path(__file__).resolve().parents[2]
SHARED = ROOT.parent / "shared"


INPUTS = chosen_inputs(ROOT / "examples" / "traces", [SHARED / "traces", SHARED / "cases"])
"""All files and jobs at hand; without the shared ones the examples."""
NO_EVENTS = {"derived/empty_events.json", "derived/zero_bytes.json", "d2_param_resnet_2080ti_et.json.gz"}


def reported(predictor: Predictor) -> Findings:
    """A report with what a replay says of a run, as it is stored."""
    return with_replays(json.dumps(find_bounds(predictor)), json.dumps(find_fixes(predictor)))


def with_replays(bounds: str, fixes: str) -> Findings:
    """A report with bounds and fixes as JSON, beside a path that is always the same."""
    found: Mapping[str, Any] = json.loads(bounds)
    findings = make_findings(part=WHOLE)
    return replace(findings, details=replace(findings.details, bounds=found, fixes=json.loads(fixes)))


def check_screen(findings: Findings) -> None:
    """Fail where the verdict, what bounds the run and its fixes say different things."""
    check_verdict(findings)
    said = all_sections()["bounds"].content(findings)[0]
    assert isinstance(said, Words)
    assert said.text == judge(findings).sentences[0]
    for row in findings.fixes:
        assert 0 <= row["low_ns"] <= row["gain_ns"] <= row["high_ns"]
        assert row["gain_ns"] <= row["base_ns"] == findings.bounds["base_ns"]
    for resource in findings.bounds["resources"]:
        assert 0 <= resource["share"] <= 1


@given(rows=random_traces.rows())
def test_a_screen_agrees_with_itself(rows: list[tiny.Row]) -> None:
    assume(any(row["start_ns"] != row["end_ns"] for row in rows))
    predictor = predictor_of(tiny.model(*rows))
    assume(predictor.graph.counted.any())
    check_screen(reported(predictor))


@pytest.mark.exhaustive
@pytest.mark.parametrize("one", INPUTS, ids=lambda one: one.name)
def test_a_screen_of_a_file_agrees_with_itself(one: Input) -> None:
    files = find_sources([one.trace])
    if one.name in NO_EVENTS:
        with pytest.raises(InputError):
            ingest_run(files, "run", silent)
        return
    run = ingest_run(files, "run", silent)[0].completed().nodes["Run"]
    check_screen(with_replays(run["bounds"][0].as_py(), run["fixes"][0].as_py()))
