"""Surroundings of the long calls and silences of real paths that count as work or untraced."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.accuracy.evidence import Stretches
from benchmarks.accuracy.markdown import table
from benchmarks.accuracy.paths import read_model
from benchmarks.accuracy.why import Facts, why
from tracegraph.base.errors import InputError
from tracegraph.ingest.arrays import Flags, Ints
from tracegraph.ingest.causal.events.events import Events, is_passive
from tracegraph.ingest.causal.graph.model import Model
from tracegraph.ingest.causal.graph.path_rows import path_rows
from tracegraph.ingest.causal.rules.edges import OFF_CPU, Waits
from tracegraph.ingest.intervals import union_length, without_overlaps
from tracegraph.queries.shapes.category_roles import of_role
from tracegraph.vocabulary.categories import GAP, Role, has_role
from tracegraph.vocabulary.gaps import UNKNOWN, UNTRACED_CPU
from tracegraph.vocabulary.mechanisms import CODE, COLLECTIVE
from tracegraph.vocabulary.step_names import STEP_PREFIX
from tracegraph.workbench.text.text import format_ns, label

LEAST_SHARE = 0.01
"""A stretch is listed if it takes at least this share of the path's length."""
MOST = 10
"""The most stretches that are listed of one file: the longest."""
NEAR_NS = 50_000
"""What ends within this time of a stretch's end may be what ended it."""
_QUIET = (Role.CALL, Role.ANNOTATION, Role.FRAME)
_GAPS = (UNTRACED_CPU, UNKNOWN)
_WIDTH = 40
"""The most characters of a name."""


@dataclass(frozen=True)
class Silence:
    """One stretch of a path: in what, how long, and what happened meanwhile and at its end."""

    file: str
    what: str
    length_ns: int
    share: float
    gpu: str
    gpu_end: str
    thread_end: str
    usual: str
    after: str
    why: str


def find_silences(folder: Path, path: Path) -> list[Silence]:
    """List the stretches of one file, longest first; a file that cannot be read has none."""
    try:
        model, _ = read_model(path)
    except InputError:
        return []
    return describe_stretches(path.relative_to(folder).as_posix(), model)


def describe_stretches(name: str, model: Model) -> list[Silence]:
    """List the stretches of the path of one model."""
    rows = path_rows(model)
    rows = rows.assign(length=rows["end_ns"] - rows["start_ns"], after=rows["name"].shift(-1, fill_value=""))
    is_gap = rows["category"].eq(GAP) & rows["name"].isin(_GAPS)
    is_step = rows["name"].str.startswith(STEP_PREFIX)
    quiet = rows[of_role(rows["category"], *_QUIET) | is_step | is_gap]
    quiet = quiet.assign(kind=[_kind(str(text)) for text in quiet["name"]])
    long = quiet[quiet["length"] >= LEAST_SHARE * (model.window.end - model.window.start)]
    around = _Around(model)
    return [_describe(name, around, row, quiet) for _, row in long.nlargest(MOST, "length").iterrows()]


def _kind(name: str) -> str:
    """Replace numbers, so that steps, and other names that only count, are the same."""
    return re.sub(r"\d+", "#", name)


def _describe(file: str, around: "_Around", row: "pd.Series[Any]", quiet: pd.DataFrame) -> Silence:
    start, end = int(row["start_ns"]), int(row["end_ns"])
    length, window = end - start, around.model.window
    alike = quiet["kind"].eq(row["kind"]) & (quiet["length"] >= length / 2)
    inside = around.innermost(int(row["lane"]), start)
    what = f"{row['category']}: {label(str(row['name']), _WIDTH)}"
    if row["category"] == GAP and inside >= 0:
        what += f" in {_named(around.events, inside)}"
    return Silence(
        file=file,
        what=what,
        length_ns=length,
        share=length / (window.end - window.start),
        gpu=around.gpu(start, end),
        gpu_end=around.gpu_end(end),
        thread_end=around.thread_end(int(row["lane"]), start, end),
        usual="; ".join([*around.usual(inside), f"{int(alike.sum())} alike"]),
        after=label(str(row["after"]), _WIDTH),
        why=why(_facts(around, row, inside, quiet)),
    )


def _facts(around: "_Around", row: "pd.Series[Any]", inside: int, quiet: pd.DataFrame) -> Facts:
    start, end, model = int(row["start_ns"]), int(row["end_ns"]), around.model
    same = quiet["kind"].eq(row["kind"]) & ((quiet["length"] - (end - start)).abs() <= (end - start) / 100)
    is_gap = row["category"] == GAP
    only_waits = "Synchronize" in str(row["name"])
    waits: Waits = model.found.waits
    return Facts(
        is_gap=is_gap,
        is_call=has_role(row["category"], Role.CALL),
        is_python=has_role(row["category"], Role.FRAME),
        inside=inside >= 0 and row["name"] == UNKNOWN,
        on_stream=is_gap and not model.lanes.is_thread[int(row["lane"])],
        busy=around.busy_share(start, end),
        end_near=around.gpu_end(end) != "none",
        first=around.is_first(inside) and not only_waits,
        times_usual=np.inf if only_waits else (end - start) / max(around.median(inside), 1),
        same_length=int(same.sum()),
        stacks=bool(model.events.of_role(Role.FRAME).any()),
        off_cpu=bool((waits.mechanism == OFF_CPU).any()),
        transfers=inside in waits.event[waits.mechanism == CODE[COLLECTIVE]],
    )


class _Around:
    """What else a file holds, by moments."""

    def __init__(self, model: Model) -> None:
        self.model, self.events = model, model.events
        self._work = np.flatnonzero(model.events.is_gpu)
        self._work = self._work[np.argsort(model.events.end[self._work], kind="stable")]
        start, end = model.events.start[self._work], model.events.end[self._work]
        self._busy, self._starts = Stretches(*without_overlaps(start, end)), np.sort(start)
        self._on_threads = np.flatnonzero(model.events.on_thread & (model.events.end > model.events.start))
        self._passive = is_passive(model.events)

    def innermost(self, lane: int, moment: int) -> int:
        """Return the event that is open on a thread or stream; -1 if there is none."""
        stack = self.model.stack
        inside = (stack.piece_lane == lane) & (stack.piece_start <= moment) & (moment < stack.piece_end)
        return int(stack.piece_event[inside][0]) if inside.any() else -1

    def usual(self, event: int) -> list[str]:
        """Describe a call: how many of its name there are, and their median duration."""
        events = self.events
        if event < 0 or not has_role(str(events.category[event]), Role.CALL):
            return []
        return [f"median {format_ns(self.median(event))} of {int(self._same(event).sum()):,}"]

    def median(self, event: int) -> float:
        """Return the median duration of events with the name of one, in ns; 0 without an event."""
        lasted = self.events.end - self.events.start
        return float(np.median(lasted[self._same(event)])) if event >= 0 else 0.0

    def is_first(self, event: int) -> bool:
        """Tell whether no other event of its name comes before an event."""
        return event >= 0 and int(self.events.start[self._same(event)].min()) == self.events.start[event]

    def _same(self, event: int) -> Flags:
        same: Flags = (self.events.name.codes == self.events.name.codes[event]) & self.events.on_thread
        return same

    def gpu(self, start: int, end: int) -> str:
        """Say in which share of the time any stream ran something, and how many activities ended."""
        if not len(self._work):
            return "no GPU work"
        ends = self.events.end[self._work]
        count = int(np.searchsorted(ends, end) - np.searchsorted(ends, start))
        return f"busy {self.busy_share(start, end):.2f}, {count:,} ended"

    def busy_share(self, start: int, end: int) -> float:
        """Return the share of the time in which any stream ran something; negative without GPU work."""
        if not len(self._work):
            return -1.0
        return float(self._busy.overlap(np.array([start]), np.array([end]))[0] / (end - start))

    def gpu_end(self, end: int) -> str:
        """Describe the GPU work that ended nearest, if it is near, and how long the GPU then ran nothing."""
        found = _nearest(self.events.end, self._work, end)
        if found < 0:
            return "none"
        until = int(self.events.end[found])
        running = (self.events.start[self._work] <= until) & (self.events.end[self._work] > until)
        following = int(np.searchsorted(self._starts, until, "right"))
        if running.any():
            then = "others run on"
        elif following < len(self._starts):
            then = f"then idle {format_ns(int(self._starts[following]) - until)}"
        else:
            then = "the last"
        return f"{_signed(until - end)} {_named(self.events, found)} (stream {self._tid(found)}; {then})"

    def thread_end(self, lane: int, start: int, end: int) -> str:
        """Say how much of the time other threads ran operators or calls, and what ended nearest."""
        others = self._on_threads[self.events.lane[self._on_threads] != lane]
        if not len(others):
            return "no other thread"
        working = others[~self._passive[others]]
        inside = working[(self.events.start[working] < end) & (self.events.end[working] > start)]
        begin, until = self.events.start[inside].clip(start, end), self.events.end[inside].clip(start, end)
        open_ns = union_length(begin, until)
        active = f"active {open_ns / (end - start):.2f}"
        found = _nearest(self.events.end, others, end)
        if found < 0:
            return f"{active}; none"
        until = int(self.events.end[found])
        return f"{active}; {_signed(until - end)} {_named(self.events, found)} (thread {self._tid(found)})"

    def _tid(self, event: int) -> str:
        return label(str(self.model.lanes.frame["tid"].iloc[self.events.lane[event]]), _WIDTH)


def _nearest(times: Ints, chosen: Ints, moment: int) -> int:
    """Return the one of `chosen` whose time is nearest and at most `NEAR_NS` away; -1 if there is none."""
    if not len(chosen):
        return -1
    distance = np.abs(times[chosen] - moment)
    best = int(distance.argmin())
    return int(chosen[best]) if distance[best] <= NEAR_NS else -1


def _signed(ns: int) -> str:
    return f"{'+' if ns >= 0 else '−'}{format_ns(abs(ns))}"


def _named(events: Events, event: int) -> str:
    return label(str(events.name[event]), _WIDTH)


def describe_silences(found: Sequence[Silence]) -> str:
    """Write the Markdown: one line for each stretch."""
    columns = ["file", "stretch", "length", "share", "GPU meanwhile", "GPU work that ends near its end"]
    more = ["other threads meanwhile, and what ends near its end", "usual", "what follows", "why it stays"]
    rows = [
        (
            *(s.file, s.what, format_ns(s.length_ns), f"{s.share:.3f}"),
            *(s.gpu, s.gpu_end, s.thread_end, s.usual, s.after, s.why),
        )
        for s in found
    ]
    files = len({silence.file for silence in found})
    intro = f"{len(found)} stretches in {files} files; none of a hundredth of the path or more in the others."
    return f"{intro}\n\n{table([*columns, *more], rows)}"
