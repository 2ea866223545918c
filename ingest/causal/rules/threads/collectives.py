"""SYNCHRONIZATION with other ranks, seen from one: a collective on its own thread waits, then sends."""

import numpy as np

from tracegraph.ingest.arrays import Ints
from tracegraph.ingest.causal.events.callstack import CallStack
from tracegraph.ingest.causal.events.events import NONE, Events
from tracegraph.ingest.causal.rules.context import Context
from tracegraph.ingest.causal.rules.edges import Found, inferred_waits, make_edges, on_thread
from tracegraph.ingest.causal.rules.threads.silence import SHORTEST_SILENCE_NS
from tracegraph.vocabulary.categories import Role
from tracegraph.vocabulary.collectives import ON_THREADS
from tracegraph.vocabulary.mechanisms import COLLECTIVE

_LATENCY_NS = 1_000_000
"""How long the smallest message takes at most, over Ethernet. Chosen by eye: a larger one hides waits in
small collectives, a smaller one takes slow networks for waits."""
_NS_PER_ELEMENT = 8
"""A slow link (1 GB/s) moves an element of 8 bytes in 8 ns; time beyond that and 1 ms is not the transfer."""
_ARRIVAL_NS = 1_000
"""How long after the start of the row its rank has arrived: the wait begins there. The dependency leaves the
row after its start, by the coarsest unit in which files state times."""
_SEEN_FASTER, _BY_SIZE = 0.8, 0.6
"""Confidences (estimates: the simulator has no case): a collective of that name and size was seen to be that
fast, or only its size bounds the transfer."""


def collective_waits(context: Context, _: Found) -> Found:
    """Find edges inside collectives that last longer than their transfer can: from arrival to transfer.

    Only annotations of CPU back ends on threads that run no operator count: there the call holds the thread
    until all ranks took part. The transfer is put at the end. It is taken to last as long as the shortest one
    of that name and size, at most 1 ms plus 8 ns an element (more than a link of 1 GB/s needs). The rest is
    waiting for another rank, surer if a collective of that size was seen to be that fast.
    """
    events = context.events
    found = cpu_collectives(events, context.stack)
    lasted = (events.end - events.start)[found]
    fastest = _shortest_of_kind(events, found)
    elements = events.elements[found]
    by_size = np.where(elements == NONE, fastest, _LATENCY_NS + np.maximum(elements, 0) * _NS_PER_ELEMENT)
    transfer = np.minimum(fastest, by_size)
    waits = (lasted - transfer >= SHORTEST_SILENCE_NS) & (transfer > _ARRIVAL_NS)
    found, transfer, seen = found[waits], transfer[waits], (fastest <= by_size)[waits]
    lane, begin, end = events.lane[found], events.start[found] + _ARRIVAL_NS, events.end[found] - transfer
    edges = make_edges(
        COLLECTIVE,
        on_thread(lane, begin),
        on_thread(lane, end),
        end,
        recorded=False,
        confidence=np.where(seen, _SEEN_FASTER, _BY_SIZE),
    )
    return Found(edges, inferred_waits(COLLECTIVE, lane, begin, end, found))


def cpu_collectives(events: Events, stack: CallStack) -> Ints:
    """Find outermost collectives of CPU back ends on threads that run no operator outside of them."""
    operates = np.zeros(int(events.lane.max(initial=-1)) + 1, dtype=bool)
    top = stack.top_level(events)
    operates[events.lane[top & events.of_role(Role.OPERATOR)]] = True
    outer = np.flatnonzero(top & events.of_role(Role.ANNOTATION))
    outer = outer[~operates[events.lane[outer]]]
    named = np.array([str(name).startswith(ON_THREADS) for name in events.name[outer]], dtype=bool)
    chosen: Ints = outer[named]
    return chosen


def _shortest_of_kind(events: Events, found: Ints) -> Ints:
    """Find the shortest duration among the collectives of the same name and size as each, ns."""
    names = np.unique(events.name[found].astype(str), return_inverse=True)[1]
    kinds = np.stack([names, events.elements[found]], axis=1)
    kind = np.unique(kinds, axis=0, return_inverse=True)[1].reshape(-1)
    shortest = np.full(int(kind.max(initial=-1)) + 1, np.iinfo(np.int64).max)
    np.minimum.at(shortest, kind, (events.end - events.start)[found])
    return shortest[kind]
