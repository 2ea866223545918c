"""The rules of the causal model in order; a new one is a module here and a line in a table below.

Each rule is a pure function of the context and of what the rules before it found. `docs/rules.md` says when
each fires, and when it is wrong.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from tracegraph.ingest.causal.rules.context import Context
from tracegraph.ingest.causal.rules.edges import Found
from tracegraph.ingest.causal.rules.gpu.allocator_flush import allocator_flush
from tracegraph.ingest.causal.rules.gpu.graph_launches import graph_latency, graph_order
from tracegraph.ingest.causal.rules.gpu.invocation import invocation
from tracegraph.ingest.causal.rules.gpu.long_calls import unexplained_calls
from tracegraph.ingest.causal.rules.gpu.lost_calls import lost_calls
from tracegraph.ingest.causal.rules.gpu.lost_work import lost_work
from tracegraph.ingest.causal.rules.gpu.opaque_waits import opaque_waits
from tracegraph.ingest.causal.rules.gpu.operation_order import operation_order
from tracegraph.ingest.causal.rules.gpu.queue_full import queue_full
from tracegraph.ingest.causal.rules.gpu.silent_sync import silent_waits
from tracegraph.ingest.causal.rules.gpu.stream_order import early_ends, stream_order
from tracegraph.ingest.causal.rules.gpu.stream_resume import stream_resume
from tracegraph.ingest.causal.rules.gpu.stream_waits import stream_waits
from tracegraph.ingest.causal.rules.gpu.synchronization import synchronization
from tracegraph.ingest.causal.rules.threads.autograd import autograd
from tracegraph.ingest.causal.rules.threads.collective_callers import collective_callers
from tracegraph.ingest.causal.rules.threads.collectives import collective_waits
from tracegraph.ingest.causal.rules.threads.gil import gil_waits
from tracegraph.ingest.causal.rules.threads.off_cpu import off_cpu
from tracegraph.ingest.causal.rules.threads.recorded_turns import recorded_turns
from tracegraph.ingest.causal.rules.threads.serialise import serialised
from tracegraph.ingest.causal.rules.threads.wake_ups import resume
from tracegraph.store.schema.node_labels import CROSS_THREAD_POLICIES

Find = Callable[[Context, Found], Found]


@dataclass(frozen=True)
class Adds:
    """A rule whose function returns edges and waits beside those found before."""

    find: Find

    def apply(self, context: Context, found: Found) -> Found:
        """Add what the rule finds to what was found before."""
        return found.plus(self.find(context, found))


@dataclass(frozen=True)
class Revises:
    """A rule that changes what was found before: its function returns all that holds from then on."""

    find: Find

    def apply(self, context: Context, found: Found) -> Found:
        """Replace what was found before by what the rule leaves of it and adds."""
        return self.find(context, found)


Rule = Adds | Revises

SHARED: tuple[Rule, ...] = (
    Adds(invocation),
    Adds(stream_order),
    Adds(operation_order),
    Adds(lost_calls),
    Revises(graph_order),
    Adds(stream_waits),
    Revises(graph_latency),
    Adds(stream_resume),
    Adds(synchronization),
    Adds(lost_work),
    Adds(queue_full),
    Adds(allocator_flush),
    Adds(silent_waits),
    Adds(unexplained_calls),
    Adds(opaque_waits),
    Adds(collective_waits),
    Adds(early_ends),
)
"""Rules of the GPU and of other ranks, which hold under every policy between threads."""

_TURNS: tuple[Rule, ...] = (Adds(recorded_turns), Adds(off_cpu))
_BETWEEN_THREADS: tuple[tuple[Rule, ...], ...] = (
    (Adds(autograd), Adds(collective_callers), Adds(resume), Adds(gil_waits), *_TURNS),
    (Adds(serialised), *_TURNS),
    _TURNS,
)
POLICIES = dict(zip(CROSS_THREAD_POLICIES, _BETWEEN_THREADS, strict=True))
"""The rules that come after the shared ones, by name of the policy: `evidence` (recorded hand-overs, then
inferred ones with their confidence), `serialise` (all threads of a process ordered by time, as if the GIL let
only one run), `none`."""
EVIDENCE = CROSS_THREAD_POLICIES[0]


def apply(rules: Iterable[Rule], context: Context, found: Found) -> Found:
    """Apply the rules one after the other to what was found before."""
    for rule in rules:
        found = rule.apply(context, found)
    return found
