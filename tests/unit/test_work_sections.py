"""The sections about FLOPs and hardware counters: what they draw, and what they say where nothing is."""

from dataclasses import replace

import pandas as pd
import pytest
from report_data import make_findings

from tracegraph.queries.catalog import find
from tracegraph.queries.module import in_types
from tracegraph.queries.run_part import WHOLE
from tracegraph.queries.runs import RunWindow
from tracegraph.queries.shapes.gpu.roofline import roofline
from tracegraph.workbench.findings.findings import Findings
from tracegraph.workbench.sections import hardware_counters
from tracegraph.workbench.sections import roofline as roofline_section
from tracegraph.workbench.sections.blocks import Block, Plot, Table, Words
from tracegraph.workbench.sections.section import Scope
from tracegraph.workbench.text.text import format_amount

WORK = find("operator_work").columns
COUNTED = find("counted_work").columns
H100 = '["NVIDIA H100 80GB HBM3"]'
ROW = {"rank": 0, "device": 0, "calls": 1, "activities": 1, "gpu_ns": 1000}
GEMM = {**ROW, "name": "aten::mm", "shapes": "[[2]]", "dtype": "bfloat16", "work": "matrix product"}
FAST = {**GEMM, "flops": 494_700_000, "bytes": 1_000_000}


def rows(
    *work: dict[str, object], counted: tuple[dict[str, object], ...] = (), devices: str = H100
) -> pd.DataFrame:
    """The rows of the roofline from those of its modules."""
    frames = [
        in_types(pd.DataFrame(list(given), columns=[column.name for column in columns]), columns)
        for given, columns in ((work, WORK), (counted, COUNTED))
    ]
    files = pd.DataFrame({"rank": [0], "devices": [devices]})
    return in_types(roofline({}, *frames, files), find("roofline").columns)


def shown(found: pd.DataFrame) -> tuple[str, list[Block]]:
    findings = with_answer("roofline", found)
    blocks = list(roofline_section.SECTION.content(findings))
    return " ".join(block.text for block in blocks if isinstance(block, Words)), blocks


def with_answer(name: str, found: pd.DataFrame) -> Findings:
    findings = make_findings()
    return replace(findings, answers={**findings.answers, name: found})


def test_a_product_has_the_roof_of_its_type() -> None:
    found = rows(FAST).iloc[0]
    assert found["compute_share"] == pytest.approx(0.5)
    assert (found["bound"], found["evidence"]) == ("compute", "inferred")
    text, blocks = shown(rows(FAST, {**ROW, "name": "mine::op", "gpu_ns": 3000}))
    assert text == "FLOPs are known of 25.0 % of the GPU time; most of the rest: mine::op."
    (plot,) = (block for block in blocks if isinstance(block, Plot))
    assert list(plot.roofs) == ["989 TFLOP/s (bfloat16)"]
    assert plot.roofs["989 TFLOP/s (bfloat16)"][1] == pytest.approx((989.4e12 / 3.35e12, 989.4e12))


def test_float32_between_the_ridges_is_unknown_since_tf32_is_not_recorded() -> None:
    between = {**FAST, "dtype": "float32", "flops": 100_000_000}
    assert rows(between)["bound"].tolist() == ["unknown"]
    assert rows({**between, "flops": 1_000_000})["bound"].tolist() == ["memory"]
    assert rows({**between, "flops": 400_000_000})["bound"].tolist() == ["compute"]


def test_an_unknown_device_has_no_roof_and_is_named() -> None:
    text, blocks = shown(rows(FAST, devices='["AMD Radeon Graphics"]'))
    assert "No roof is drawn: the peaks of AMD Radeon Graphics are not known." in text
    assert [block.roofs for block in blocks if isinstance(block, Plot)] == [{}]
    text, _ = shown(rows(FAST, devices="[]"))
    assert "No roof is drawn: the device, which the file does not name, is not known." in text


def test_without_flops_it_says_why() -> None:
    unknown = {**ROW, "name": "aten::mm"}
    assert "record_shapes=True" in shown(rows(unknown))[0]
    assert shown(rows({**unknown, "shapes": "[[2]]"}))[0] == "Of no operator the FLOPs are known."
    assert shown(rows())[0].startswith("no GPU work was recorded")
    counted = ({"rank": 0, "name": "aten::mm", "count": 2, "flops": 8.0, "confidence": 0.9},)
    assert "no times of kernels" in shown(rows(counted=counted))[0]


def test_counters_replace_what_shapes_say() -> None:
    counted = ({"rank": 0, "name": "aten::mm", "count": 2, "gpu_ns": 10, "flops": 8.0, "bytes": 4.0},)
    found = rows(FAST, counted=counted)
    assert found[["calls", "flops", "intensity", "evidence"]].values.tolist() == [[2, 8.0, 2.0, "recorded"]]


def test_counters_without_an_operator_are_said() -> None:
    columns = [column.name for column in find("cupti_counters").columns]
    one = [0, "add", "aten::add", "aten::add", "k", 2, 8.0, 4.0, 0.0, 4.0, 4.0, "inferred", 0.9]
    lost = [0, "add", None, None, "k", 1, 3.0, 3.0, 0.0, 3.0, 3.0, None, None]
    nothing = [0, "mul", "aten::add", "aten::add", "k", 2, 0.0, 0.0, 0.0, 0.0, 0.0, "inferred", 0.9]
    content = hardware_counters.SECTION.content
    blocks = content(with_answer("cupti_counters", pd.DataFrame([one, lost, nothing], columns=columns)))
    assert isinstance(blocks[0], Words)
    assert blocks[0].tone == "warning"
    assert isinstance(blocks[1], Table)
    assert blocks[1].frame["sum"].tolist() == [8.0, 3.0]
    assert "Not shown: 1 that counted nothing" in blocks[1].note
    (words,) = content(with_answer("cupti_counters", pd.DataFrame(columns=columns)))
    assert isinstance(words, Words)
    assert "no hardware counters" in words.text


def test_both_are_asked_for_a_page_only() -> None:
    for section, query in ((roofline_section, "roofline"), (hardware_counters, "cupti_counters")):
        for drawn in (True, False):
            scope = Scope("r", RunWindow(1, 2, 0), WHOLE, drawn)
            expected = {query: {"run": "r", "start_ns": 1, "end_ns": 2}} if drawn else {}
            assert section.SECTION.asks(scope) == expected
        assert section.SECTION.content(make_findings()) == []


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (0.0833, "0.0833"),
        (12.34, "12.3"),
        (999.9, "1,000"),
        (1e3, "1 k"),
        (1.5e12, "1.5 T"),
        (989.4e12, "989 T"),
        (2.25e15, "2.25 P"),
    ],
)
def test_amounts(value: float, text: str) -> None:
    assert format_amount(value) == text
