"""Chooses which two windows are compared if a caller names runs, and perhaps ranks and steps."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import pandas as pd

from tracegraph.base.errors import InputError
from tracegraph.queries.run_part import RunPart
from tracegraph.queries.runs import Ask, RunWindow, find_window
from tracegraph.queries.shapes.path.step_paths import job_steps
from tracegraph.vocabulary.integrity_codes import DOUBTFUL
from tracegraph.workbench.findings.step_summary import summarise_steps
from tracegraph.workbench.text.text import MOST_RANKS, plural, the_first

_OTHER_RANKS = (
    "where a rank waits for others, the path of its step goes over them, and all end a step together: what a "
    "rank itself does longer or shorter is told by what runs, not by the path"
)


@dataclass(frozen=True)
class Side:
    """A or B: a run, one of its ranks, or a step; `rank` None: all ranks, `step` None: the whole run."""

    run: str
    rank: int | None = None
    step: int | None = None

    @property
    def title(self) -> str:
        """The run's name, with rank and step if the side has them."""
        parts = [self.run]
        parts += [] if self.rank is None else [f"rank {self.rank}"]
        parts += [] if self.step is None else [f"step {self.step}"]
        return ", ".join(parts)

    @property
    def values(self) -> Mapping[str, object]:
        """The parameters of queries about the side."""
        return {name: value for name in ("run", "rank", "step") if (value := getattr(self, name)) is not None}


@dataclass(frozen=True)
class Scope:
    """Two windows that can be compared; without a window a side has no path of its own, only events.

    `notes`: what a reader must know about what is compared.
    """

    a: Side
    b: Side
    window_a: RunWindow | None
    window_b: RunWindow | None
    notes: Sequence[str]

    @property
    def lengths_ns(self) -> tuple[int, int] | None:
        """Lengths of the windows of A and B, ns; None if a side has no window."""
        if self.window_a is None or self.window_b is None:
            return None
        first, second = (window.end_ns - window.start_ns for window in (self.window_a, self.window_b))
        return first, second


def choose(ask: Ask, a: Side, b: Side) -> Scope:
    """Choose the windows of two sides.

    Without steps these are whole runs. If the runs have different numbers of steps, or a rank of several is
    named, the step of each that is nearest to the median is taken.

    Raises
    ------
    InputError
        A and B are the same, or there is no such rank or step.
    """
    if a == b:
        raise InputError(
            f"{a.title} is the same as itself", "name another run, or compare --rank R:R or --step N:M"
        )
    files = [ask("traces", {"run": side.run}) for side in (a, b)]
    for side, of_run in zip((a, b), files, strict=True):
        _check_rank(side, of_run)
    a, b, notes = _with_steps(ask, a, b, files)
    windows = [_window(ask, side, of_run) for side, of_run in zip((a, b), files, strict=True)]
    odd = [_odd(ask, run) for run in dict.fromkeys((a.run, b.run))]
    about = (*_of_detail(files), *_of_hardware(files, a, b), *filter(None, odd))
    return Scope(a, b, windows[0], windows[1], (*notes, *about))


def _odd(ask: Ask, run: str) -> str:
    """Say what a run's files lost or contradict, by its codes: a difference may come from that alone."""
    found = json.loads(ask("run_details", {"run": run})["integrity"].iloc[0] or "[]")
    codes = ", ".join(dict.fromkeys(str(one["code"]) for one in found if one["level"] in DOUBTFUL))
    return f"the files of {run} are not whole or contradict themselves: {codes}" if codes else ""


def _check_rank(side: Side, files: pd.DataFrame) -> None:
    ranks = files["rank"].tolist()
    if side.rank is not None and side.rank not in ranks:
        raise InputError(
            f"run {side.run!r} has no rank {side.rank}", f"ranks: {', '.join(map(str, sorted(ranks)))}"
        )


def _window(ask: Ask, side: Side, files: pd.DataFrame) -> RunWindow | None:
    """Find the window of a side; None for one rank of several without a step: the path spans all ranks."""
    if side.step is None and side.rank is not None and len(files) > 1:
        return None
    return find_window(ask, side.run, RunPart(side.step, rank=None if side.step is None else side.rank))


def _with_steps(
    ask: Ask, a: Side, b: Side, files: Sequence[pd.DataFrame]
) -> tuple[Side, Side, Sequence[str]]:
    """Choose the steps that stand for both sides, if whole runs cannot be compared."""
    one_of_several = any(
        side.rank is not None and len(of_run) > 1 for side, of_run in zip((a, b), files, strict=True)
    )
    if a.step is not None or b.step is not None:
        return a, b, (_OTHER_RANKS,) if one_of_several else ()
    steps = [_steps(ask, side) for side in (a, b)]
    counts = [of_side.nunique() for of_side in steps]
    if not all(counts):
        return a, b, _without_steps(a, b, counts, one_of_several=one_of_several)
    if counts[0] == counts[1] and not one_of_several:
        return a, b, ()
    first = _typical(ask, a)
    second = first if a.run == b.run and first in set(steps[1]) else _typical(ask, b)
    why = (
        f"A has {plural(counts[0], 'step')} and B {counts[1]:,}"
        if counts[0] != counts[1]
        else "the path of a whole run goes over all its ranks"
    )
    note = f"{why}: compared are one step of each, nearest to the median: {first} of A, {second} of B"
    notes = (note, _OTHER_RANKS) if one_of_several else (note,)
    return replace(a, step=first), replace(b, step=second), notes


def _without_steps(a: Side, b: Side, counts: Sequence[int], *, one_of_several: bool) -> Sequence[str]:
    notes = []
    if any(counts):
        stepless = "AB"[counts.index(0)]
        notes.append(f"{stepless} has no steps: compared is all that either recorded, whatever that is")
    if one_of_several:
        notes.append("the path of a whole run goes over all its ranks: that of one rank alone needs a step")
    return notes


def _steps(ask: Ask, side: Side) -> "pd.Series[int]":
    rows = ask("steps", {"run": side.run})
    return rows["number"] if side.rank is None else rows.loc[rows["rank"] == side.rank, "number"]


def _typical(ask: Ask, side: Side) -> int:
    """Find the step nearest to the median: of a rank, or of the job, each on the rank that ends it last."""
    rows = ask("step_paths", {"run": side.run})
    rows = job_steps(rows) if side.rank is None else rows[rows["rank"] == side.rank]
    summary = summarise_steps(rows)
    return int(rows["number"].iloc[0]) if summary is None else summary.typical


def _of_detail(files: Sequence[pd.DataFrame]) -> Sequence[str]:
    """Note of which ranks the work is known, if it is not known of all on both sides."""
    full = [sorted(of_run.loc[~of_run["in_short"], "rank"].tolist()) for of_run in files]
    told = [
        f"{'all ranks' if len(ranks) == len(of_run) else f'ranks {the_first(ranks, MOST_RANKS)}'} of {side}"
        for side, ranks, of_run in zip("AB", full, files, strict=True)
    ]
    if all(len(ranks) == len(of_run) for ranks, of_run in zip(full, files, strict=True)):
        return []
    return [
        f"in full are {told[0]} and {told[1]}: names, numbers and times of work are of these alone, so they "
        "tell of a change only where both sides have the same ranks in full; lengths are of all ranks"
    ]


def _of_hardware(files: Sequence[pd.DataFrame], a: Side, b: Side) -> Sequence[str]:
    """Note what differs between the two besides what is compared: the hardware, the number of ranks."""
    notes = []
    devices = [
        sorted({name for text in of_run["devices"].dropna() for name in json.loads(text)}) for of_run in files
    ]
    if devices[0] != devices[1]:
        told = [", ".join(names) or "no GPU that the file names" for names in devices]
        notes.append(f"other hardware: {told[0]} in A, {told[1]} in B")
    if a.rank is None and b.rank is None and len(files[0]) != len(files[1]):
        notes.append(
            f"A has {plural(len(files[0]), 'rank')} and B {len(files[1]):,}: events are of all of them"
        )
    return notes
