"""The rules of the causal model in their order; a new one is a module here and a line in a table below.

Each is a pure function of the context and of what the rules before it found. Docs: docs/rules.md.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from tracegraph.ingest.causal.context import Context
from tracegraph.ingest.causal.found import Found
from tracegraph.ingest.causal.rules.allocator_flush import allocator_flush
from tracegraph.ingest.causal.rules.autograd import autograd
from tracegraph.ingest.causal.rules.collective_callers import collective_callers
from tracegraph.ingest.causal.rules.collectives import collective_waits
from tracegraph.ingest.causal.rules.gil import gil_waits
from tracegraph.ingest.causal.rules.graph_launches import graph_latency, graph_order
from tracegraph.ingest.causal.rules.invocation import invocation
from tracegraph.ingest.causal.rules.long_calls import unexplained_calls
from tracegraph.ingest.causal.rules.lost_calls import lost_calls
from tracegraph.ingest.causal.rules.off_cpu import off_cpu
from tracegraph.ingest.causal.rules.opaque_waits import opaque_waits
from tracegraph.ingest.causal.rules.queue_full import queue_full
from tracegraph.ingest.causal.rules.resume import resume
from tracegraph.ingest.causal.rules.serialise import serialised
from tracegraph.ingest.causal.rules.silent_sync import silent_waits
from tracegraph.ingest.causal.rules.stream_order import stream_order
from tracegraph.ingest.causal.rules.stream_resume import stream_resume
from tracegraph.ingest.causal.rules.stream_waits import stream_waits
from tracegraph.ingest.causal.rules.synchronization import synchronization
from tracegraph.store.labels import CROSS_THREAD_POLICIES

Find = Callable[[Context, Found], Found]


@dataclass(frozen=True)
class Adds:
    """A rule whose function returns edges and waits beside those found before."""

    find: Find

    def apply(self, context: Context, found: Found) -> Found:
        """All that holds after the rule."""
        return found.plus(self.find(context, found))


@dataclass(frozen=True)
class Revises:
    """A rule that changes what was found before: its function returns all that holds from then on."""

    find: Find

    def apply(self, context: Context, found: Found) -> Found:
        """All that holds after the rule."""
        return self.find(context, found)


Rule = Adds | Revises

SHARED: tuple[Rule, ...] = (
    Adds(invocation),
    Adds(stream_order),
    Adds(lost_calls),
    Revises(graph_order),
    Adds(stream_waits),
    Revises(graph_latency),
    Adds(stream_resume),
    Adds(synchronization),
    Adds(queue_full),
    Adds(allocator_flush),
    Adds(silent_waits),
    Adds(unexplained_calls),
    Adds(opaque_waits),
    Adds(collective_waits),
)
"""Rules of the GPU and of other ranks, which hold whatever threads wait for each other."""

_BETWEEN_THREADS: tuple[tuple[Rule, ...], ...] = (
    (Adds(autograd), Adds(collective_callers), Adds(resume), Adds(gil_waits), Adds(off_cpu)),
    (Adds(serialised), Adds(off_cpu)),
    (Adds(off_cpu),),
)
POLICIES = dict(zip(CROSS_THREAD_POLICIES, _BETWEEN_THREADS, strict=True))
"""What comes after the shared rules, by name of the policy: `evidence` (recorded hand-overs, then inferred
ones with their confidence), `serialise` (all threads of a process ordered by time, as if the GIL let only
one run), `none`."""
EVIDENCE = CROSS_THREAD_POLICIES[0]


def apply(rules: Iterable[Rule], context: Context, found: Found) -> Found:
    """What holds after all of the rules, one after the other."""
    for rule in rules:
        found = rule.apply(context, found)
    return found
