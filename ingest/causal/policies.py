"""Which dependencies between threads a graph holds: one policy a run."""

from collections.abc import Callable

import numpy as np

from tracegraph.ingest.causal.array_tables import join_rows, select_rows
from tracegraph.ingest.causal.basis import Basis
from tracegraph.ingest.causal.edges import Edges, Waits
from tracegraph.ingest.causal.rules.cross_thread import autograd
from tracegraph.ingest.causal.rules.gil import gil_waits
from tracegraph.ingest.causal.rules.off_cpu import off_cpu
from tracegraph.ingest.causal.rules.resume import resume
from tracegraph.ingest.causal.rules.serialise import serialised
from tracegraph.ingest.causal.rules.silence import find_silence
from tracegraph.store.schema import CROSS_THREAD_POLICIES

Found = tuple[Edges, Waits]


def find_edges(basis: Basis, cross_thread: str) -> Found:
    """All edges between ports and all waits of a rank under a policy."""
    edges, waits = POLICIES[cross_thread](basis)
    waits = join_rows([basis.waits, waits])
    return join_rows([basis.edges, edges]), join_rows([waits, off_cpu(basis.events, basis.stack, waits)])


def only_recorded(found: Found) -> Found:
    """What remains of edges and waits when no timing rule is trusted."""
    edges, waits = found
    return select_rows(edges, edges.recorded), select_rows(waits, waits.recorded)


def _by_evidence(basis: Basis) -> Found:
    """Hand-overs of autograd, then threads that go on just after another one, then the GIL."""
    events, stack = basis.events, basis.stack
    handed = autograd(events, stack, basis.lanes.process, basis.window.end)
    silence = find_silence(events, stack, basis.lanes, basis.launches)
    resumed = resume(events, stack, silence, (handed[0].effect_lane, handed[0].effect_time))
    edges, waits = join_rows([handed[0], resumed[0]]), join_rows([basis.waits, handed[1], resumed[1]])
    held = gil_waits(events, stack, basis.lanes, waits)
    return join_rows([edges, held[0]]), join_rows([handed[1], resumed[1], held[1]])


def _serialised(basis: Basis) -> Found:
    return serialised(basis.events, basis.stack, basis.lanes)


def _none(basis: Basis) -> Found:
    nothing = np.zeros(0, dtype=np.int64)
    return select_rows(basis.edges, nothing), select_rows(basis.waits, nothing)


EVIDENCE = CROSS_THREAD_POLICIES[0]
POLICIES: dict[str, Callable[[Basis], Found]] = dict(
    zip(CROSS_THREAD_POLICIES, (_by_evidence, _serialised, _none), strict=True)
)
"""By name: `evidence` (recorded hand-overs, then inferred ones with their confidence), `serialise` (all
threads of a process ordered by time, as if the GIL let only one run), `none`."""
