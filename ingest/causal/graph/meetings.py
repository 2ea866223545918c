"""Operations in which several ranks take part: who came when, and from when on they all worked."""

from dataclasses import dataclass

import numpy as np

from tracegraph.ingest.arrays import Flags, Floats, Ints


@dataclass(frozen=True)
class Meetings:
    """Collectives and pairs of a send and a receive, by the time at which the last member came; ns.

    The attributes up to `rendezvous` have one row per operation. The others have one row per member, sorted
    by operation, arrival and lane, so that the last member of an operation is the one that came last.

    Attributes
    ----------
    sequence, size, bytes
        The number of the operation, the ranks of its group, and all its data as NCCL's tests count it; `NONE`
        if unknown.
    recorded
        Whether ids in the files match its members; else their order does.
    missing
        The ranks of the group that are not members here.
    rendezvous
        When the last member came, ns.
    member_of
        The row of the member's operation.
    event, arrival, end
        The member's event, and when it came and ended, ns.
    """

    name: list[str]
    group: list[str | None]
    sequence: Ints
    size: Ints
    recorded: Flags
    confidence: Floats
    bytes: Ints
    dtype: list[str | None]
    missing: list[tuple[int, ...]]
    rendezvous: Ints
    member_of: Ints
    event: Ints
    arrival: Ints
    end: Ints

    def __len__(self) -> int:
        return len(self.rendezvous)

    @property
    def is_last(self) -> Flags:
        """Which members came last."""
        return np.append(self.member_of[1:] != self.member_of[:-1], True)[: len(self.member_of)]

    @property
    def members(self) -> Ints:
        """How many members each operation has."""
        return np.bincount(self.member_of, minlength=len(self))


def no_meetings() -> Meetings:
    """Make a table without rows."""
    no, flags = np.empty(0, dtype=np.int64), np.empty(0, dtype=bool)
    return Meetings([], [], no, no, flags, np.empty(0), no, [], [], no, no, no, no, no)
