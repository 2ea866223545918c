"""The section on the use of the peak: what is said and drawn, and the options that tell of the job."""

from dataclasses import replace
from typing import Any

import click
import pandas as pd
import pytest
from click.testing import CliRunner
from report_data import make_findings

from tracegraph.base.errors import InputError
from tracegraph.cli.job_options import job_options
from tracegraph.queries.catalog import find
from tracegraph.queries.module import in_types
from tracegraph.queries.run_part import WHOLE
from tracegraph.queries.runs import RunWindow
from tracegraph.queries.shapes.peak import checks, losses
from tracegraph.queries.shapes.peak.checks import Untold, Value, judged
from tracegraph.queries.shapes.peak.job import Job
from tracegraph.vocabulary.device_peaks import PUBLISHED_MFU
from tracegraph.workbench.findings.findings import Findings
from tracegraph.workbench.sections.blocks import Block, Plot, Table, Words
from tracegraph.workbench.sections.section import Scope
from tracegraph.workbench.sections.utilisation import SECTION

A100 = {"device_name": "NVIDIA A100-SXM4-80GB", "dtype": "float16", "peak_flop_per_s": 312e12}
STEP = {"rank": 0, "step": 3, "step_ns": 10**9, "model_flops": 31_200 * 10**9, "source": "shapes"}
FULL = {**STEP, **A100, "counted_flops": 41_600 * 10**9, "recomputed_flops": 10_400 * 10**9}


def findings(*steps: dict[str, Any], parts: tuple[tuple[int, str, int], ...] = ()) -> Findings:
    """A report with these rows of `utilisation`, and of `peak_losses`: rank, part, ns."""
    rows = [
        {"rank": rank, "step": 3, "loss": loss, "domain": losses.DOMAIN_OF[loss], "duration_ns": ns}
        | {"share": ns / 100, "evidence": "recorded", "window_ns": 100}
        for rank, loss, ns in parts
    ]
    given = {"utilisation": list(steps), "peak_losses": rows}
    answers = {}
    for name, listed in given.items():
        columns = find(name).columns
        frame = pd.DataFrame(listed, columns=[column.name for column in columns])
        answers[name] = in_types(frame, columns)
    plain = make_findings()
    return replace(plain, answers={**plain.answers, **answers})


def words(blocks: list[Block]) -> list[str]:
    return [block.text for block in blocks if isinstance(block, Words)]


def test_what_all_steps_reach_is_said_in_a_sentence() -> None:
    second = {**FULL, "rank": 1, "model_flops": 15_600 * 10**9}
    assert words(list(SECTION.content(findings(FULL, second)))) == [
        "The model reaches 7.5 % of the peak of its GPUs (MFU; 312 TFLOP/s of float16 on NVIDIA "
        "A100-SXM4-80GB), over 1 step of 2 ranks. "
        f"Published training runs of large models reach {PUBLISHED_MFU}. "
        "With what runs once more inside backward passes it is 13.3 % (HFU)."
    ]


def test_without_a_peak_the_rate_is_said_and_what_lacks() -> None:
    sentence = "The peak of X for float16 is not known here: give --peak, in TFLOP/s."
    of_x = {**STEP, "device_name": "X", "source": f"shapes: {sentence}"}
    assert words(list(SECTION.content(findings(of_x, {**of_x, "step": 4})))) == [
        "The model runs at 31.2 TFLOP/s on a rank, over 2 steps of 1 rank.",
        sentence,
    ]


@pytest.mark.parametrize("ranks", [(0,), (0, 1)])
def test_the_parts_are_drawn_and_listed_in_their_order(ranks: tuple[int, ...]) -> None:
    of_each = ((losses.HOST, 60), (losses.USEFUL, 40))
    parts = tuple((rank, loss, ns) for rank in ranks for loss, ns in of_each)
    blocks = list(SECTION.content(findings(FULL, parts=parts)))
    (plot,) = (block for block in blocks if isinstance(block, Plot))
    drawn = plot.frame[plot.x.field].tolist()
    assert drawn == (
        [losses.USEFUL, losses.HOST] if len(ranks) == 1 else [f"rank {k // 2}" for k in range(4)]
    )
    # Two rows of one bar and one colour would be drawn over each other.
    assert not plot.frame.duplicated([plot.x.field, plot.colour]).any()
    assert set(plot.frame[plot.colour]) <= set(plot.colours)
    table = next(block for block in blocks if isinstance(block, Table))
    assert table.frame[["loss", "share"]].values.tolist() == [[losses.USEFUL, 0.4], [losses.HOST, 0.6]]


def test_parts_cost_gpu_hours_a_day_where_the_size_of_the_job_is_said() -> None:
    parts = ((0, losses.HOST, 60), (0, losses.USEFUL, 40))
    sized = replace(findings(FULL, parts=parts), job=Job(gpus=10))
    table = next(block for block in SECTION.content(sized) if isinstance(block, Table))
    assert table.frame["_hours"].tolist() == [96.0, 144.0]
    assert "GPU-hours a day" in [column.title for column in table.columns]


def test_checks_that_failed_come_first_with_what_to_do() -> None:
    found = {checks.TENSOR_CORES: Untold("Give --device."), checks.SMALL: Value(0.3)}
    rows = [judged(check, found.get(check, Value(0.01))) for check in checks.CHECKS]
    plain = findings(FULL)
    listed = replace(plain, answers={**plain.answers, "mfu_checklist": pd.DataFrame(rows)})
    (table,) = (one for one in SECTION.content(listed) if isinstance(one, Table) and "look at" in one.caption)
    first, last = (table.frame.iloc[place] for place in (0, -1))
    assert first[["check", "state", "value", "_threshold"]].tolist() == [
        "small products",
        "failed",
        0.3,
        "at most 10.0 %",
    ]
    assert first["_said"].endswith(
        "fill the device. Use a larger batch, batch products that are alike, or split "
        "the model over fewer GPUs."
    )
    assert (last["check"], last["_threshold"]) == ("tensor cores", "at least 50.0 %")
    assert last["_said"].endswith("use tensor cores. Give --device.")


def test_without_gpu_work_it_is_left_out() -> None:
    assert list(SECTION.content(findings())) == []
    assert list(SECTION.content(make_findings())) == []


def test_it_is_asked_for_a_page_or_where_something_is_said_of_the_model() -> None:
    scope = Scope("r", RunWindow(1, 2, 0), WHOLE, drawn=False)
    assert SECTION.asks(replace(scope, job=Job(gpus=8))) == {}
    between = {"run": "r", "start_ns": 1, "end_ns": 2}
    assert SECTION.asks(replace(scope, job=Job(tokens=9, peak=2.5))) == {
        "utilisation": {**between, "tokens": 9, "peak": 2.5},
        "peak_losses": {**between, "peak": 2.5},
        "mfu_checklist": {**between, "peak": 2.5},
    }
    assert set(SECTION.asks(replace(scope, drawn=True))) == {"utilisation", "peak_losses", "mfu_checklist"}


def test_the_options_make_one_job() -> None:
    found: list[Job] = []

    @click.command()
    @job_options
    def command(*, job: Job) -> None:
        found.append(job)

    said = [
        "--gpus",
        "8",
        "--batch",
        "4",
        "--tokens",
        "8192",
        "--params",
        "7",
        "--peak",
        "312",
        "--device",
        "A100",
        "--link",
        "NDR",
    ]
    assert CliRunner().invoke(command, said).exit_code == 0
    assert found == [Job(8, 4, 8192, 7, None, 312.0, "A100", "NDR")]
    assert CliRunner().invoke(command, ["--peak", "0"]).exit_code == 2
    assert CliRunner().invoke(command, ["--model", "nowhere.json"]).exit_code == 2
    assert isinstance(CliRunner().invoke(command, ["--link", "slow"]).exception, InputError)
