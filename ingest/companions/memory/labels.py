"""Annotations of a trace as labels of its memory: what was in use at the start and end of each, and most."""

import numpy as np
import pandas as pd

from tracegraph.ingest.arrays import Ints
from tracegraph.ingest.causal.steps.phase_names import phase_of
from tracegraph.ingest.companions.memory.levels import Peak
from tracegraph.ingest.companions.memory.lives import Lives
from tracegraph.ingest.companions.memory.stacks import ENGINE, MODULE, OPTIMIZER, UNKNOWN_STACK
from tracegraph.ingest.companions.memory.trace_stacks import OPTIMIZER_STEP
from tracegraph.ingest.text_columns import read_texts, with_role
from tracegraph.ingest.trace import TraceFile
from tracegraph.vocabulary import phases
from tracegraph.vocabulary.categories import Role
from tracegraph.vocabulary.step_names import step_number

LABELS = ("name", "start_ns", "end_ns", "start_bytes", "end_bytes", "peak_bytes")
_PHASES = {ENGINE: phases.BACKWARD, OPTIMIZER: phases.OPTIMIZER, MODULE: phases.FORWARD}


def marks_in(trace: TraceFile, at_ns: Ints) -> pd.DataFrame:
    """Return the annotations on threads by time, in the columns of `Lives.marks`; `at_ns`: of the entries."""
    name = read_texts(trace.events["name"])
    # In old files the steps of optimizers are operators.
    steps = np.array([str(one).startswith(OPTIMIZER_STEP) for one in name.values], dtype=bool)
    chosen = with_role(read_texts(trace.events["category"]), Role.ANNOTATION) | name.matching(steps)
    start, end = (trace.events[column].to_numpy()[chosen] for column in ("start_ns", "end_ns"))
    begin = np.searchsorted(at_ns, start, "left")
    last = np.searchsorted(at_ns, end, "right") - 1
    columns = {"begin": begin, "end": last, "start_ns": start, "end_ns": end, "name": name[chosen]}
    return pd.DataFrame(columns).sort_values("start_ns", ignore_index=True, kind="stable")


def labels_of(lives: Lives, running: pd.DataFrame) -> pd.DataFrame:
    """Return each annotation, with the bytes in use at its start and end, and at most in it."""
    marks = lives.marks
    if marks.empty:
        return pd.DataFrame(columns=list(LABELS))
    total = running.drop(columns="at_ns").sum(axis=1)
    # The level before each entry stands at its place, and the one after the last behind them.
    level = total.reindex(range(-1, lives.entries)).ffill().fillna(0).to_numpy(dtype=np.int64)
    begin, after = marks["begin"].to_numpy(), marks["end"].to_numpy() + 1
    bounds = np.column_stack([begin, after + 1]).ravel()
    most = np.maximum.reduceat(np.append(level, 0), bounds)[::2]
    told = marks.assign(start_bytes=level[begin], end_bytes=level[after], peak_bytes=most)
    return told[list(LABELS)]


def step_of(lives: Lives, peak: Peak) -> str | None:
    """Name the step of the profiler in which the peak lies; None for none."""
    names = _around(lives, peak)["name"]
    return next((str(name) for name in names if step_number(str(name)) is not None), None)


def phase_at(lives: Lives, blocks: pd.DataFrame, peak: Peak) -> str | None:
    """Find the phase of the peak, by who allocates there, else by an annotation; None if unknown."""
    there = blocks.loc[blocks["begin"] == peak.place, "stack"].dropna()
    kinds = [lives.stacks.get(int(number), UNKNOWN_STACK).kind for number in there]
    known = [_PHASES[kind] for kind in kinds if kind in _PHASES]
    named = (phase_of(str(name), is_annotation=True) for name in _around(lives, peak)["name"][::-1])
    return next(iter([*known, *filter(None, named)]), None)


def _around(lives: Lives, peak: Peak) -> pd.DataFrame:
    marks = lives.marks
    return marks[(marks["begin"] <= peak.place) & (marks["end"] >= peak.place)]
