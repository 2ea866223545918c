"""What each stage of a pipeline does when in one step: for a picture of its schedule."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from tracegraph.queries.module import Column, Parameter
from tracegraph.queries.shapes.derived_query import Values
from tracegraph.queries.shapes.parallel.stages import Stage, StepOfStages, cut_to, stages_of, steps_of_stages
from tracegraph.queries.shapes.peak.time_sums import Union
from tracegraph.vocabulary.phases import BACKWARD, FORWARD

TRANSFER, WAITING, COMPUTING = "transfer", "waiting", "computing"
"""What a stage does beside its passes; `computing` where no backward pass tells them apart."""
TIMELINE_PARAMETERS = (
    Parameter(
        "parts", "INTEGER", "pauses shorter than this part of the step join work", (1, 1_000_000), 1_000
    ),
)
TIMELINE_COLUMNS = (
    Column("rank", "INTEGER", False, "rank of the process"),
    Column("stage", "INTEGER", False, "its place in the pipeline, from 0"),
    Column("step", "INTEGER", True, "number of the step, null for the whole window where there are no steps"),
    Column(
        "doing",
        "STRING",
        False,
        f"`{FORWARD}`, `{BACKWARD}`, `{COMPUTING}` where these are not told apart, `{TRANSFER}` once both "
        f"sides have come, or `{WAITING}`",
    ),
    Column("start_ns", "INTEGER", False, "its start, ns"),
    Column("end_ns", "INTEGER", False, "its end, ns"),
)
"""Columns of `pipeline_timeline`."""


def pipeline_timeline(
    values: Values, work: pd.DataFrame, steps: pd.DataFrame, phases: pd.DataFrame
) -> pd.DataFrame:
    """List what each stage does in one step, from the rows of `stage_work`, `steps` and `phases`."""
    stages = stages_of(work, phases)
    # How many micro-batches there are decides nothing but which stage is which.
    asked = {"micro_batches": None, "chunks": 1, **values}
    found = sorted(steps_of_stages(asked, stages, steps, phases), key=lambda one: one.last - one.first)
    rows = _rows(found[(len(found) - 1) // 2], stages, int(values["parts"])) if found else iter(())
    return pd.DataFrame(rows, columns=[column.name for column in TIMELINE_COLUMNS])


def _rows(one: StepOfStages, stages: dict[int, Stage], parts: int) -> Iterator[dict[str, Any]]:
    shortest = (one.last - one.first) // parts
    for place, (rank, spans) in enumerate(one.spans.items()):
        stage = stages[rank]
        for doing, start, end in _doings(spans, stage, one.first, one.last, shortest):
            yield {
                **{"rank": rank, "stage": place, "step": one.step},
                **{"doing": doing, "start_ns": start, "end_ns": end},
            }


def _doings(
    spans: Union, stage: Stage, first: int, last: int, shortest: int
) -> Iterator[tuple[str, int, int]]:
    """Yield what a stage does one after the other, so that the whole span is covered once."""
    back = cut_to(stage.backward, first, last)
    known = cut_to(stage.messages, first, last) if stage.are_known else cut_to(stage.messages, first, first)
    at = np.unique(
        np.concatenate([[first, last], *((one.begin, one.end) for one in (spans, back, known))], axis=None)
    )
    begin, end = at[:-1], at[1:]
    in_passes = [FORWARD, BACKWARD] if len(back.begin) else [COMPUTING, COMPUTING]
    computes, returns, sends = (one.inside(begin, end) > 0 for one in (spans, back, known))
    doing = np.select(
        [computes & returns, computes, sends], [in_passes[1], in_passes[0], TRANSFER], WAITING
    ).astype(object)
    current: tuple[str, int] | None = None
    for what, start, until in zip(doing, begin.tolist(), end.tolist(), strict=True):
        pause = what in (WAITING, TRANSFER) and until - start < shortest
        if current is None:
            current = (what, start)
        elif what != current[0] and not pause:
            yield current[0], current[1], start
            current = (what, start)
    if current is not None:
        yield current[0], current[1], last
