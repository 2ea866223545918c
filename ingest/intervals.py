"""Stretches of time that overlap: their union, and how much of other stretches it covers."""

from dataclasses import dataclass

import numpy as np

from tracegraph.ingest.arrays import Ints


@dataclass(frozen=True)
class Spans:
    """Stretches of time in ns; those of one `group` (lane, device) belong together."""

    group: Ints
    start: Ints
    end: Ints


def ungrouped(start: Ints, end: Ints) -> Spans:
    """Make spans that all belong to one group."""
    return Spans(np.zeros(len(start), dtype=np.int64), start, end)


def ended_before(end: Ints, first: int) -> Ints:
    """Find the latest end (ns) among those before each of the stretches, which are in order of start.

    The first stretch has none before it: `first` stands for that end.
    """
    return np.append(first, np.maximum.accumulate(end)[:-1])[: len(end)]


def without_overlaps(start: Ints, end: Ints) -> tuple[Ints, Ints]:
    """Cut from each stretch what those before it cover, and return begins and ends by start, ns.

    A stretch that others cover as a whole has no length.
    """
    order = np.argsort(start, kind="stable")
    start, end = start[order], end[order]
    begin = np.maximum(start, ended_before(end, np.iinfo(np.int64).min))
    return begin, np.maximum(begin, end)


def union_length(start: Ints, end: Ints) -> int:
    """Sum up the time in which at least one of the stretches is open, ns."""
    begin, end = without_overlaps(start, end)
    return int((end - begin).sum())


def pauses(start: Ints, end: Ints) -> tuple[Ints, Ints]:
    """Find begin and end (ns) of the pauses between the first and the last stretch, in which none is open."""
    order = np.argsort(start, kind="stable")
    begin, until = np.maximum.accumulate(end[order])[:-1], start[order][1:]
    idle = until > begin
    return begin[idle], until[idle]


def covered(spans: Spans, by: Spans) -> Ints:
    """Count the ns of each span that the spans of its group in `by` cover; overlaps count once."""
    total = np.zeros(len(spans.group), dtype=np.int64)
    for group in np.intersect1d(spans.group, by.group).tolist():
        theirs, mine = by.group == group, spans.group == group
        start, end = without_overlaps(by.start[theirs], by.end[theirs])
        done = np.append(0, np.cumsum(end - start))
        for sign, moment in ((1, spans.end[mine]), (-1, spans.start[mine])):
            last = np.searchsorted(start, moment, "right") - 1
            inside = np.clip(moment - start[last], 0, (end - start)[last])
            total[mine] += sign * np.where(last >= 0, done[last] + inside, 0)
    return total
