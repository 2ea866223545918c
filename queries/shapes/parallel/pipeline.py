"""The stages of a pipeline, and how long each of them neither computes nor transfers."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from tracegraph.queries.module import Column, Parameter
from tracegraph.queries.shapes.derived_query import Values
from tracegraph.queries.shapes.frame_rows import records
from tracegraph.queries.shapes.peak.step_windows import step_windows
from tracegraph.queries.shapes.peak.time_sums import Union, unfolded
from tracegraph.vocabulary.collectives import ON_THREADS
from tracegraph.vocabulary.kernel_types import COMMUNICATION, COMPUTATION
from tracegraph.vocabulary.phases import BACKWARD, FORWARD

_KINDS = ("send", "recv", "send_recv")
MESSAGES = {
    "messages": "\n".join(f"{library}{kind}" for library in ON_THREADS for kind in _KINDS),
    "talking": "\n".join(("c10d::", *ON_THREADS)),
    "kinds": "\n".join(_KINDS),
}
"""What `stage_work` takes for messages between single ranks, and for operators that communicate."""
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
    Column("excess", "FLOAT", True, "bubble share less that expected of the schedule"),
    Column(
        "is_most", "BOOLEAN", False, "whether transfers may be in the bubble: the other sides are not known"
    ),
)
"""Columns of `pipeline`."""


@dataclass(frozen=True)
class _Stage:
    """What a rank does; `messages` begin once both sides have come, if they `are_known`."""

    computing: Union
    messages: Union
    are_known: bool


def pipeline(values: Values, work: pd.DataFrame, steps: pd.DataFrame, phases: pd.DataFrame) -> pd.DataFrame:
    """Measure the bubble of each stage and step, from the rows of `stage_work`, `steps` and `phases`.

    Ranks that send messages to single others are stages. All stages of a step have the same span, from the
    first work of any to the last, because formulas count the bubble so. Without messages, or with one rank,
    there are no rows.
    """
    stages = {rank: _stage(work[work["rank"].eq(rank)]) for rank in sorted(set(work["rank"]))}
    stages = {rank: one for rank, one in stages.items() if len(one.messages.begin)}
    rows: list[dict[str, Any]] = []
    if len(stages) > 1:
        windows = step_windows(values, steps, stages)
        passes = phases[phases["phase"].isin([FORWARD, BACKWARD])]
        for step, own in windows.groupby("step", dropna=False, sort=True):
            rows += _rows(values, None if pd.isna(step) else step, own, stages, passes)
    found = pd.DataFrame(rows, columns=[column.name for column in PIPELINE_COLUMNS])
    return found.sort_values(["step", "stage"], kind="stable", ignore_index=True)


def _stage(work: pd.DataFrame) -> _Stage:
    """Take what a rank computes on its GPUs, or on threads where it has none."""
    computes = work[work["what"].eq(COMPUTATION)]
    computes = computes[computes["on_gpu"].eq(bool(computes["on_gpu"].any()))]
    messages = work[work["what"].eq(COMMUNICATION)]
    return _Stage(
        Union(unfolded(computes["begin_ns"]), unfolded(computes["end_ns"])),
        Union(unfolded(messages["begin_ns"]), unfolded(messages["end_ns"])),
        bool(messages["is_known"].all()),
    )


def _rows(
    values: Values,
    step: Any,
    windows: pd.DataFrame,
    stages: dict[int, _Stage],
    passes: pd.DataFrame,
) -> Iterator[dict[str, Any]]:
    """Yield a row for each stage in one step."""
    spans = {}
    for window in records(windows):
        own = passes[passes["rank"].eq(window["rank"])]
        start, end = _passes(own, window)
        cut = _inside(stages[window["rank"]].computing, start, end)
        if len(cut.begin):
            spans[window["rank"]] = cut
    if len(spans) < len(stages):
        return
    first, last = min(one.begin[0] for one in spans.values()), max(one.end[-1] for one in spans.values())
    batches = _micro_batches(values, windows, passes)
    order = sorted(spans, key=lambda rank: _begun(spans[rank], batches or 1))
    for place, rank in enumerate(order):
        backward = passes[passes["rank"].eq(rank) & passes["phase"].eq(BACKWARD)]
        times = _times(spans[rank], stages[rank], backward, int(first), int(last))
        expected = _expected(values, len(order), batches, times["bubble_share"])
        yield {"rank": rank, "stage": place, "step": step, **times, **expected}


def _passes(own: pd.DataFrame, window: dict[str, Any]) -> tuple[int, int]:
    """Return from when to when forward and backward passes of a rank run in a step: not the optimizer."""
    start, end = int(window["start_ns"]), int(window["end_ns"])
    inside = own[(own["start_ns"] >= start) & (own["start_ns"] < end)]
    if not inside["phase"].eq(BACKWARD).any():
        return start, end
    return int(inside["start_ns"].min()), int(inside["window_end_ns"].max())


def _inside(stretches: Union, start: int, end: int) -> Union:
    kept = (stretches.begin < end) & (stretches.end > start)
    return Union(np.maximum(stretches.begin[kept], start), np.minimum(stretches.end[kept], end))


def _begun(computing: Union, batches: int) -> int:
    """Return when a quarter of a micro-batch is done: what prepares its buffers before does not count."""
    lengths = np.cumsum(computing.end - computing.begin)
    place = int(np.searchsorted(lengths, lengths[-1] / (4 * batches)))
    return int(computing.begin[place])


def _micro_batches(values: Values, windows: pd.DataFrame, passes: pd.DataFrame) -> int | None:
    """Count backward passes of a rank in the step, the most of any; null if that is one or none."""
    if values.get("micro_batches") is not None:
        return int(values["micro_batches"])
    counted = [0]
    for rank, start, end in windows[["rank", "start_ns", "end_ns"]].itertuples(index=False):
        own = passes[passes["rank"].eq(rank) & passes["phase"].eq(BACKWARD)]
        counted.append(int(((own["start_ns"] >= start) & (own["start_ns"] < end)).sum()))
    found = max(counted) // int(values["chunks"])
    return found if found > 1 else None


def _times(computing: Union, stage: _Stage, backward: pd.DataFrame, first: int, last: int) -> dict[str, Any]:
    begin, end = np.array([first]), np.array([last])
    computes = int(computing.inside(begin, end)[0])
    either = computes
    if stage.are_known:
        either = int(computing.joined(stage.messages.begin, stage.messages.end).inside(begin, end)[0])
    spent = Union(backward["start_ns"].to_numpy("int64"), backward["window_end_ns"].to_numpy("int64"))
    back = int(computing.inside(spent.begin, spent.end).sum()) if len(backward) else None
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

    GPipe (Huang et al., 2019), 1F1B and interleaved chunks (Narayanan et al., SC 2021, section 2.2). A
    zero-bubble schedule can do without any, so that it has no other number than the measured one.
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
