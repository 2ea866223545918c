"""Where a recording lies in its run: the step and phase of its peak, or why that is unknown; all of them."""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from tracegraph.vocabulary.memory import ALIGNED, NO_ROWS
from tracegraph.workbench.sections.blocks import Block, Words

_NO_ROWS = (
    "In which step that is cannot be told: the trace has no [memory] rows of such a device, which "
    "profile_memory=True records."
)
_DIFFERENT = (
    "In which step that is cannot be told: its allocations do not agree with the [memory] rows of the trace "
    "by time and size, so it is of another process or another time."
)
_MOST_SPANS = 40
"""How many stretches a picture names."""


def alignment_words(rows: pd.DataFrame) -> Iterator[Block]:
    """Say it in one sentence, from a row of `memory_alignment`; nothing of a run without a trace."""
    if rows.empty:
        return
    row: Mapping[Hashable, Any] = rows.iloc[0].to_dict()
    if row["state"] != ALIGNED:
        yield Words(_NO_ROWS if row["state"] == NO_ROWS else _DIFFERENT)
        return
    yield Words(
        f"{_place(row)} {int(row['matched']):,} of {int(row['compared']):,} changes of memory agree with the "
        f"[memory] rows of rank {int(row['rank'])} by time and size."
    )


def _place(row: Mapping[Hashable, Any]) -> str:
    if pd.isna(row["peak_at_ns"]):
        return "That is before the recording begins, so in no step of it."
    step = None if pd.isna(row["step"]) else f"step {int(row['step'])}"
    phase = None if pd.isna(row["phase"]) else str(row["phase"])
    found = ", in ".join(one for one in (step, phase) if one)
    return f"That is in {found}." if found else "That is in no step or phase of the run."


def aligned_spans(
    aligned: pd.DataFrame, steps: pd.DataFrame | None, phases: pd.DataFrame | None
) -> Sequence[tuple[str, int, int]]:
    """Return the steps and phases of the run on a recording's clock: names, starts and ends in ns.

    `aligned`: the recording's row of `memory_alignment`; `steps` and `phases`: the rows of these queries.
    Where they are too many for a picture, phases are left out, then steps, too. Empty unless it is aligned.
    """
    if aligned.empty or aligned["state"].iloc[0] != ALIGNED:
        return []
    rank, offset_ns = int(aligned["rank"].iloc[0]), int(aligned["offset_ns"].iloc[0])
    of_steps, of_phases = (
        [(f"{word}{name}", int(start) - offset_ns, int(end) - offset_ns) for name, start, end in spans]
        for word, spans in (("step ", _spans(steps, "number", rank)), ("", _spans(phases, "phase", rank)))
    )
    return next((spans for spans in ([*of_steps, *of_phases], of_steps) if len(spans) <= _MOST_SPANS), [])


def _spans(rows: pd.DataFrame | None, name: str, rank: int) -> Iterator[tuple[Any, int, int]]:
    if rows is None or rows.empty:
        return iter(())
    own = rows[rows["rank"] == rank]
    return zip(own[name], own["start_ns"], own["end_ns"], strict=True)
