"""Where in the code the time of segments is: in the user's function around them, else in an operator."""

from typing import NamedTuple

import numpy as np

from tracegraph.ingest.arrays import Flags, Ints
from tracegraph.ingest.what_if.graph.enclosing_operators import is_own, nearest_event
from tracegraph.ingest.what_if.graph.graph import ReplayGraph
from tracegraph.vocabulary.categories import Role
from tracegraph.vocabulary.step_names import step_number


class Place(NamedTuple):
    """The place in the code with most of the time of some segments, and its share of that, 0..1."""

    name: str
    share: float


def main_place(graph: ReplayGraph, chosen: Flags) -> Place | None:
    """Find where most of the time of the chosen segments is; None where nothing recorded is around them.

    GPU work is where the call stands that launched it.
    """
    segments, calls = graph.segments, graph.calls
    at = np.flatnonzero(chosen & (segments.end > segments.start))
    spent = (segments.end - segments.start)[at]
    event = segments.event[at]
    event = np.where(segments.on_thread[at] | (event < 0), event, calls.call[event])
    holder = _holders(graph, event)
    known = holder >= 0
    if not known.any():
        return None
    sums = np.bincount(calls.name.codes[holder[known]], spent[known])
    name = int(sums.argmax())
    return Place(str(calls.name.values[name]), float(sums[name] / spent.sum()))


def _holders(graph: ReplayGraph, event: Ints) -> Ints:
    """Find the innermost function of the user around each event, else the innermost operator, -1 for none."""
    calls = graph.calls
    names = [str(name) for name in calls.name.values]
    own = np.array([is_own(name) for name in names], dtype=bool)
    found = nearest_event(graph, calls.of_role(Role.FRAME) & own[calls.name.codes], event)
    # Early versions of PyTorch record steps as operators.
    other = np.array([step_number(name) is None for name in names], dtype=bool)
    operator = nearest_event(graph, calls.of_role(Role.OPERATOR) & other[calls.name.codes], event)
    return np.where(found >= 0, found, operator)
