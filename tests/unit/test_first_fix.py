"""Of any run: what bounds it gains most, and the first fix is the verdict's and the first that is advised."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import random_traces
import tiny
from hypothesis import assume, given
from report_data import make_findings
from verdict_checks import check_verdict

from tracegraph.ingest.what_if.fixes.fix_rows import find_fixes
from tracegraph.ingest.what_if.predictions.predict import Predictor, predictor_of
from tracegraph.ingest.what_if.resource_bounds import find_bounds
from tracegraph.queries.run_part import WHOLE
from tracegraph.workbench.findings.findings import Findings
from tracegraph.workbench.findings.verdict import judge
from tracegraph.workbench.sections.blocks import Words
from tracegraph.workbench.sections.section import all_sections


def reported(predictor: Predictor) -> Findings:
    """A report with what a replay says of a run, as it is stored."""
    bounds: Mapping[str, Any] = json.loads(json.dumps(find_bounds(predictor)))
    fixes = json.loads(json.dumps(find_fixes(predictor)))
    findings = make_findings(part=WHOLE)
    return replace(findings, details=replace(findings.details, bounds=bounds, fixes=fixes))


@given(rows=random_traces.rows())
def test_a_screen_agrees_with_itself(rows: list[tiny.Row]) -> None:
    assume(any(row["start_ns"] != row["end_ns"] for row in rows))
    predictor = predictor_of(tiny.model(*rows))
    assume(predictor.graph.counted.any())
    findings = reported(predictor)
    check_verdict(findings)
    said = all_sections()["bounds"].content(findings)[0]
    assert isinstance(said, Words)
    assert said.text == judge(findings).sentences[0]
    for row in findings.fixes:
        assert 0 <= row["low_ns"] <= row["gain_ns"] <= row["high_ns"]
        assert row["gain_ns"] <= row["base_ns"] == findings.bounds["base_ns"]
    for resource in findings.bounds["resources"]:
        assert 0 <= resource["share"] <= 1
