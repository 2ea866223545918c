"""Says in which step and phase of its run the peak of a recording lies, or why that is unknown."""

from collections.abc import Hashable, Iterator, Mapping
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
