"""Compile or move Python: the interpreter's own time is removed."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from tracegraph.base.units import short_ns
from tracegraph.ingest.arrays import Flags, Ints
from tracegraph.ingest.causal.graph.segments import WORK
from tracegraph.ingest.what_if.changes.edit import Edit, no_edit
from tracegraph.ingest.what_if.fixes.fix import Candidate, Fix, Scene, asked_for, escaped, made_in
from tracegraph.ingest.what_if.graph.enclosing_operators import below_each, is_own
from tracegraph.ingest.what_if.graph.graph import ReplayGraph
from tracegraph.ingest.what_if.graph.subtrees import held_by
from tracegraph.ingest.what_if.graph.transfers import collective_events
from tracegraph.vocabulary.categories import Role, names_of

# Functions that are tried at most, the share (0..1) of Python's time from which on a function stands for the
# whole program, and the number of frames that the evidence names.
_MOST, _WHOLE, _NAMED = 3, 0.95, 2
_OWN = "Python's own time, or that of C code without rows,"
_BUILT_IN = "<built-in"
"""How names of frames begin that are compiled already."""


def compiled(graph: ReplayGraph, chosen: Flags) -> Edit:
    """Remove the own time of Python frames in chosen segments.

    The own time of annotations goes, too: between the operators that they hold, Python runs without frames.
    That of collectives on threads stays: it is a transfer.
    """
    return _removed(graph, chosen & _compiled(graph))


def _removed(graph: ReplayGraph, own: Flags) -> Edit:
    edit = no_edit(len(graph.segments))
    return replace(edit, factor=np.where(own, 0.0, edit.factor))


def _compiled(graph: ReplayGraph) -> Flags:
    annotations = graph.calls.of_role(Role.ANNOTATION) & ~collective_events(graph)
    return _python(graph) | _own_time(graph, annotations)


def _python(graph: ReplayGraph) -> Flags:
    interpreted = np.array([not str(name).startswith(_BUILT_IN) for name in graph.calls.name.values])
    return _own_time(graph, graph.calls.of_role(Role.FRAME) & interpreted[graph.calls.name.codes])


def _own_time(graph: ReplayGraph, events: Flags) -> Flags:
    segments = graph.segments
    own: Flags = segments.on_thread & (segments.kind == WORK) & np.append(events, False)[segments.event]
    return own


def _find(scene: Scene) -> Iterator[Candidate]:
    """Yield the user's functions below which most of Python's own time lies, and all Python."""
    graph, frames = scene.graph, scene.graph.frames
    python = _python(graph)
    spent = np.where(python, scene.on_path_ns, 0)
    total = int(spent.sum())
    if total < scene.least_ns:
        return
    inclusive = below_each(frames, np.bincount(frames.of_segment, spent, len(frames)).astype(np.int64))
    own = np.array([is_own(str(name)) for name in frames.name.values])[frames.name.codes]
    own &= frames.category.among(*names_of(Role.FRAME))
    by_name = np.bincount(frames.name.codes[own], inclusive[own], len(frames.name.values))
    goes = _compiled(graph)
    taken, tried = np.where(goes, scene.on_path_ns, 0), 0
    for code in np.argsort(-by_name, kind="stable").tolist():
        if by_name[code] < scene.least_ns or tried == _MOST:
            break
        below = held_by(graph, frames.name.codes == code) >= 0
        if spent[below].sum() > _WHOLE * total:
            continue
        tried += 1
        name = str(frames.name.values[code])
        selector, held = f"under={escaped(name)}", int(taken[below].sum())
        evidence = f"{_OWN} below {name} takes {short_ns(held)} of the path"
        yield _candidate(graph, selector, below & goes, evidence)
    evidence = f"{_OWN} takes {short_ns(total)} of the path, {_most_of_it(graph, spent)}"
    yield _candidate(graph, f"category={names_of(Role.FRAME)[0]}", python & goes, evidence)


def _most_of_it(graph: ReplayGraph, spent: Ints) -> str:
    """Name the frames with most of Python's own time, and say how much."""
    segments, names = graph.segments, graph.calls.name
    own = np.bincount(names.codes[segments.event[spent > 0]], spent[spent > 0], len(names.values))
    most = np.argsort(-own, kind="stable")[:_NAMED].tolist()
    return " and ".join(
        f"{short_ns(int(own[code]))} of it in {names.values[code]}" for code in most if own[code]
    )


def _candidate(graph: ReplayGraph, selector: str, own: Flags, evidence: str) -> Candidate:
    return Candidate(
        selector=selector,
        options=asked_for(FIX.name, [selector]),
        change=made_in(graph, _removed(graph, own)),
        evidence=evidence,
    )


FIX = Fix(
    name="compile",
    title="Compile or vectorise Python",
    recognised="own time of Python frames on the path",
    replayed="this time takes none, nor does that of annotations that are no collectives; what is called "
    "takes as long as it did",
    how="torch.compile; vectorise loops over rows; move work to another process or out of the loop",
    refuted_by="frames that stay where graphs break, or work that only moves into the calls",
    assumptions=("what Python does itself there can be compiled, vectorised or moved away",),
    find=_find,
    asked="with the Python of {} compiled",
    edit=lambda graph, chosen, settings: compiled(graph, chosen),
)
