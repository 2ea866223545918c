"""SYNCHRONIZATION GPU to GPU: operations of a log follow those that the program of their job says."""

import numpy as np

from tracegraph.ingest.causal.rules.context import Context
from tracegraph.ingest.causal.rules.edges import Found, make_edges, on_gpu
from tracegraph.vocabulary.mechanisms import OPERATION_ORDER

_NOISE_NS = 10_000_000
"""By how much a cause may seem to end after its effect began, ns, since the clocks of a log differ. Operation
logs come from several machines, whose clocks may be milliseconds apart; the replay of operations allows as
much."""
_NEAR_NS = 1_000_000
"""How near its begin what an operation may follow must end. Chosen by eye: within a worker there is one
clock, and a larger one would take what merely came before for a cause."""
_LIKELY = 0.9
"""The confidence for what times alone tell, an estimate: no simulated job has operation logs."""


def operation_order(context: Context, _: Found) -> Found:
    """Let work of a worker begin when the work of its other queues that it follows has ended.

    Which work that is follows from the types and numbers of the operations, which the file states. A known
    order is not given up for a difference below the clocks' noise; what began before its cause, or long
    before that ended, did not wait for it. A receive is launched behind the computation before the one that
    needs it in many schedules, but not in all: it follows that one if it begins within 1 ms of its end.
    """
    events, orders = context.events, context.stated.orders
    start, end = events.start[orders.effect], events.end[orders.cause]
    near = np.abs(start - end) <= np.where(orders.stated, _NOISE_NS, _NEAR_NS)
    chosen = (events.start[orders.cause] <= start) & (near | (orders.stated & (end <= start)))
    # The order of a queue is known from `stream_order`, unless rows overlap.
    chosen &= (events.lane[orders.cause] != events.lane[orders.effect]) | (end > start)
    cause, effect, stated = orders.cause[chosen], orders.effect[chosen], orders.stated[chosen]
    edges = make_edges(
        OPERATION_ORDER,
        on_gpu(events, cause, at_end=True),
        on_gpu(events, effect, at_end=False),
        events.end[cause],
        recorded=stated,
        confidence=np.where(stated, 1.0, _LIKELY),
    )
    return Found(edges)
