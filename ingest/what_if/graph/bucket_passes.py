"""The backward passes of data-parallel ranks: the buckets that each reduces, and when gradients are ready."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tracegraph.base.gradient_buckets import ACCUMULATES, Sized, begins, choose_gradients, stated_gradients
from tracegraph.ingest.arrays import Flags, Ints
from tracegraph.ingest.causal.events.events import NONE
from tracegraph.ingest.causal.steps.phases import Phases
from tracegraph.ingest.what_if.graph.facts import WorkFacts
from tracegraph.ingest.what_if.graph.graph import ReplayGraph
from tracegraph.ingest.what_if.graph.transfers import collectives_of
from tracegraph.vocabulary.collectives import CALLS
from tracegraph.vocabulary.mechanisms import CODE, HAND_OVER
from tracegraph.vocabulary.phases import BACKWARD, FORWARD, PHASE_NAMES

ALL_REDUCE = "all_reduce"


@dataclass(frozen=True)
class BucketPass:
    """A backward pass; its buckets by when they are handed over, one entry each.

    Attributes
    ----------
    event
        The all-reduce of each bucket.
    sizes, ready
        Its bytes, and when it could begin, ns.
    gradients
        The gradients of the pass by time.
    is_recorded
        Whether the file states them; else they are taken to come evenly between buckets.
    """

    event: Ints
    sizes: list[float]
    ready: list[float]
    gradients: Sized
    is_recorded: bool


def all_reduces(graph: ReplayGraph) -> Flags:
    """Flag the events that are all-reduces."""
    return collectives_of(graph, ALL_REDUCE)


def bucket_passes(graph: ReplayGraph) -> Iterator[BucketPass]:
    """Yield the backward passes in which all-reduces of known size are handed over, by rank and time.

    Where a rank reduces all their sizes in forward passes, too, they are no gradients.
    """
    assert graph.facts is not None  # who asks for sizes has them
    calls, phases, facts = graph.calls, graph.phases, graph.facts()
    event = np.flatnonzero(all_reduces(graph))
    handed = handed_over_at(graph, event)
    order = np.lexsort((event, handed))
    event, handed = event[order], handed[order]
    rank = graph.lanes.rank[calls.lane[event]]
    in_forward = _handed_in(phases, FORWARD, rank, handed)
    took = np.flatnonzero(calls.name.among(ACCUMULATES))
    took = took[np.argsort(calls.end[took], kind="stable")]
    of_rank = graph.lanes.rank[calls.lane[took]]
    for at in np.flatnonzero(phases.name == PHASE_NAMES.index(BACKWARD)).tolist():
        mine = (rank == phases.rank[at]) & (handed >= phases.start[at]) & (handed < phases.end[at])
        own, since = event[mine], handed[mine].astype(np.float64)
        if not len(own) or (facts.bytes[own] == NONE).any():
            continue
        if np.isin(facts.bytes[own], facts.bytes[event[(rank == phases.rank[at]) & in_forward]]).all():
            continue  # activations of tensor parallelism
        inside = (of_rank == phases.rank[at]) & (calls.end[took] >= phases.start[at])
        gradients = took[inside & (calls.end[took] <= since[-1])]
        sizes = facts.bytes[own].astype(np.float64).tolist()
        ready = begins(since, *(one[own].astype(np.float64) for one in (calls.start, calls.end)))
        stated = zip(
            calls.end[gradients].astype(float).tolist(), map(str, facts.shapes[gradients]), strict=True
        )
        recorded = stated_gradients(stated, _width(facts, own))
        yield BucketPass(own, sizes, ready, *choose_gradients(recorded, sizes, since, ready))


def _handed_in(phases: Phases, name: str, rank: Ints, handed: Ints) -> Flags:
    """Flag what ranks hand over in their phases of a name."""
    inside = np.zeros(len(rank), dtype=bool)
    for at in np.flatnonzero(phases.name == PHASE_NAMES.index(name)).tolist():
        inside |= (rank == phases.rank[at]) & (handed >= phases.start[at]) & (handed < phases.end[at])
    return inside


def _width(facts: WorkFacts, buckets: Ints) -> float | None:
    """Find the bytes of an element of some buckets; None where the file does not say how many there are."""
    elements = facts.elements[buckets]
    return None if (elements <= 0).any() else float(facts.bytes[buckets].sum() / elements.sum())


def handed_over_at(graph: ReplayGraph, event: Ints) -> Ints:
    """Find when the host handed over each collective, ns: the start of its call of a process group.

    Without such a call it is that of the call which launched it, or of the collective itself.
    """
    calls, found, segments = graph.calls, graph.dependencies, graph.segments
    of_group = calls.name.matching(np.array([str(name).startswith(CALLS) for name in calls.name.values]))
    begun = np.flatnonzero(of_group)
    begun_at = set(zip(calls.lane[begun].tolist(), calls.start[begun].tolist(), strict=True))
    given = np.flatnonzero(found.mechanism == CODE[HAND_OVER])
    to = segments.event[found.effect[given]]
    since = segments.start[found.effect[given]] - found.gap[given]
    by = segments.lane[found.cause[given]]
    over = {
        int(one): int(at)
        for one, at, lane in zip(to.tolist(), since.tolist(), by.tolist(), strict=True)
        if (lane, at) in begun_at
    }
    return np.array([_call_of(graph, one, of_group, over) for one in event.tolist()], dtype=np.int64)


def _call_of(graph: ReplayGraph, event: int, of_group: Flags, over: dict[int, int]) -> int:
    calls = graph.calls
    launched = at = int(calls.call[event])
    if launched < 0:
        return over.get(event, int(calls.start[event]))
    outermost = launched
    while (at := int(calls.parent[at])) >= 0:
        outermost = at if of_group[at] else outermost
    return int(calls.start[outermost])
