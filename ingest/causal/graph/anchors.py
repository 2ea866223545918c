"""When the entries of runs are reached in a replay: in a loop over the few that hold up other runs.

An entry is a place of a run that other runs may hold up. Its anchor is the latest of the run's anchor before
it and of the arrivals of its edges. Only the anchor of an entry after which an edge leaves is needed to know
those of other runs. So the entries of a run up to the next such one make a group, whose anchor is known in
one step, and the others are filled in at the end.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from tracegraph.ingest.arrays import Flags, Ints


@dataclass(frozen=True)
class Reached:
    """The anchors of a replay, ns.

    Attributes
    ----------
    of_entry
        For each entry; one more, for -1, stands for the start of all runs.
    arrival
        For each edge: from when on it lets its entry begin.
    floors
        Before when each entry does not begin whatever its edges are; never before the start of all runs.
    """

    of_entry: Ints
    arrival: Ints
    floors: Ints


class Entries:
    """The entries of all runs in the order of a replay, with the edges that lead to them.

    Parameters
    ----------
    run
        The run of each entry. Entries of one run come in its order.
    edges
        How many edges lead to each entry.
    cause
        For each edge, sorted by entry: the entry of its cause's run at or before the cause, -1 for none.
    """

    def __init__(self, run: Ints, edges: Ints, cause: Ints) -> None:
        count = len(run)
        self.cause = cause
        self._entry_of = np.repeat(np.arange(count), edges)
        self._in_run = np.argsort(run, kind="stable")
        of_run = run[self._in_run]
        self._is_first: Flags = np.append(True, of_run[1:] != of_run[:-1])[:count]
        begins = np.flatnonzero(self._is_first)
        bounds = np.append(begins, count).tolist()
        self._runs = list(pairwise(bounds))
        self._with_edges = np.flatnonzero(edges)
        self._first_edge = (np.cumsum(edges) - edges)[self._with_edges]
        self._group()

    def _group(self) -> None:
        """Join the entries of a run up to each after which an edge leaves, in the order of the last ones."""
        count = len(self._in_run)
        leaves = np.zeros(count + 1, dtype=bool)
        leaves[self.cause] = True
        ends = np.append(self._is_first[1:], True)[:count] | leaves[self._in_run]
        begins = np.append(True, ends[:-1])[:count]
        number = np.cumsum(begins) - 1
        order = np.argsort(self._in_run[ends], kind="stable")
        place = np.empty(len(order), dtype=np.int64)
        place[order] = np.arange(len(order))
        of_entry = np.full(count + 1, -1, dtype=np.int64)
        of_entry[self._in_run] = place[number]
        self._order, self._begins = order, np.flatnonzero(begins)
        before = np.where(self._is_first[begins], -1, np.append(-1, place[:-1])[: len(place)])
        self._before: list[int] = before[order].tolist()
        self._cause_group = of_entry[self.cause]
        into = of_entry[self._entry_of]
        self._by_pair = np.lexsort((self._cause_group, into))
        causes, into = self._cause_group[self._by_pair], into[self._by_pair]
        is_first = np.append(True, (into[1:] != into[:-1]) | (causes[1:] != causes[:-1]))[: len(into)]
        self._pairs = np.flatnonzero(is_first)
        self._causes: list[int] = causes[self._pairs].tolist()
        self._until: list[int] = np.cumsum(np.bincount(into[self._pairs], minlength=len(order))).tolist()

    def reach(self, later: Ints, floors: Ints, begun: int) -> Reached:
        """Find all anchors.

        Parameters
        ----------
        later
            By how many ns each edge's entry is anchored after its cause.
        floors
            Before when each entry does not begin whatever its edges are, ns; never before `begun`.
        begun
            When all runs begin, ns.
        """
        arrival = np.array(self._of_groups(later, floors, begun), dtype=np.int64)[self._cause_group] + later
        known = floors.copy()
        if len(arrival):
            latest = np.maximum.reduceat(arrival, self._first_edge)
            known[self._with_edges] = np.maximum(known[self._with_edges], latest)
        known = known[self._in_run]
        for begin, end in self._runs:
            np.maximum.accumulate(known[begin:end], out=known[begin:end])
        of_entry = np.full(len(known) + 1, begun)
        of_entry[self._in_run] = known
        return Reached(of_entry, arrival, floors)

    def _of_groups(self, later: Ints, floors: Ints, begun: int) -> list[int]:
        """Find the anchor of each group's last entry; one more is `begun`."""
        anchors = [begun] * (len(self._before) + 1)
        if not len(later):
            return anchors
        longest = np.maximum.reduceat(later[self._by_pair], self._pairs).tolist()
        lowest = np.maximum.reduceat(floors[self._in_run], self._begins)[self._order].tolist()
        causes, edge = self._causes, 0
        for group, (before, until, floor) in enumerate(zip(self._before, self._until, lowest, strict=True)):
            anchor = anchors[before]
            if floor > anchor:  # noqa: PLR1730  (a call takes twice as long)
                anchor = floor
            while edge < until:
                arrival = anchors[causes[edge]] + longest[edge]
                if arrival > anchor:  # noqa: PLR1730
                    anchor = arrival
                edge += 1
            anchors[group] = anchor
        return anchors

    def raised(self, reached: Reached, begun: int) -> tuple[Ints, Ints]:
        """Find which edge raised the anchor at each entry, and which entry of its run did so last until then.

        Of several edges that raise it as far it is the first; -1 stands for none.
        """
        count = len(self._in_run)
        known, in_run = reached.of_entry[:-1], self._in_run
        before = np.empty(count, dtype=np.int64)
        before[in_run] = np.where(self._is_first, begun, np.roll(known[in_run], 1))
        raises = known > np.maximum(before, reached.floors)
        edges = np.flatnonzero(raises[self._entry_of] & (reached.arrival == known[self._entry_of]))
        chosen = np.full(count, -1, dtype=np.int64)
        chosen[self._entry_of[edges][::-1]] = edges[::-1]  # the first one is written last
        place = np.maximum.accumulate(np.where(raises[in_run] | self._is_first, np.arange(count), 0))
        raised_by = np.empty(count, dtype=np.int64)
        raised_by[in_run] = np.where(raises[in_run][place], in_run[place], -1)
        return chosen, raised_by
