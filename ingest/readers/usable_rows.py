"""Which rows of a trace can be placed in time, and why the others cannot: the same for every format."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tracegraph.ingest.arrays import Flags, Ints
from tracegraph.ingest.integrity_findings import percent

MAX_SPAN_NS = 30 * 24 * 3600 * 10**9
"""A longer duration, or distance from the median start, is a broken clock, not a trace: one month."""
LARGEST_NS = 1 << 61
"""Times are brought between this and its negative, so that no difference of two overflows."""
_MOST_BYTES = 1 << 47
"""A size beyond this is a broken number: no address space is larger."""
_MOST_TOGETHER = 2.0**62
"""Sums of sizes must stay below this, so that totals fit into 64 bits."""


@dataclass(frozen=True)
class Dropped:
    """Rows that are dropped for one reason: its code, its words, and the share of all rows' time, 0..1."""

    code: str
    rows: Flags
    what: str
    share: float | None


def find_unusable(
    start: tuple[Ints, Flags], dur: tuple[Ints, Flags], placed: Flags, keep: Flags
) -> Iterator[Dropped]:
    """Yield the rows among `keep` that cannot be used, each under the first reason that holds.

    Parameters
    ----------
    start, dur
        Times in ns, and where they are known.
    placed
        Which rows are on a known thread or stream.
    """
    (begin, has_start), (length, has_dur) = start, dur
    usable = keep & has_start
    middle = int(np.median(begin[usable])) if usable.any() else 0
    lasting = has_dur & (length > 0) & (length <= MAX_SPAN_NS)
    lengths = np.where(lasting, length, 0).astype(np.float64)
    total = max(float(lengths[keep].sum()), 1.0)
    reasons = (
        ("start_missing", "without a usable ts are dropped", ~has_start),
        ("duration_missing", "without a usable dur are dropped", ~has_dur),
        ("duration_negative", "with a negative dur are dropped", length < 0),
        ("duration_absurd", "with a dur of over 30 days are dropped", length > MAX_SPAN_NS),
        ("start_absurd", "over 30 days from the others are dropped", np.abs(begin - middle) > MAX_SPAN_NS),
        ("thread_missing", "without a tid are dropped: their thread is not known", ~placed),
    )
    for code, what, bad in reasons:
        dropped = keep & bad
        if dropped.any():
            lost = float(lengths[dropped].sum()) / total
            extent = f"{percent(lost)} of all events' time" if lost else "their time is unknown"
            yield Dropped(code, dropped, f"events {what} ({extent})", lost or None)
        keep = keep & ~bad


def usable_sizes(size: Ints, chosen: Flags) -> Flags:
    """Flag those of the chosen rows of memory whose size, bytes, can be: none if together they cannot be."""
    usable: Flags = chosen & (size >= -_MOST_BYTES) & (size <= _MOST_BYTES)
    return usable & bool(np.abs(size[usable]).astype(np.float64).sum() < _MOST_TOGETHER)
