"""SEQUENTIAL (rule 8): order on a stream."""

import numpy as np

from tracegraph.ingest.arrays import Flags, Ints
from tracegraph.ingest.causal.array_tables import join_rows
from tracegraph.ingest.causal.context import Context
from tracegraph.ingest.causal.edges import Edges, make_edges, no_edges, on_gpu
from tracegraph.ingest.causal.events import Events
from tracegraph.ingest.causal.found import Found
from tracegraph.ingest.causal.overlaps import only_slightly
from tracegraph.store.mechanisms import STREAM_ORDER

_GUESSED = 0.7
"""Of what starts beside other work of its stream: an estimate, since no simulated stream runs such work."""


def stream_order(context: Context, _: Found) -> Found:
    """Each activity comes after the last to end of those before it on its stream.

    Rows that overlap only slightly keep their order, unless most overlaps on the stream are deep (graphs run
    branches in parallel, tools merge streams). Where rows overlap by more, the file shows that there is no
    order between these two: the cause is then a guess, the last that had ended, unless one graph launch holds
    both.
    """
    events = context.events
    parts = [no_edges()]
    for lane, work in context.streams.by_lane.items():
        end = events.end[work]
        is_last = end == np.maximum.accumulate(end)
        last = np.maximum.accumulate(np.where(is_last, np.arange(len(work)), 0))
        cause, effect = work[last[:-1]], work[1:]
        ordered = _in_order(events, cause, effect)
        lag = int(context.lags.stream_order[lane])
        parts.append(_edges(events, cause[ordered], effect[ordered], lag, recorded=True))
        guessed = _ended_before(events, work, effect[~ordered])
        parts.append(_edges(events, *guessed, lag, recorded=False))
    return Found(join_rows(parts))


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


def _edges(events: Events, cause: Ints, effect: Ints, lag: int, *, recorded: bool) -> Edges:
    return make_edges(
        STREAM_ORDER,
        on_gpu(events, cause, at_end=True),
        on_gpu(events, effect, at_end=False),
        events.end[cause] + lag,
        recorded=recorded,
        confidence=1.0 if recorded else _GUESSED,
    )
