"""Answers one what-if question, with all that the answer rests on."""

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING

import numpy as np

from tracegraph.base.errors import InputError
from tracegraph.ingest.arrays import Flags
from tracegraph.ingest.what_if.changes.between_ranks import MAY_BE_CHANCE, has_few_steps
from tracegraph.ingest.what_if.changes.change import Change, Span, whole_window
from tracegraph.ingest.what_if.changes.edit import Edit, join_edits
from tracegraph.ingest.what_if.fixes.registry import ASKED, edit_of
from tracegraph.ingest.what_if.graph.graph import ReplayGraph
from tracegraph.ingest.what_if.graph.overhead import (
    NO_OVERHEAD,
    Overhead,
    estimate_overhead,
    given_overhead,
)
from tracegraph.ingest.what_if.graph.unrecorded_time import unrecorded_ns
from tracegraph.ingest.what_if.predictions.gains import Bound, Gain
from tracegraph.ingest.what_if.predictions.predict import Predictor
from tracegraph.ingest.what_if.predictions.results import Prediction
from tracegraph.ingest.what_if.settings import Settings
from tracegraph.workbench.notebook.cards import what_if_card
from tracegraph.workbench.output.folder import named_folder
from tracegraph.workbench.text.text import format_ns, format_times
from tracegraph.workbench.what_if.answer_words import ns_per_event
from tracegraph.workbench.what_if.assumptions import ASSUMPTIONS, NO_STRAGGLERS, assume
from tracegraph.workbench.what_if.defaults import AUTO, NO_CORRECTION
from tracegraph.workbench.what_if.notes import notes_of_detail, notes_of_handed, notes_of_ranks
from tracegraph.workbench.what_if.predicted_trace import write_predicted
from tracegraph.workbench.what_if.selection import Matched, named_work, select, select_with_waits
from tracegraph.workbench.what_if.selector import parse_selector
from tracegraph.workbench.what_if.steps import find_step, span_of_step
from tracegraph.workbench.what_if.wait_selection import match_waits

if TYPE_CHECKING:
    from tracegraph.workbench.run import Run

ANSWER, TIMELINE = "what_if.json", "predicted.json.gz"


@dataclass(frozen=True)
class Question:
    """What is assumed: selectors whose work is removed or scaled, gaps that end at once, in a run or step.

    `scale`: factors and selectors. `fixes`: names of `registry.ASKED` and selectors, or the number of those
    that take one; `depth`, `workers`: how far ahead work is done, and by how many threads. `assume`: names of
    `ASSUMPTIONS`. `overhead`: what recording an event cost: "auto" (estimated from the file), "none", or ns.
    """

    remove: Sequence[str] = ()
    scale: Sequence[tuple[float, str]] = ()
    remove_wait: Sequence[str] = ()
    assume: Sequence[str] = ()
    step: int | None = None
    overhead: str | float = AUTO
    fixes: Sequence[tuple[str, str]] = ()
    depth: int = Settings.depth
    workers: int = Settings.workers

    def __str__(self) -> str:
        parts = [f"without {text}" for text in self.remove]
        parts += [f"{factor:g} × {text}" for factor, text in self.scale]
        parts += [f"without waits: {name}" for name in self.remove_wait]
        parts += [f"where {ASSUMPTIONS[name].meaning}" for name in self.assume]
        parts += [ASKED[fix].asked.format(text) for fix, text in self.fixes]
        return ", ".join(parts)


@dataclass(frozen=True, repr=False)
class WhatIf:
    """The answer: `prediction` of `question` about `run`; `matched`: what the names in it mean in the run.

    `notes`: what an engineer should know beside it. `store` keeps the answer as a run of its own.
    """

    run: str
    question: Question
    graph: ReplayGraph
    span: Span
    change: Change
    matched: Sequence[Matched]
    prediction: Prediction
    notes: Sequence[str] = ()
    store: "Callable[[WhatIf, str], Run] | None" = None

    @property
    def assumptions(self) -> list[str]:
        """What the fixes of the question take for granted, and no file shows."""
        said = [text for fix, _ in self.question.fixes for text in ASKED[fix].assumptions]
        for name, text in self.question.fixes:
            fix = ASKED[name]
            said += [] if fix.takes is None else fix.takes(self.graph, _settings(self.question, name, text))
        return list(dict.fromkeys(said))

    def keep(self, name: str) -> "Run":
        """Store the changed graph, as the profiler would show it, as a run of this name.

        It can be asked about as any run; `verify` compares it with what was measured later.

        Raises
        ------
        InputError
            A run of this name holds something else.
        StoreError
            The database or the workspace cannot be used.
        """
        assert self.store is not None  # it is the answer of a run
        return self.store(self, name)

    def save(self, folder: str | PathLike[str]) -> tuple[str, ...]:
        """Write what_if.json and predicted.json.gz into a folder, which is created; return their names.

        Raises
        ------
        InputError
            The folder has no name, or the files cannot be written.
        """
        place = named_folder(folder)
        try:
            place.mkdir(parents=True, exist_ok=True)
            (place / ANSWER).write_text(json.dumps(self.as_json(), indent=1) + "\n")
            with (place / TIMELINE).open("wb") as out:
                write_predicted(self.graph, self.prediction, out)
        except OSError as error:
            raise InputError(
                f"cannot write into {place}: {error.strerror or error}", "choose another folder"
            ) from error
        return ANSWER, TIMELINE

    def _repr_html_(self) -> str:
        return what_if_card(self)

    def __repr__(self) -> str:
        predicted = self.prediction.corrected
        faster = f"{format_times(predicted.speedup)} times as fast, {format_ns(predicted.gain_ns)} gained"
        faster += f", {self.prediction.basis}"
        return f"<WhatIf {self.run} {self.question}: {faster}>"

    @cached_property
    def unrecorded_ns(self) -> int:
        """Length of the run's path in work that no file holds, ns: what is removed may be among it."""
        return unrecorded_ns(self.graph)

    def as_json(self) -> dict[str, object]:
        """Return the answer for scripts; keys may be added, never renamed. Times in ns, shares 0..1."""
        predicted = self.prediction
        return {
            "run": self.run,
            "change": {
                "remove": list(self.question.remove),
                "scale": [{"factor": factor, "selector": text} for factor, text in self.question.scale],
                "remove_wait": list(self.question.remove_wait),
                "assume": list(self.question.assume),
                "fixes": [{"fix": fix, "selector": text} for fix, text in self.question.fixes],
                "depth": self.question.depth,
                "workers": self.question.workers,
            },
            "step": self.question.step,
            "window_ns": [self.span.start, self.span.end],
            "basis": predicted.basis,
            **gain_json(predicted.corrected),
            "naive": gain_json(predicted.naive),
            "overhead": {
                "method": predicted.overhead.method,
                "ns_per_event": ns_per_event(predicted.overhead),
                "total_ns": predicted.overhead_ns,
            },
            "inferred_share": predicted.inferred_share,
            "assumptions": self.assumptions,
            "removed_ns": predicted.removed_ns,
            "unrecorded_ns": self.unrecorded_ns,
            "range": {**range_json(predicted.low, predicted.high), "wide": predicted.wide or None},
            "notes": list(self.notes),
            "matched": [asdict(one) for one in self.matched],
            "following": [dict(row) for row in predicted.following],
        }


def answer(graph: ReplayGraph, run: str, question: Question) -> WhatIf:
    """Answer a question about a run.

    Raises
    ------
    InputError
        Nothing is assumed, a name or step is not in the run, nothing runs in the step, or a factor or a
        cost of recording is not valid.
    """
    asked = (question.remove, question.scale, question.remove_wait, question.assume, question.fixes)
    if not any(asked):
        options = ", ".join(f"--{name}" for name in ASKED)
        raise InputError(
            "nothing is changed",
            "say what: --remove, --scale, --remove-wait, --no-stragglers, --infinite-bandwidth, or a fix: "
            f"{options}",
        )
    span = whole_window(graph)
    if question.step is not None:
        span = span_of_step(graph, find_step(graph, question.step))
    change, matched, handed = _change(graph, question)
    predictor = Predictor(graph, span, _overhead(graph, question.overhead))
    least = _without_chance(graph, question)
    notes = (*notes_of_ranks(predictor, change), *notes_of_handed(graph, handed & span.inside))
    notes += tuple(notes_of_detail(graph))
    notes += () if least is None else (MAY_BE_CHANCE,)
    return WhatIf(run, question, graph, span, change, matched, predictor.predict(change, least), notes)


def _without_chance(graph: ReplayGraph, question: Question) -> Change | None:
    """Make the change that is left if what seems late is chance; None where that is told apart."""
    if NO_STRAGGLERS not in question.assume or not has_few_steps(graph):
        return None
    rest = replace(question, assume=[name for name in question.assume if name != NO_STRAGGLERS])
    return _change(graph, rest)[0]


def _change(graph: ReplayGraph, question: Question) -> tuple[Change, list[Matched], Flags]:
    """Find what changes, what the names in the question mean, and which of it other threads were handed."""
    factor = np.ones(len(graph.segments))
    handed = np.zeros(len(factor), dtype=bool)
    matched: list[Matched] = []
    for by, text in (*question.scale, *((0.0, text) for text in question.remove)):
        if not (math.isfinite(by) and by >= 0):
            raise InputError(f"{by} is no factor", "give one of 0 or more: 0.5 halves the time")
        found = select(graph, parse_selector(text))
        factor[found.segments] *= by
        handed |= found.handed
        matched += found.matched
    for name in question.assume:
        by_segment, known = assume(graph, name)
        factor *= by_segment
        matched += known
    change = Change(factor)
    for name in question.remove_wait:
        waits = match_waits(graph, name)
        change = waits.added_to(change)
        matched.append(waits.matched)
    edit, of_fixes = _edit(graph, question)
    return replace(change, edit=edit), [*matched, *of_fixes], handed


def _edit(graph: ReplayGraph, question: Question) -> tuple[Edit | None, list[Matched]]:
    """Join the edits of all fixes of a question, each in all that its selectors select."""
    if min(question.depth, question.workers) < 1:
        raise InputError("nothing is done ahead of itself", "give --depth and --workers as 1 or more")
    chosen: dict[str, Flags] = {}
    matched: list[Matched] = []
    settings = Settings(question.depth, question.workers)
    edits: list[Edit] = []
    for name, text in question.fixes:
        if ASKED[name].unit:
            numbered = _settings(question, name, text)
            edits.append(edit_of(name, graph, _chosen_for(graph, name, text), numbered))
            changed = (edits[-1].factor != 1) | edits[-1].relaunched
            matched += named_work(graph, changed, graph.segments.work) if changed.any() else []
            continue
        found = select_with_waits(graph, parse_selector(text))
        chosen[name] = chosen.get(name, np.zeros(len(graph.segments), dtype=bool)) | found.segments
        matched += found.matched
    edits += [edit_of(name, graph, flags, settings) for name, flags in chosen.items()]
    return (join_edits(edits) if edits else None), matched


def _settings(question: Question, name: str, text: str) -> Settings:
    """Read the settings of a fix of a question, with its number where it takes one."""
    settings = Settings(question.depth, question.workers)
    if not ASKED[name].unit:
        return settings
    try:
        return replace(settings, number=float(text.partition(",")[0] if ASKED[name].narrowed else text))
    except ValueError:
        fix = ASKED[name]
        raise InputError(
            f"{text!r} is no number", f"give --{name} {fix.argument}, as --{name} {fix.number}"
        ) from None


def _chosen_for(graph: ReplayGraph, name: str, text: str) -> Flags:
    """Find what a fix with a number is about: everything, or what the selector behind the number selects."""
    selector = text.partition(",")[2] if ASKED[name].narrowed else ""
    if selector:
        return select_with_waits(graph, parse_selector(selector)).segments
    return np.ones(len(graph.segments), dtype=bool)


def _overhead(graph: ReplayGraph, wanted: str | float) -> Overhead:
    if wanted == AUTO:
        return estimate_overhead(graph)
    if wanted == NO_CORRECTION:
        return NO_OVERHEAD
    try:
        ns = float(wanted)
    except ValueError:
        ns = math.nan
    if not (math.isfinite(ns) and ns >= 0):
        raise InputError(f"{wanted!r} is no cost of recording", "write auto, none, or ns an event, as 250")
    return given_overhead(ns)


def gain_json(gain: Gain) -> dict[str, object]:
    """Return a gain for scripts; times in ns."""
    return {
        "base_ns": gain.base_ns,
        "predicted_ns": gain.predicted_ns,
        "gain_ns": gain.gain_ns,
        "speedup": _finite(gain.speedup),
    }


def range_json(low: Bound, high: Bound) -> dict[str, object]:
    """Return the range of a gain for scripts; times in ns."""
    return {
        "gain_low_ns": low.gain_ns,
        "gain_high_ns": high.gain_ns,
        "speedup_low": _finite(low.speedup),
        "speedup_high": _finite(high.speedup),
    }


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
