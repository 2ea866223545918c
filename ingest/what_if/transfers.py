"""Which events move data, between GPUs or between host and GPU."""

import numpy as np

from tracegraph.ingest.arrays import Flags
from tracegraph.ingest.what_if.graph import ReplayGraph
from tracegraph.store.categories import Role, names_of
from tracegraph.store.collectives import ON_THREADS
from tracegraph.store.kernel_types import COMMUNICATION, kernel_type


def communicates(graph: ReplayGraph) -> Flags:
    """Which events communicate, by the run's vocabulary; without its facts by what is built in."""
    if graph.facts is not None:
        return graph.facts().kernel_type.among(COMMUNICATION)
    names, kernel = graph.calls.name, names_of(Role.KERNEL)[0]
    return names.matching(np.array([kernel_type(str(one), kernel) == COMMUNICATION for one in names.values]))


def is_collective(graph: ReplayGraph) -> Flags:
    """Which events are kernels that communicate, or what back ends for the CPU write on their threads."""
    calls = graph.calls
    on_gpu = communicates(graph) & calls.of_role(Role.KERNEL)
    on_threads = np.array([str(name).startswith(ON_THREADS) for name in calls.name.values], dtype=bool)
    found: Flags = on_gpu | (calls.name.matching(on_threads) & calls.of_role(Role.ANNOTATION))
    return found


def moves_data(graph: ReplayGraph) -> Flags:
    """Which events are copies, memsets or collectives."""
    copies: Flags = graph.calls.of_role(Role.COPY, Role.MEMSET)
    return copies | is_collective(graph)
