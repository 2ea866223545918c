"""Which events of several ranks are one operation: by ids in the files, else by name, size and order."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from tracegraph.ingest.arrays import Ints
from tracegraph.ingest.ranks.members import Member

_FEWEST, _TIMES_NEARER = 4, 4.0
"""Operations that a shift needs, and by how many times its spread must be below the next best one. Chosen by
eye: the ends of two or three operations may agree by chance at a wrong shift; a larger factor would leave
more files unmatched."""
_MOST_PLACES = 1 << 24
"""Comparisons (shifts times operations) up to which shifts are tried; they are held in memory at once, in 128
MiB."""
_BY_TIME, _BY_ORDER, _BY_ORDER_OF_GROUP = 0.6, 0.8, 0.9
"""Confidence (0..1) of a match without ids: by ends, by order, by order in a group that files name. All three
are estimates, in the order of how much of a match the files state."""
_DIFFERENT = "the ranks recorded different numbers of them, which nothing else tells apart"
_RECORDED_BY_SOME = "some of the ranks did not record them"
Key = tuple[object, ...]


def find_shift(shorter: Sequence[int], longer: Sequence[int]) -> int | None:
    """Find with how many of the `longer` series the `shorter` one begins; both are ends in ns.

    All members leave an operation together, so that the right shift leaves the difference of the ends nearly
    the same throughout, whatever the clocks show. None if no shift does so far better than all others.
    """
    ours, theirs = np.array(shorter, dtype=np.int64), np.array(longer, dtype=np.int64)
    shifts = len(theirs) - len(ours) + 1
    if len(ours) < _FEWEST or shifts * len(ours) > _MOST_PLACES:
        return None
    apart: Ints = sliding_window_view(theirs, len(ours)) - ours
    middle = np.median(apart, axis=1, keepdims=True)
    spread = np.median(np.abs(apart - middle), axis=1)
    order = np.argsort(spread, kind="stable")
    best, second = order[0], order[1]
    return int(best) if _TIMES_NEARER * max(spread[best], 1) <= spread[second] else None


@dataclass(frozen=True)
class Operation:
    """One operation and its members by rank; `ranks`: those of its group, None if they are not known.

    `recorded`: ids match the members, else their order does. `confidence`: of the match, 0..1.
    """

    members: Mapping[int, Member]
    ranks: tuple[int, ...] | None
    recorded: bool
    confidence: float

    @property
    def first(self) -> Member:
        """The member of the lowest rank."""
        return self.members[min(self.members)]

    @property
    def missing(self) -> tuple[int, ...]:
        """Ranks of the group that are not among the members."""
        return tuple(rank for rank in self.ranks or () if rank not in self.members)


@dataclass(frozen=True)
class Unmatched:
    """Events that could not be matched: how many, and why."""

    count: int
    reason: str


def match(ranks: Mapping[int, Sequence[Member]]) -> tuple[list[Operation], list[Unmatched]]:
    """Match the operations of all ranks, whose members are given by rank and in their order.

    An id is a group, its ranks and the number of the operation in it. Without numbers, the k-th operation of
    one kind, size and type in a group is the same for all of its ranks if each has equally many. Otherwise
    the operations match whose ends lie equally far apart throughout.

    Returns
    -------
    operations, unmatched
        The operations, and how many events could not be matched, by reason.
    """
    series: dict[Key, dict[int, list[Member]]] = defaultdict(lambda: defaultdict(list))
    for rank, members in ranks.items():
        for member in members:
            series[_series(rank, member)][rank].append(member)
    operations, unmatched = [], []
    for by_rank in series.values():
        matched, left = _match_series(by_rank, tuple(sorted(ranks)))
        operations += matched
        unmatched += left
    return operations, _summed(unmatched)


def _series(rank: int, member: Member) -> Key:
    """Make the key that all members that may be one operation have in common."""
    if (pair := _pair(rank, member)) is not None:
        return ("pair", member.group, *pair)
    place = (member.group, member.ranks, member.kind)
    if member.sequence is not None and member.group is not None:
        return (*place, member.sequence)
    return (*place, None, member.size, member.elements, member.dtype, _plain(member.name))


def _pair(rank: int, member: Member) -> tuple[int, int] | None:
    """Find sender and receiver of a point-to-point operation; None unless the file names the other one."""
    if member.kind == "send" and member.receiver is not None:
        return rank, member.receiver
    if member.kind == "recv" and member.sender is not None:
        return member.sender, rank
    return None


def _plain(name: str) -> str:
    """Cut the arguments from a kernel's name: they differ between versions of one library."""
    return name.split("(", 1)[0]


def _match_series(
    by_rank: Mapping[int, list[Member]], job: tuple[int, ...]
) -> tuple[list[Operation], list[Unmatched]]:
    count = sum(map(len, by_rank.values()))
    some = next(iter(by_rank.values()))[0]
    numbered = some.sequence is not None and some.group is not None
    group = some.ranks or _whole_job(some, job)
    if some.kind not in ("send", "recv") and group is None:
        return [], [Unmatched(count, "their group has fewer members than the job, and no file says which")]
    confidence = 1.0 if numbered else _BY_ORDER_OF_GROUP if some.group is not None else _BY_ORDER
    aligned: Mapping[int, Sequence[Member]] | None = by_rank
    if len({len(members) for members in by_rank.values()}) > 1:
        aligned, confidence = _aligned(by_rank), _BY_TIME
    if aligned is None:
        return [], [Unmatched(count, _DIFFERENT)]
    found = [
        Operation(dict(zip(aligned, members, strict=True)), group, numbered, confidence)
        for members in zip(*aligned.values(), strict=True)
    ]
    left = count - sum(len(operation.members) for operation in found)
    return found, [Unmatched(left, _RECORDED_BY_SOME)] if left else []


def _aligned(by_rank: Mapping[int, list[Member]]) -> dict[int, list[Member]] | None:
    """Keep of each rank as many members as the rank with the fewest has, those that end with its own.

    None if their ends do not show which they are.
    """
    fewest = min(by_rank.values(), key=len)
    found = {}
    for rank, members in by_rank.items():
        ends = [[one.end for one in series] for series in (fewest, members)]
        shift = 0 if len(members) == len(fewest) else find_shift(*ends)
        if shift is None:
            return None
        found[rank] = members[shift : shift + len(fewest)]
    return found


def _whole_job(member: Member, job: tuple[int, ...]) -> tuple[int, ...] | None:
    """Return all ranks of the run, unless the group is known to have fewer or more."""
    return job if member.size is None or member.size == len(job) else None


def _summed(unmatched: Iterable[Unmatched]) -> list[Unmatched]:
    counts: dict[str, int] = defaultdict(int)
    for one in unmatched:
        counts[one.reason] += one.count
    return [Unmatched(count, reason) for reason, count in counts.items()]


def shared(operations: Iterable[Operation]) -> Iterator[Operation]:
    """Keep the operations that at least two of the files hold."""
    return (operation for operation in operations if len(operation.members) > 1)
