"""Holders of GPU work: the operators around its call, and the module or function around these."""

import numpy as np

from tracegraph.ingest.arrays import Flags, Ints
from tracegraph.ingest.causal.events.ancestors import nearest_above
from tracegraph.ingest.causal.graph.stack_frames import Frames
from tracegraph.ingest.what_if.graph.graph import ReplayGraph
from tracegraph.vocabulary.categories import Role, names_of
from tracegraph.vocabulary.python_frames import MODULE, SCRIPT, is_library


def climb_operators(graph: ReplayGraph, event: Ints) -> tuple[Ints, Ints]:
    """Find innermost and outermost operator of the stack of operators right above each event, -1 for none.

    An event that is an operator counts as above itself.
    """
    calls = graph.calls
    is_operator = np.append(calls.of_role(Role.OPERATOR), False)
    parent = np.append(calls.parent, -1)
    at = np.where(is_operator[event], event, parent[event])
    innermost = np.where(is_operator[at], at, -1)
    outermost = innermost.copy()
    while (above := is_operator[parent[outermost]] & (outermost >= 0)).any():
        outermost = np.where(above, parent[outermost], outermost)
    return innermost, outermost


def find_holders(graph: ReplayGraph, event: Ints) -> Ints:
    """Find the innermost module around each event, else user's function, else annotation; -1 for none."""
    calls = graph.calls
    pairs = list(zip(calls.name.values, range(len(calls.name.values)), strict=True))
    is_module = np.zeros(len(pairs), dtype=bool)
    is_users = np.zeros(len(pairs), dtype=bool)
    for name, code in pairs:
        is_module[code] = str(name).startswith(MODULE)
        is_users[code] = is_own(str(name))
    frame, marks = calls.of_role(Role.FRAME), calls.of_role(Role.ANNOTATION)
    steps = np.isin(calls.name.codes, _codes_of_steps(graph))
    ranks = (
        frame & is_module[calls.name.codes],
        frame & is_users[calls.name.codes],
        marks & ~steps,
    )
    found = np.full(len(event), -1, dtype=np.int64)
    for rank in ranks:
        left = np.flatnonzero(found < 0)
        found[left] = nearest_event(graph, rank, event[left])
    return found


def _codes_of_steps(graph: ReplayGraph) -> Ints:
    names = {step.name for step in graph.steps}
    return np.array(
        [code for code, name in enumerate(graph.calls.name.values) if str(name) in names], dtype=np.int64
    )


def nearest_event(graph: ReplayGraph, chosen: Flags, event: Ints) -> Ints:
    """Find the innermost chosen event at or above each event, -1 for none."""
    own = np.where(chosen, np.arange(len(graph.calls)), -1)
    return np.append(nearest_above(own, graph.calls.parent), -1)[event]


def inside_events(graph: ReplayGraph, chosen: Flags) -> Flags:
    """Flag the events that are chosen, or inside a chosen one; one more entry, False, for no event."""
    parent = graph.calls.parent
    inside = np.append(chosen, False)
    while (more := inside[parent] & ~inside[:-1]).any():
        inside[:-1] |= more
    return inside


def is_own(name: str) -> bool:
    """Tell whether a frame of this name is a function of the user's."""
    return (
        not name.startswith(MODULE)
        and not name.endswith(SCRIPT)
        and not is_library(name, names_of(Role.FRAME)[0])
    )


def below_each(frames: Frames, own: Ints) -> Ints:
    """Sum up what frames have with everything that they call, from what each has by itself."""
    inclusive = own.copy()
    for depth in range(int(frames.depth.max(initial=0)), 0, -1):
        level = np.flatnonzero(frames.depth == depth)
        np.add.at(inclusive, frames.parent[level], inclusive[level])
    return inclusive
