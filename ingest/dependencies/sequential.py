"""SEQUENTIAL (rule 8): order on a stream and on a thread."""

import numpy as np

from tracegraph.ingest.dependencies.edges import Edges, make_edges, on_gpu
from tracegraph.ingest.events import Events, Ints
from tracegraph.ingest.launches import Lags, Streams
from tracegraph.ingest.rows import join_rows


def stream_order(events: Events, streams: Streams, lags: Lags) -> Edges:
    """Each activity comes after the last to end of those before it on its stream, unless they overlap.

    Rows of one stream may overlap (graphs run branches in parallel): then the file shows that there is no
    order, and the later start gets no such cause.
    """
    nothing = np.empty(0, dtype=np.int64)
    parts = [_edges(events, nothing, nothing, nothing)]
    for lane, work in streams.by_lane.items():
        end = events.end[work]
        is_last = end == np.maximum.accumulate(end)
        last = np.maximum.accumulate(np.where(is_last, np.arange(len(work)), 0))
        cause, effect = work[last[:-1]], work[1:]
        ordered = events.end[cause] <= events.start[effect]
        lag = np.full(int(ordered.sum()), lags.stream_order[lane])
        parts.append(_edges(events, cause[ordered], effect[ordered], lag))
    return join_rows(parts)


def _edges(events: Events, cause: Ints, effect: Ints, lag: Ints) -> Edges:
    return make_edges(
        "stream order",
        on_gpu(events, cause, at_end=True),
        on_gpu(events, effect, at_end=False),
        events.end[cause] + lag,
        recorded=True,
        confidence=1.0,
    )
