"""The sections on pipelines, transfers by size, buckets, layers and gathers, from a few rows."""

import json
from collections.abc import Sequence
from dataclasses import replace

import pandas as pd
import pytest
from parallel_rows import FIT, FULL, PARALLEL, POINTS, Row, answers, gather, layer, size, stage
from report_data import make_findings

from tracegraph.queries.run_part import WHOLE, RunPart
from tracegraph.queries.runs import RunWindow
from tracegraph.workbench.collect import communicates
from tracegraph.workbench.findings.topics import DATA_LOADING, TOPICS
from tracegraph.workbench.methods.section_plot import section_plot
from tracegraph.workbench.output.page import report_page
from tracegraph.workbench.sections.blocks import Block, Plot, Table, Words
from tracegraph.workbench.sections.section import OTHERS, Scope, all_sections


def blocks(name: str, **rows: list[Row]) -> Sequence[Block]:
    return all_sections()[name].content(answers({**FULL, **rows}))


def said(found: Sequence[Block]) -> list[str]:
    return [block.text for block in found if isinstance(block, Words)]


def plot_of(found: Sequence[Block]) -> Plot:
    (plot,) = (block for block in found if isinstance(block, Plot))
    return plot


@pytest.mark.parametrize("name", PARALLEL)
def test_without_rows_there_is_no_section_and_with_rows_it_is_folded_and_has_a_plot(name: str) -> None:
    section = all_sections()[name]
    assert section.group == OTHERS
    assert section.content(make_findings()) == []
    assert section.content(answers({key: [] for key in FULL})) == []
    found = answers(FULL)
    assert [plot.title for plot in section_plot(found, name).plots] == [plot_of(section.content(found)).title]
    assert f'id="{name}"' in report_page(found)


@pytest.mark.parametrize("name", PARALLEL)
def test_it_is_asked_for_a_page_of_ranks_that_communicate(name: str) -> None:
    scope = Scope("r", RunWindow(0, 9, 0), WHOLE, drawn=True, ranks=2)
    assert set(all_sections()[name].asks(scope)) <= set(FULL)
    assert all_sections()[name].asks(scope)
    assert all_sections()[name].asks(replace(scope, drawn=False)) == {}
    assert all_sections()[name].asks(replace(scope, ranks=1, communicates=False)) == {}


def test_buckets_of_a_part_are_not_asked() -> None:
    scope = Scope("r", RunWindow(0, 9, 0), RunPart(3), drawn=True, ranks=2)
    assert all_sections()["ddp_buckets"].asks(scope) == {}


def test_the_pipeline_names_its_bubble_the_formula_and_the_stage_with_most_work() -> None:
    found = blocks("pipeline")
    first, note = said(found)
    assert first == (
        "2 stages neither compute nor transfer for 20.0 % of a step (bubble). With 4 micro-batches, even "
        "stages would lose 20.0 %. Stage 1 computes longest: 600 ns in a step, 33.3 % more than the mean; "
        "the others wait for it."
    )
    assert "Transfers may be in the bubble" in note
    plot = plot_of(found)
    assert plot.kind == "stretches"
    assert plot.frame["_begin_ns"].tolist() == [0, 200, 0, 200]
    assert plot.frame["_length_ns"].tolist() == [200, 800, 200, 800]


def test_columns_that_nothing_fills_are_left_out() -> None:
    (table,) = (block for block in blocks("pipeline") if isinstance(block, Table))
    titles = [column.field for column in table.columns]
    assert "transfer_ns" not in titles
    assert "expected_interleaved" not in titles
    assert "bubble_share" in titles


def test_even_stages_are_not_said_to_differ() -> None:
    assert "computes longest" not in said(blocks("pipeline", pipeline=[stage(0, 0.3), stage(1, 0.3)]))[0]


def test_a_fit_is_drawn_over_the_sizes_for_which_it_holds() -> None:
    found = blocks("transfers")
    assert said(found) == [
        "all_reduce of 4 ranks has a latency of 1.000 µs and a bandwidth of 1 GB/s between 1 kB and "
        "100 kB; its mean error is 1.0 %."
    ]
    plot = plot_of(found)
    (curve,) = plot.roofs.values()
    assert curve[0] == pytest.approx((1000, 2000))
    assert curve[-1] == pytest.approx((100_000, 101_000))
    assert len(plot.frame) == len(POINTS)


def test_points_without_a_fit_say_what_it_lacks_and_one_size_is_no_section() -> None:
    refused = {**FIT, "bytes_per_s": None, "alpha_ns": None, "lacks": "Too few sizes."}
    found = blocks("transfers", transfer_fit=[refused])
    assert said(found) == ["all_reduce: Too few sizes."]
    assert plot_of(found).roofs == {}
    assert not [block for block in found if isinstance(block, Table)]
    assert blocks("transfers", transfer_fit=[{**refused, "sizes": 1}]) == []


def test_the_best_size_of_buckets_is_named_with_its_range() -> None:
    found = blocks("ddp_buckets")
    assert said(found) == [
        "A step takes 1.000 µs; with buckets of 25 MiB (bucket_cap_mb=25) it would take 800 ns, between 790 "
        "ns and 810 ns: 20.0 % less."
    ]
    plot = plot_of(found)
    assert (plot.kind, plot.between, plot.marks) == ("curves", ("least_ns", "most_ns"), {"as recorded": 1000})
    *_, table = (block for block in found if isinstance(block, Table))
    assert table.frame[["length_ns", "count"]].to_numpy().tolist() == [[30, 2]]
    assert "waited_ns" not in [column.field for column in table.columns]


def test_sizes_that_gain_nothing_or_are_not_known_are_said_so() -> None:
    alike = blocks("ddp_buckets", ddp_bucket_sizes=[size(None, 1000), size(1.0, 999, is_within=False)])
    assert [text.split(";")[-1] for text in said(alike)] == [
        " no other size of buckets would shorten it noticeably.",
        "Some sizes lie outside of those that were measured: there the prediction extrapolates.",
    ]
    unknown = blocks("ddp_buckets", ddp_bucket_sizes=[size(None, 1000, lacks="No fit.")])
    assert said(unknown) == ["No fit."]


def test_layers_have_bars_of_computing_and_what_is_exposed() -> None:
    found = blocks("layer_communication")
    assert said(found) == [
        "The 2 layers communicate for 40.0 % of the time in which they compute or communicate, both counted, "
        "on rank 0, which communicates longest; computing hides 50.0 % of it."
    ]
    plot = plot_of(found)
    assert plot.frame["length_ns"].tolist() == [30, 30, 5, 15]
    assert plot.frame["share"].tolist() == pytest.approx([0.25, 0.5] * 2)
    unknown = [{**row, "exposed_ns": None} for row in FULL["layer_communication"]]
    assert plot_of(blocks("layer_communication", layer_communication=unknown)).frame["part"].iloc[-1] == (
        "communication"
    )


def test_layers_that_do_not_communicate_are_no_section() -> None:
    alone = [layer(0, "forward", 30, 0, share=0.0), layer(1, "forward", 30, 0, share=0.0)]
    assert blocks("layer_communication", layer_communication=alone) == []
    assert blocks("layer_communication", layer_communication=FULL["layer_communication"][:1]) == []


def test_gathers_have_lead_stall_and_modules_ahead() -> None:
    found = blocks("gathers")
    first, note = said(found)
    assert first == (
        "Work waits for 1 of 2 gathers whose use is known, 90 ns in a step of a rank. They are launched 0 to "
        "1 modules ahead, 0.5 in the median. Computing hides 25.0 % of a gather in the mean."
    )
    assert note == "Of 1 gather: Nothing tells."
    assert plot_of(found).frame["length_ns"].tolist() == [50, 0, 0, 90]
    (table,) = (block for block in found if isinstance(block, Table))
    assert table.frame[["module", "lead_ns", "stall_ns", "ahead"]].to_numpy().tolist() == [
        ["block.0", 50, 0, "1"],
        ["block.1", -20, 90, "0"],
    ]
    assert said(blocks("gathers", gathers=[gather("a", 5, 0, 2)]))[0].startswith(
        "Work waits for 0 of 1 gather whose use is known. They are launched 2 modules ahead"
    )


@pytest.mark.parametrize(
    ("ranks", "labels", "beginning", "kernel_type", "told"),
    [
        (2, {"Kernel": 5}, None, None, True),
        (1, {"CpuOp": 5}, None, None, False),
        (1, {"CpuOp": 5}, "gloo:", None, True),
        (1, {"CpuOp": 5}, TOPICS[DATA_LOADING][0], None, False),
        (1, {"Kernel": 5}, None, "communication", True),
        (1, {"Kernel": 5}, "c10d::", None, False),
    ],
)
def test_kernels_or_names_tell_whether_one_rank_communicates(
    ranks: int, labels: dict[str, int], beginning: str | None, kernel_type: str | None, *, told: bool
) -> None:
    scope = Scope("r", RunWindow(0, 9, 0), WHOLE, drawn=True, ranks=ranks)
    about = pd.DataFrame({"beginning": [beginning], "kernel_type": [kernel_type]})
    details = pd.Series({"nodes_by_label": json.dumps(labels)})
    found = about[about.notna().any(axis=1)]
    assert communicates(details, scope, found) is told
