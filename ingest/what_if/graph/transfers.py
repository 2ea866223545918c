"""Which work moves data, between GPUs or between host and GPU."""

import numpy as np

from tracegraph.ingest.arrays import Flags
from tracegraph.ingest.causal.events.events import NONE
from tracegraph.ingest.causal.graph.segments import WORK
from tracegraph.ingest.ranks.communication_kinds import find_kind
from tracegraph.ingest.what_if.graph.graph import ReplayGraph
from tracegraph.vocabulary.categories import Role, names_of
from tracegraph.vocabulary.collectives import ON_THREADS
from tracegraph.vocabulary.kernel_types import COMMUNICATION, kernel_type


def communicates(graph: ReplayGraph) -> Flags:
    """Flag the events that communicate, by the run's vocabulary, or without its facts by the built-in one."""
    if graph.facts is not None:
        return graph.facts().kernel_type.among(COMMUNICATION)
    names, kernel = graph.calls.name, names_of(Role.KERNEL)[0]
    return names.matching(np.array([kernel_type(str(one), kernel) == COMMUNICATION for one in names.values]))


def collective_events(graph: ReplayGraph) -> Flags:
    """Flag kernels that communicate, and collectives that CPU back ends record on threads."""
    return (communicates(graph) & graph.calls.of_role(Role.KERNEL)) | thread_collectives(graph)


def thread_collectives(graph: ReplayGraph) -> Flags:
    """Flag collectives that CPU back ends record on threads."""
    calls = graph.calls
    on_threads = np.array([str(name).startswith(ON_THREADS) for name in calls.name.values], dtype=bool)
    return calls.name.matching(on_threads) & calls.of_role(Role.ANNOTATION)


def collectives_of(graph: ReplayGraph, kind: str) -> Flags:
    """Flag those of them that are of one kind, such as `all_reduce`."""
    names = graph.calls.name
    is_kind = np.array([find_kind(str(name)) == kind for name in names.values], dtype=bool)
    return collective_events(graph) & names.matching(is_kind)


def of_collectives(graph: ReplayGraph) -> Flags:
    """Flag the segments of these."""
    return of_events(graph, collective_events(graph))


def of_transfers(graph: ReplayGraph) -> Flags:
    """Flag the segments of copies, memsets and collectives."""
    return of_collectives(graph) | of_events(graph, graph.calls.of_role(Role.COPY, Role.MEMSET))


def of_events(graph: ReplayGraph, events: Flags) -> Flags:
    """Flag the segments of flagged events."""
    found: Flags = np.append(events, False)[graph.segments.event]
    return found


def transferring(graph: ReplayGraph) -> Flags:
    """Flag segments of work; those of collectives from when all ranks are there, if the files show that."""
    segments = graph.segments
    since = np.append(graph.rendezvous, NONE)[segments.event]
    found: Flags = (segments.kind == WORK) & (segments.start >= since)
    return found
