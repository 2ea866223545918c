"""SEQUENTIAL (rule 8): order on a stream and on a thread."""

import numpy as np

from tracegraph.ingest.dependencies.edges import Edges, make_edges, on_gpu
from tracegraph.ingest.events import Events, Flags, Ints
from tracegraph.ingest.launches import Lags, Streams
from tracegraph.ingest.overlaps import only_slightly
from tracegraph.ingest.rows import join_rows


def stream_order(events: Events, streams: Streams, lags: Lags) -> Edges:
    """Each activity comes after the last to end of those before it on its stream.

    Rows that overlap only slightly keep their order, unless most overlaps on the stream are deep (graphs run
    branches in parallel, tools merge streams). Where rows overlap by more, the file shows that there is no
    order between these two: the cause is the last that had ended by then, unless one graph launch holds both.
    """
    nothing = np.empty(0, dtype=np.int64)
    parts = [_edges(events, nothing, nothing, 0)]
    for lane, work in streams.by_lane.items():
        end = events.end[work]
        is_last = end == np.maximum.accumulate(end)
        last = np.maximum.accumulate(np.where(is_last, np.arange(len(work)), 0))
        cause, effect = work[last[:-1]], work[1:]
        ordered = _in_order(events, cause, effect)
        early = _ended_before(events, work, effect[~ordered])
        cause = np.concatenate([cause[ordered], early[0]])
        effect = np.concatenate([effect[ordered], early[1]])
        parts.append(_edges(events, cause, effect, int(lags.stream_order[lane])))
    return join_rows(parts)


def _in_order(events: Events, cause: Ints, effect: Ints) -> Flags:
    """Which neighbours of a stream run one after the other."""
    overlap = events.end[cause] > events.start[effect]
    ordered = only_slightly(events, cause, effect)
    slight = int((overlap & ordered).sum())
    return ordered if slight > int((~ordered).sum()) else ~overlap


def _ended_before(events: Events, work: Ints, overlapping: Ints) -> tuple[Ints, Ints]:
    """For activities that overlap the one before: the last of their stream that had ended, and they."""
    ended = work[np.argsort(events.end[work], kind="stable")]
    lasting = overlapping[events.end[overlapping] > events.start[overlapping]]
    last = np.searchsorted(events.end[ended], events.start[lasting], "right") - 1
    cause = ended[np.maximum(last, 0)]
    one_launch = (events.correlation[cause] == events.correlation[lasting]) & (events.correlation[cause] > 0)
    found = (last >= 0) & ~one_launch
    return cause[found], lasting[found]


def _edges(events: Events, cause: Ints, effect: Ints, lag: int) -> Edges:
    return make_edges(
        "stream order",
        on_gpu(events, cause, at_end=True),
        on_gpu(events, effect, at_end=False),
        events.end[cause] + lag,
        recorded=True,
        confidence=1.0,
    )
