"""Calls that wait for the GPU, and for which the graph knows nothing that they waited for."""

import numpy as np

from tracegraph.ingest.arrays import Ints
from tracegraph.ingest.causal.events.events import is_call_named
from tracegraph.ingest.causal.events.lane_times import Keys
from tracegraph.ingest.causal.graph.solved import Solved
from tracegraph.vocabulary.mechanisms import MECHANISMS

LONG_WAIT_NS = 1_000_000
_WAITS = tuple(code for code, rule in enumerate(MECHANISMS) if rule.kind == "SYNCHRONIZATION")


def unheld_waits(solved: Solved) -> Ints:
    """Calls named after synchronising that last 1 ms or longer, in which no wait for GPU work ends."""
    events, segments, found = solved.events, solved.segments, solved.dependencies
    long = events.end - events.start >= LONG_WAIT_NS
    call = np.flatnonzero(is_call_named(events, "Synchronize") & events.on_thread & long)
    effect = found.effect[np.isin(found.mechanism, _WAITS)]
    effect = effect[segments.on_thread[effect]]
    window, lanes = solved.window, len(solved.lanes.frame)
    keys = Keys(window.start, window.end, lanes)
    released = np.sort(keys.of(segments.lane[effect], segments.start[effect]))
    start, end = (times[call].clip(window.start, window.end) for times in (events.start, events.end))
    begun = np.searchsorted(released, keys.of(events.lane[call], start), "right")
    ended = np.searchsorted(released, keys.of(events.lane[call], end), "right")
    # One that ends with the window holds nothing up.
    unheld: Ints = call[(begun == ended) & (end < window.end)]
    return unheld
