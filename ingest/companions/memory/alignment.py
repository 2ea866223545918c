"""Aligns a recording of memory with the `[memory]` rows of a trace: the same allocations on two clocks."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from tracegraph.ingest.arrays import Ints

TOLERANCE_NS = 1_000
"""Snapshots state microseconds: one allocation has times that differ by up to this, beside the clocks."""
LEAST_MATCHED, LEAST_SIZES, LEAST_SHARE = 8, 3, 0.8
"""What two sequences must share to be one: changes, different sizes of these, and the part of all there.
Chosen by eye: steps allocate the same sizes again, so that a few equal ones prove little; a larger share
would refuse recordings that began a step apart."""
_LEAST_OVERLAP = 0.25
"""Part of the shorter sequence that must lie in the time of the other. Chosen by eye: with less in common,
sizes that repeat in each step match at the wrong step."""
_ROUNDED = 512
"""The CUDA allocator rounds sizes up to a multiple of this; rows of traces state them so."""
_MOST_PAIRS, _MOST_TRIED = 1_000_000, 5
"""How many pairs of allocations of one size are compared, and how many shifts between the two clocks are
tried. They bound time and memory, as sizes that occur a thousand times on both sides have a million pairs."""


@dataclass(frozen=True)
class Changes:
    """Changes of memory by time: when, ns of its own clock, and bytes, negative where they are freed."""

    at_ns: Ints
    bytes: Ints

    def rounded(self) -> "Changes":
        """Return the changes as the CUDA allocator rounds them."""
        return Changes(self.at_ns, np.sign(self.bytes) * (-(-np.abs(self.bytes) // _ROUNDED) * _ROUNDED))


@dataclass(frozen=True)
class Alignment:
    """What must be added to the recording's times for those of the trace, and by what that is known.

    `matched` of the `compared` changes that lie in the time of both have a change of the same size.
    """

    offset_ns: int
    matched: int
    compared: int


def changes_in(running: pd.DataFrame) -> Changes:
    """Return the changes of all classes together, of `Recording.running`."""
    total = running.drop(columns="at_ns").sum(axis=1)
    change = total.diff().fillna(total)
    known = running["at_ns"].notna() & (change != 0)
    at_ns = running.loc[known, "at_ns"].to_numpy(dtype=np.int64)
    return Changes(at_ns, change[known].to_numpy(dtype=np.int64))


def align(recording: Changes, trace: Changes) -> Alignment | None:
    """Find the offset of the clocks at which most changes agree by time and size; None where none is sure.

    Each pair of changes of one size proposes its difference in time; those of rare sizes are enough. An
    offset counts only if most changes agree there, and not half as many at any other.
    """
    tried = [_matched(recording, trace, offset) for offset in _proposed(recording, trace)]
    if not tried:
        return None
    (rough, _, off), *others = sorted(tried, key=lambda one: -one[0].matched)
    # The middle of all differences is nearer than that of the rare sizes.
    best, sizes, _ = _matched(recording, trace, rough.offset_ns + off)
    sure = best.matched >= max(LEAST_MATCHED, LEAST_SHARE * best.compared) and sizes >= LEAST_SIZES
    shorter = min(len(recording.at_ns), len(trace.at_ns))
    alone = all(2 * other.matched < best.matched for other, *_ in others)
    return best if sure and alone and best.compared >= _LEAST_OVERLAP * shorter else None


def _proposed(recording: Changes, trace: Changes) -> list[int]:
    """List the differences in time that most pairs of rare sizes have, apart from each other."""
    own, other = (pd.Series(one.at_ns).groupby(one.bytes).indices for one in (recording, trace))
    sizes = sorted(own.keys() & other.keys(), key=lambda size: len(own[size]) * len(other[size]))
    found: list[Ints] = []
    pairs = 0
    for size in sizes:
        pairs += len(own[size]) * len(other[size])
        if pairs > _MOST_PAIRS:
            break
        found.append(np.subtract.outer(trace.at_ns[other[size]], recording.at_ns[own[size]]).ravel())
    if not found:
        return []
    apart = np.sort(np.concatenate(found))
    after = np.searchsorted(apart, apart + TOLERANCE_NS, "right")
    count = after - np.arange(len(apart))
    chosen: list[int] = []
    for first in np.argsort(-count, kind="stable"):
        middle = int(apart[first]) + int(apart[after[first] - 1] - apart[first]) // 2
        if all(abs(middle - one) > 2 * TOLERANCE_NS for one in chosen):
            chosen.append(middle)
        if len(chosen) == _MOST_TRIED:
            break
    return chosen


def _matched(recording: Changes, trace: Changes, offset: int) -> tuple[Alignment, int, int]:
    """Count the changes that agree at an offset, and their different sizes; and how far they are off, ns."""
    at_ns = recording.at_ns + offset
    first, last = max(at_ns[0], trace.at_ns[0]), min(at_ns[-1], trace.at_ns[-1])
    both = (at_ns >= first - TOLERANCE_NS) & (at_ns <= last + TOLERANCE_NS)
    there = (trace.at_ns >= first - TOLERANCE_NS) & (trace.at_ns <= last + TOLERANCE_NS)
    own = pd.DataFrame({"at_ns": at_ns[both], "bytes": recording.bytes[both]})
    other = pd.DataFrame({"at_ns": trace.at_ns[there], "bytes": trace.bytes[there]})
    other = other.assign(row=range(len(other)), then=other["at_ns"])
    pairs = pd.merge_asof(own, other, on="at_ns", by="bytes", direction="nearest", tolerance=TOLERANCE_NS)
    found = pairs.dropna(subset="row").drop_duplicates("row")
    alignment = Alignment(offset, len(found), min(len(own), len(other)))
    off = 0 if found.empty else round(float((found["then"] - found["at_ns"]).median()))
    return alignment, found["bytes"].nunique(), off
