"""Finds what a selector selects in a run: segments, and the names that it matched."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tracegraph.base.errors import InputError
from tracegraph.ingest.arrays import Flags, Floats, Ints
from tracegraph.ingest.causal.graph.segments import WORK
from tracegraph.ingest.text_columns import TextColumn
from tracegraph.ingest.what_if.changes.threads import host_waits
from tracegraph.ingest.what_if.graph.graph import ReplayGraph
from tracegraph.ingest.what_if.graph.phase_work import of_phase
from tracegraph.ingest.what_if.graph.subtrees import held_by, nearest_above
from tracegraph.vocabulary.categories import GAP
from tracegraph.vocabulary.mechanisms import CODE, MECHANISMS
from tracegraph.vocabulary.phases import PHASE_NAMES, spelt
from tracegraph.vocabulary.python_frames import MODULE
from tracegraph.vocabulary.step_names import STEP_PREFIX, step_number
from tracegraph.workbench.text.names import match_names, near_names, readable
from tracegraph.workbench.text.text import label, visible
from tracegraph.workbench.what_if.selector import Selector

_NAME_CELLS = 80
"""How many cells a name in a message may take before it is shortened."""


@dataclass(frozen=True)
class Matched:
    """A name that a selector means: how many events have it, and their selected work, ns."""

    name: str
    count: int
    own_ns: int


@dataclass(frozen=True)
class Selection:
    """The segments that a selector selects, and the names that it matched, the longest first.

    `handed`: those on other threads than the selected code, which handed them over, or that were launched
    there.
    """

    segments: Flags
    matched: Sequence[Matched]
    handed: Flags


def select(graph: ReplayGraph, selector: Selector) -> Selection:
    """Select the segments that a selector means.

    Names are matched exactly, else as a glob of `*` and `?`, else as a part.

    Raises
    ------
    InputError
        Nothing is selected; the hint says names near those asked for.
    """
    segments = graph.segments
    # A stretch without an event, as an unknown gap inside a call, belongs to what is open.
    selected = np.ones(len(segments), dtype=bool)
    handed = np.zeros(len(segments), dtype=bool)
    place: Ints | None = None
    for key, value in selector.conditions.items():
        if key in _BELOW:
            found = frames_named(graph, selector, value, _BELOW[key])
            above = held_by(graph, found, _of_one_step(graph, value))
            selected &= above >= 0
            handed |= (above >= 0) & (nearest_above(graph.frames, found)[graph.frames.of_segment] < 0)
            place = above if place is None else place
        else:
            selected &= _HOLDS[key](graph, selector, value)
    if not selected.any():
        raise InputError(
            f"{selector.text!r} matches no work of the run", "see its hotspots: tracegraph report"
        )
    return Selection(
        selected,
        named_work(graph, selected, segments.work)
        if place is None
        else _matched_frames(graph, selected, place),
        selected & handed,
    )


def select_with_waits(graph: ReplayGraph, selector: Selector) -> Selection:
    """Select as `select` does, where a name also means the waits in its events; `own_ns` is their length."""
    segments = graph.segments
    open_ = segments.event >= 0
    lasting = np.where(open_, segments.end - segments.start, segments.work)
    whole = replace(segments, kind=np.where(open_, WORK, segments.kind), work=lasting)
    return select(replace(graph, segments=whole), selector)


def frames_named(graph: ReplayGraph, selector: Selector, wanted: str, prefix: str) -> Flags:
    """Mark the frames of the events that a name means; for modules, of all that have the prefix."""
    frames = graph.frames
    called = (frames.parent >= 0) & ~frames.category.among(GAP)
    if _steps_named(graph, wanted):
        return called & frames.name.among(graph.step_marker)
    names = {str(name) for name in frames.name[np.flatnonzero(called)] if str(name).startswith(prefix)}
    # A module by its name; as a part, it is one with the prefix.
    known = prefix + wanted if prefix + wanted in names else wanted
    return called & frames.name.among(*_meant(selector, sorted(names), known))


def _of_one_step(graph: ReplayGraph, wanted: str) -> Flags | bool:
    """Mark what belongs to the step that is meant: the frames of all steps have one name."""
    numbers = _steps_named(graph, wanted)
    return _of_steps(graph, numbers) if numbers else True


def _steps_named(graph: ReplayGraph, wanted: str) -> frozenset[int]:
    """Find the numbers of the steps whose annotation has a name; empty if it is the name of all steps."""
    number = step_number(wanted)
    if graph.step_marker == STEP_PREFIX and number is not None:
        return frozenset([number])
    named = frozenset(step.number for step in graph.steps if step.name == wanted)
    return named if wanted != graph.step_marker else frozenset()


def _meant(selector: Selector, names: Sequence[str], wanted: str) -> Iterable[str]:
    """Find the names that are meant, as they are in the file or in readable form."""
    found = match_names(names, wanted)
    if found:
        return found
    labels = readable(names)
    labelled = set(match_names(list(labels.values()), wanted))
    found = [name for name in names if labels[name] in labelled]
    if found:
        return found
    # In `train.py(12): load`, the function is the part that a user is likely to misspell.
    functions = {one.rpartition(": ")[2]: one for one in reversed([*labels.values()])}
    alike = [functions[one] for one in near_names(list(functions), wanted)]
    near = ", ".join(label(one, _NAME_CELLS) for one in alike)
    raise InputError(
        f"'{visible(selector.text)}' matches nothing: '{visible(wanted)}' is no name in the run",
        f"near it are: {near}" if near else "tracegraph report lists names, `*` and `?` are wildcards",
    )


_Holds = Callable[[ReplayGraph, Selector, str], Flags]
_BELOW = {"under": "", "module": MODULE}


def _of_text(column: Callable[[ReplayGraph], TextColumn]) -> _Holds:
    def holds(graph: ReplayGraph, selector: Selector, wanted: str) -> Flags:
        texts = column(graph)
        held = texts.among(*_meant(selector, sorted({str(text) for text in texts.values}), wanted))
        # What no rule explains inside an event is its own time, too; a wait in it has no work to take away.
        is_own: Flags = graph.segments.event >= 0
        return is_own & held[graph.segments.event]

    return holds


def _of_thread(graph: ReplayGraph, selector: Selector, wanted: str) -> Flags:
    lanes = graph.lanes.frame
    threads = lanes[graph.lanes.is_thread]
    by_id = threads["tid"].astype(str) == wanted
    names = sorted(set(threads["name"].astype(str)))
    of_name = lanes["name"].astype(str).isin([] if by_id.any() else list(_meant(selector, names, wanted)))
    chosen = graph.lanes.is_thread & (of_name | (lanes["tid"].astype(str) == wanted)).to_numpy()
    held: Flags = chosen[graph.segments.lane]
    return held


def _of_stream(graph: ReplayGraph, selector: Selector, wanted: str) -> Flags:
    streams = graph.lanes.frame["stream"]
    held: Flags = (streams == int(wanted)).fillna(False).to_numpy(dtype=bool)[graph.segments.lane]
    return held


def _of_steps(graph: ReplayGraph, numbers: frozenset[int]) -> Flags:
    event = graph.segments.event
    held: Flags = (event >= 0) & np.isin(graph.calls.step[event], list(numbers))
    return held


def _of_rank(graph: ReplayGraph, selector: Selector, wanted: str) -> Flags:
    held: Flags = graph.lanes.rank[graph.segments.lane] == int(wanted)
    return held


def _of_phase(graph: ReplayGraph, selector: Selector, wanted: str) -> Flags:
    there = [PHASE_NAMES[code] for code in np.unique(graph.phases.name).tolist()]
    if spelt(wanted) not in there:
        raise InputError(
            f"'{visible(selector.text)}' matches nothing: the run has no phase '{visible(wanted)}'",
            f"present: {', '.join(there)}" if there else "none of its phases is known: see docs/phases.md",
        )
    return of_phase(graph, spelt(wanted))


def _of_wait(graph: ReplayGraph, selector: Selector, wanted: str) -> Flags:
    found, waits = graph.dependencies, host_waits(graph)
    names = [MECHANISMS[code].name for code in np.unique(found.mechanism[waits]).tolist()]
    codes = [CODE[name] for name in _meant(selector, names, wanted)]
    held = np.zeros(len(graph.segments), dtype=bool)
    held[found.effect[waits[np.isin(found.mechanism[waits], codes)]] - 1] = True
    return held


_HOLDS: dict[str, _Holds] = {
    "name": _of_text(lambda graph: graph.calls.name),
    "category": _of_text(lambda graph: graph.calls.category),
    "thread": _of_thread,
    "stream": _of_stream,
    "step": lambda graph, _, number: _of_steps(graph, frozenset([int(number)])),
    "rank": _of_rank,
    "phase": _of_phase,
    "wait": _of_wait,
}


def _matched_frames(graph: ReplayGraph, selected: Flags, above: Ints) -> Sequence[Matched]:
    """List the names of the frames that hold the selected segments, with their events."""
    frames, calls = graph.frames, graph.calls
    name = frames.name.codes[above[selected]]
    own = np.bincount(name, graph.segments.work[selected], len(frames.name.values)).astype(np.int64)
    events = np.bincount(calls.name.codes, minlength=len(calls.name.values)).tolist()
    counts = {str(text): count for text, count in zip(calls.name.values, events, strict=True)}
    # The frames of all steps have one name, their events have one each.
    steps = set(calls.step[graph.segments.event[selected & (graph.segments.event >= 0)]].tolist())
    counts[graph.step_marker] = sum(one.number in steps for one in graph.steps)
    return _longest(
        Matched(str(frames.name.values[code]), counts.get(str(frames.name.values[code]), 0), int(own[code]))
        for code in np.unique(name)
    )


def named_work(graph: ReplayGraph, selected: Flags, work: Ints | Floats) -> Sequence[Matched]:
    """List the names of the events of selected segments, with their part of `work`, ns, the longest first."""
    selected = selected & (graph.segments.event >= 0)
    event, calls = graph.segments.event[selected], graph.calls
    name, count = calls.name.codes[event], len(calls.name.values)
    own = np.bincount(name, work[selected], count).astype(np.int64)
    counts = np.bincount(calls.name.codes[np.unique(event)], minlength=count)
    return _longest(
        Matched(str(calls.name.values[code]), int(counts[code]), int(own[code])) for code in np.unique(name)
    )


def _longest(found: Iterable[Matched]) -> Sequence[Matched]:
    return sorted(found, key=lambda one: (-one.own_ns, one.name))
