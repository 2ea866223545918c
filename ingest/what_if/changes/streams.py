"""Runs of chosen works on GPU streams: what is before and after each, and what other streams wait for."""

from dataclasses import dataclass, replace

import numpy as np

from tracegraph.ingest.array_tables import count_in_groups
from tracegraph.ingest.arrays import Flags, Ints
from tracegraph.ingest.causal.graph.dependencies import Dependencies
from tracegraph.ingest.what_if.changes.edit import FOR_GPU, Edit, assumed
from tracegraph.ingest.what_if.graph.graph import ReplayGraph
from tracegraph.vocabulary.mechanisms import CODE, STREAM_ORDER, STREAM_WAIT_EVENT


@dataclass(frozen=True)
class StreamRuns:
    """Runs of chosen works with nothing else of their stream between; segments, one entry for each run.

    `before`, `after`: the work of the stream on either side, -1 for none. `number`: how many runs of its
    stream come before each.
    """

    first: Ints
    last: Ints
    before: Ints
    after: Ints
    number: Ints

    def __len__(self) -> int:
        return len(self.first)


def runs_on_streams(graph: ReplayGraph, chosen: Flags) -> StreamRuns:
    """Find the runs of chosen GPU work."""
    segments = graph.segments
    work = np.flatnonzero(~segments.on_thread & (segments.event >= 0))
    mine, lane = chosen[work], segments.lane[work]
    goes_on = np.append(lane[1:] == lane[:-1], False)[: len(work)]
    follows = np.append(False, goes_on[:-1])[: len(work)]
    first = np.flatnonzero(mine & ~(follows & np.append(False, mine[:-1])[: len(work)]))
    last = np.flatnonzero(mine & ~(goes_on & np.append(mine[1:], False)[: len(work)]))
    return StreamRuns(
        first=work[first],
        last=work[last],
        before=np.where(follows[first], work[first - 1], -1),
        after=np.where(goes_on[last], work[np.minimum(last + 1, len(work) - 1)], -1),
        number=count_in_groups(lane[first]),
    )


def on_own_streams(graph: ReplayGraph, edit: Edit, chosen: Flags) -> Edit:
    """Put chosen works on an assumed stream, one for each stream that has other work, too."""
    segments = graph.segments
    work = ~segments.on_thread & (segments.event >= 0)
    mixed = np.zeros(int(segments.lane.max(initial=-1)) + 1, dtype=bool)
    mixed[segments.lane[work & ~chosen]] = True
    return replace(edit, lane=np.where(work & chosen & mixed[segments.lane], 1, edit.lane))


def awaited_between_streams(graph: ReplayGraph) -> Flags:
    """Flag the dependencies by which work of one stream waits for that of another one."""
    found, segments = graph.dependencies, graph.segments
    between: Flags = FOR_GPU[found.mechanism] & ~segments.on_thread[found.cause]
    return between & ~segments.on_thread[found.effect]


def wait_on_stream(graph: ReplayGraph, cause: Ints, effect: Ints) -> Dependencies:
    """Assume that works wait for others, with the usual lag between works on a stream."""
    segments, found = graph.segments, graph.dependencies
    there = (cause >= 0) & (effect >= 0)
    cause, effect = cause[there], effect[there]
    lags = np.maximum(found.lag[found.mechanism == CODE[STREAM_ORDER]], 0)
    return assumed(
        segments.start[effect] - segments.completion[cause],
        cause,
        effect,
        np.full(len(cause), CODE[STREAM_WAIT_EVENT]),
        int(np.median(lags)) if len(lags) else 0,
    )
