"""What the ranks of a pipeline do, in which steps, and which stage of it each of them is."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from tracegraph.queries.shapes.derived_query import Values
from tracegraph.queries.shapes.frame_rows import records
from tracegraph.queries.shapes.peak.step_windows import step_windows
from tracegraph.queries.shapes.peak.time_sums import Union, unfolded
from tracegraph.vocabulary import collectives
from tracegraph.vocabulary.collectives import ON_THREADS
from tracegraph.vocabulary.kernel_types import COMMUNICATION, COMPUTATION
from tracegraph.vocabulary.phases import BACKWARD, FORWARD

MESSAGES = {
    "messages": "\n".join(f"{library}{kind}" for library in ON_THREADS for kind in collectives.MESSAGES),
    "talking": "\n".join((collectives.CALLS, *ON_THREADS)),
    "kinds": "\n".join(collectives.MESSAGES),
}
"""What `stage_work` takes for messages between single ranks, and for operators that communicate."""


@dataclass(frozen=True)
class Stage:
    """What a rank does; `messages` begin once both sides have come, if they `are_known`.

    `backward`: its backward passes, in order.
    """

    computing: Union
    messages: Union
    are_known: bool
    backward: Union


@dataclass(frozen=True)
class StepOfStages:
    """A step of a pipeline, from the first work of any stage to the last, ns.

    `spans`: what each rank computes in it, by their place in the pipeline. `micro_batches`: None if unknown.
    """

    step: Any
    first: int
    last: int
    spans: dict[int, Union]
    micro_batches: int | None


def stages_of(work: pd.DataFrame, phases: pd.DataFrame) -> dict[int, Stage]:
    """Take the ranks that send messages to single others: none without messages, or with one rank."""
    found = {rank: _stage(rank, work[work["rank"].eq(rank)], phases) for rank in sorted(set(work["rank"]))}
    found = {rank: one for rank, one in found.items() if len(one.messages.begin)}
    return found if len(found) > 1 else {}


def steps_of_stages(
    values: Values, stages: dict[int, Stage], steps: pd.DataFrame, phases: pd.DataFrame
) -> Iterator[StepOfStages]:
    """Yield the steps in which every stage computes.

    All stages of a step have the same span, from the first work of any to the last, because formulas count
    the bubble so.
    """
    if not stages:
        return
    windows = step_windows(values, steps, stages)
    passes = phases[phases["phase"].isin([FORWARD, BACKWARD])]
    for step, own in windows.groupby("step", dropna=False, sort=True):
        spans = {}
        for window in records(own):
            start, end = _passes(passes[passes["rank"].eq(window["rank"])], window)
            cut = cut_to(stages[window["rank"]].computing, start, end)
            if len(cut.begin):
                spans[window["rank"]] = cut
        if len(spans) < len(stages):
            continue
        batches = _micro_batches(values, own, passes)
        order = sorted(spans, key=lambda rank: _begun(spans[rank], batches or 1))
        yield StepOfStages(
            None if pd.isna(step) else step,
            int(min(one.begin[0] for one in spans.values())),
            int(max(one.end[-1] for one in spans.values())),
            {rank: spans[rank] for rank in order},
            batches,
        )


def cut_to(stretches: Union, start: int, end: int) -> Union:
    """Keep what lies between two times, ns."""
    kept = (stretches.begin < end) & (stretches.end > start)
    return Union(np.maximum(stretches.begin[kept], start), np.minimum(stretches.end[kept], end))


def _stage(rank: int, work: pd.DataFrame, phases: pd.DataFrame) -> Stage:
    """Take what a rank computes on its GPUs, or on threads where it has none."""
    computes = work[work["what"].eq(COMPUTATION)]
    computes = computes[computes["on_gpu"].eq(bool(computes["on_gpu"].any()))]
    messages = work[work["what"].eq(COMMUNICATION)]
    backward = phases[phases["rank"].eq(rank) & phases["phase"].eq(BACKWARD)]
    return Stage(
        Union(unfolded(computes["begin_ns"]), unfolded(computes["end_ns"])),
        Union(unfolded(messages["begin_ns"]), unfolded(messages["end_ns"])),
        bool(messages["is_known"].all()),
        Union(backward["start_ns"].to_numpy("int64"), backward["window_end_ns"].to_numpy("int64")),
    )


def _passes(own: pd.DataFrame, window: dict[str, Any]) -> tuple[int, int]:
    """Return from when to when forward and backward passes of a rank run in a step: not the optimizer."""
    start, end = int(window["start_ns"]), int(window["end_ns"])
    inside = own[(own["start_ns"] >= start) & (own["start_ns"] < end)]
    if not inside["phase"].eq(BACKWARD).any():
        return start, end
    return int(inside["start_ns"].min()), int(inside["window_end_ns"].max())


def _begun(computing: Union, batches: int) -> int:
    """Return when a quarter of a micro-batch is done: what prepares its buffers before does not count."""
    lengths = np.cumsum(computing.end - computing.begin)
    place = int(np.searchsorted(lengths, lengths[-1] / (4 * batches)))
    return int(computing.begin[place])


def _micro_batches(values: Values, windows: pd.DataFrame, passes: pd.DataFrame) -> int | None:
    """Count backward passes of a rank in the step, the most of any; null if that is one or none.

    Forward passes are counted where there are half as many: zero-bubble schedules go back twice, for inputs
    and for weights. Else they tell less, since those that follow each other may be told as one.
    """
    if values.get("micro_batches") is not None:
        return int(values["micro_batches"])
    forward, backward = (_most_passes(windows, passes, name) for name in (FORWARD, BACKWARD))
    found = forward if forward > 1 and backward == 2 * forward else backward
    found //= int(values["chunks"])
    return found if found > 1 else None


def _most_passes(windows: pd.DataFrame, passes: pd.DataFrame, name: str) -> int:
    counted = [0]
    for rank, start, end in windows[["rank", "start_ns", "end_ns"]].itertuples(index=False):
        own = passes[passes["rank"].eq(rank) & passes["phase"].eq(name)]
        counted.append(int(((own["start_ns"] >= start) & (own["start_ns"] < end)).sum()))
    return max(counted)
