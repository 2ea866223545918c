"""Operations that several ranks take part in: who came when, and from when on they all worked."""

from dataclasses import dataclass

import numpy as np

from tracegraph.ingest.arrays import Flags, Floats, Ints


@dataclass(frozen=True)
class Meetings:
    """Collectives and pairs of a send and a receive, by the time at which the last member came; times in ns.

    One row an operation: `sequence`, `size` (ranks of its group) and `bytes` (all its data, as NCCL's tests
    count it) are `NONE` where unknown. `recorded`: whether ids in the files match its members, else their
    order does. `missing`: ranks of the group that are no members here.
    One row a member, by operation, arrival and lane, so that the last of an operation is the one that came
    last: `member_of` (row of the operation), `event`, `arrival` and `end`.
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
    """Return a table without rows."""
    no, flags = np.empty(0, dtype=np.int64), np.empty(0, dtype=bool)
    return Meetings([], [], no, no, flags, np.empty(0), no, [], [], no, no, no, no, no)
