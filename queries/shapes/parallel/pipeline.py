"""The stages of a pipeline, and how long each of them neither computes nor transfers."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from tracegraph.queries.module import Column, Parameter
from tracegraph.queries.shapes.derived_query import Values
from tracegraph.queries.shapes.parallel.stages import Stage, StepOfStages, stages_of, steps_of_stages
from tracegraph.queries.shapes.peak.time_sums import Union

PIPELINE_PARAMETERS = (
    Parameter("micro_batches", "INTEGER", "of a step; null: counted", (1, 1_000_000), None, True),
    Parameter(
        "chunks", "INTEGER", "parts of the model on each stage, of an interleaved schedule", (1, 1_000), 1
    ),
)
PIPELINE_COLUMNS = (
    Column("rank", "INTEGER", False, "rank of the process"),
    Column("stage", "INTEGER", False, "its place in the pipeline, from 0, by when it begins to compute"),
    Column("step", "INTEGER", True, "number of the step, null for the whole window where there are no steps"),
    Column("span_ns", "INTEGER", False, "from the first to the last work of any stage in the step, ns"),
    Column(
        "micro_batches", "INTEGER", True, "micro-batches of the step; null where neither rows nor you say it"
    ),
    Column("forward_ns", "INTEGER", False, "computing outside backward passes, ns"),
    Column("backward_ns", "INTEGER", True, "computing in backward passes, null where none is found, ns"),
    Column(
        "transfer_ns",
        "INTEGER",
        True,
        "messages beside computing once both sides have come, null: unknown, ns",
    ),
    Column("bubble_ns", "INTEGER", False, "rest of the span: the stage neither computes nor transfers, ns"),
    Column("bubble_share", "FLOAT", False, "the same as a share of the span, 0..1"),
    Column(
        "expected_1f1b",
        "FLOAT",
        True,
        "(p - 1)/(m + p - 1) of p even stages and m micro-batches, GPipe's, too",
    ),
    Column(
        "expected_interleaved",
        "FLOAT",
        True,
        "(p - 1)/(v·m + p - 1) with v chunks a stage; null for one chunk",
    ),
    Column(
        "expected_zero_bubble",
        "FLOAT",
        True,
        "that of ZB-H1, whose passes for weights fill the end; half of a backward pass is taken to be that",
    ),
    Column("excess", "FLOAT", True, "bubble share less that expected of the schedule"),
    Column(
        "is_most", "BOOLEAN", False, "whether transfers may be in the bubble: the other sides are not known"
    ),
)
"""Columns of `pipeline`."""


def pipeline(values: Values, work: pd.DataFrame, steps: pd.DataFrame, phases: pd.DataFrame) -> pd.DataFrame:
    """Measure the bubble of each stage and step, from the rows of `stage_work`, `steps` and `phases`.

    Without messages between single ranks, or with one rank, there are no rows.
    """
    stages = stages_of(work, phases)
    rows = [
        row for one in steps_of_stages(values, stages, steps, phases) for row in _rows(values, one, stages)
    ]
    found = pd.DataFrame(rows, columns=[column.name for column in PIPELINE_COLUMNS])
    return found.sort_values(["step", "stage"], kind="stable", ignore_index=True)


def _rows(values: Values, one: StepOfStages, stages: dict[int, Stage]) -> Iterator[dict[str, Any]]:
    """Yield a row for each stage in one step."""
    times = [_times(spans, stages[rank], one.first, one.last) for rank, spans in one.spans.items()]
    forward = sum(row["forward_ns"] for row in times)
    backward = (
        None if any(row["backward_ns"] is None for row in times) else sum(r["backward_ns"] for r in times)
    )
    for place, (rank, row) in enumerate(zip(one.spans, times, strict=True)):
        expected = _expected(values, len(times), one.micro_batches, row["bubble_share"])
        if expected and backward:
            expected["expected_zero_bubble"] = zero_bubble(
                len(times), expected["micro_batches"], forward, backward
            )
        yield {"rank": rank, "stage": place, "step": one.step, **row, **expected}


def _times(computing: Union, stage: Stage, first: int, last: int) -> dict[str, Any]:
    begin, end = np.array([first]), np.array([last])
    computes = int(computing.inside(begin, end)[0])
    either = computes
    if stage.are_known:
        either = int(computing.joined(stage.messages.begin, stage.messages.end).inside(begin, end)[0])
    spent = stage.backward
    back = int(computing.inside(spent.begin, spent.end).sum()) if len(spent.begin) else None
    bubble = last - first - either
    return {
        "span_ns": last - first,
        "forward_ns": computes - (back or 0),
        "backward_ns": back,
        "transfer_ns": either - computes if stage.are_known else None,
        "bubble_ns": bubble,
        "bubble_share": bubble / (last - first),
        "is_most": not stage.are_known,
    }


def _expected(values: Values, stages: int, batches: int | None, share: float) -> dict[str, Any]:
    """Say what the bubble would be if all stages took the same time.

    GPipe (Huang et al., 2019), 1F1B and interleaved chunks (Narayanan et al., SC 2021, section 2.2).
    """
    if batches is None:
        return {}
    chunks, others = int(values["chunks"]), stages - 1
    plain = others / (batches + others)
    interleaved = others / (chunks * batches + others) if chunks > 1 else None
    return {
        "micro_batches": batches,
        "expected_1f1b": plain,
        "expected_interleaved": interleaved,
        "excess": share - (plain if interleaved is None else interleaved),
    }


def zero_bubble(stages: int, batches: int, forward_ns: float, backward_ns: float) -> float:
    """Return the bubble of ZB-H1 as a share of the span, 0..1.

    Its bubble is (p - 1)(F + B - W) for passes of F forward, B backward for inputs and W for weights (Qi et
    al., Zero Bubble Pipeline Parallelism, 2023, table 2). Traces do not tell B from W, so that each is half
    of a backward pass and the bubble (p - 1)F. ZB-H2 of the same authors has no bubble at all, at the price
    of more memory.

    Parameters
    ----------
    forward_ns, backward_ns
        Forward and backward passes of all stages in a step, ns.
    """
    of_one = forward_ns / (stages * batches)
    bubble = (stages - 1) * of_one
    return bubble / ((forward_ns + backward_ns) / stages + bubble)
