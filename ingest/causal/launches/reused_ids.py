"""Correlation ids that are used again while work waits in queues: order shows whose call is whose."""

from dataclasses import dataclass

import numpy as np

from tracegraph.ingest.arrays import Flags, Ints
from tracegraph.ingest.causal.events.events import Events

_DENSE = 20
"""A stream is launched on much more often than ids come back if this many of its works fall between two calls
of one id. Chosen by eye: with fewer, an id may come back before the next work of the stream, and the next
call of the id may be that of another stream."""
_MOST = 0.9
"""A name of calls is a stream's usual one if this share of its activities has a free call of it. Chosen by
eye: with less, a name that a stream shares with others would count as its own, with more a few lost rows
would make it unusual."""


@dataclass(frozen=True)
class Named:
    """Pairs of a row and a call that carry one id, by (row, call): positions among those asked about.

    `calls`, `rows`: for each row, how many calls and how many rows have its id.
    """

    row: Ints
    call: Ints
    calls: Ints
    rows: Ints

    def sorted(self) -> "Named":
        """Sort the pairs by (row, call)."""
        order = np.lexsort((self.call, self.row))
        return Named(self.row[order], self.call[order], self.calls, self.rows)


def assign_in_order(events: Events, calls: Ints, named: Named, work: Ints, chosen: Flags) -> Ints:
    """Find the launching call of each chosen activity, as a position in `calls`.

    Work of one stream was launched in its order, and each call launches one activity. On a stream that is
    launched on much more often than ids come back, the next call of the id is taken; on other streams the
    last call before the work started, of the name that is there most often. This is a Python loop over the
    activities, for files that use ids again only.

    Parameters
    ----------
    calls
        Indices of the calls, in the order of their start.
    named
        The calls that each activity may have; activities are positions in `work`.
    """
    by_row = dict(_groups(named))
    cycle = _cycle(events.correlation[calls])
    found = np.full(len(work), -1, dtype=np.int64)
    taken = np.zeros(len(calls), dtype=bool)
    rows = np.flatnonzero(chosen)
    lanes, sizes = np.unique(events.lane[work[rows]], return_counts=True)
    for lane, size in sorted(zip(lanes.tolist(), sizes.tolist(), strict=True), key=lambda pair: -pair[1]):
        mine = rows[events.lane[work[rows]] == lane]
        mine = mine[np.argsort(events.start[work[mine]], kind="stable")]
        possible = [_begun(events, calls, by_row[row], int(events.start[work[row]])) for row in mine.tolist()]
        if len(calls) * _DENSE < cycle * size:
            picked = _next_calls(possible, taken)
        else:
            free = [options[~taken[options]] for options in possible]
            picked = _last_calls(_of_usual_name(events, calls, free), possible)
        found[mine] = picked
        taken[picked[picked >= 0]] = True
    return found


def _groups(named: Named) -> list[tuple[int, Ints]]:
    rows, first = np.unique(named.row, return_index=True)
    return list(zip(rows.tolist(), np.split(named.call, first[1:]), strict=True))


def _cycle(ids: Ints) -> float:
    """Count how many calls usually lie between two of one id; infinite if no id comes back."""
    order = np.argsort(ids, kind="stable")
    again = np.append(False, ids[order][1:] == ids[order][:-1])
    apart = np.diff(order, prepend=0)[again]
    return float(np.median(apart)) if len(apart) else np.inf


def _begun(events: Events, calls: Ints, options: Ints, start: int) -> Ints:
    """Keep the calls that began before the work, else the first."""
    count = int(np.searchsorted(events.start[calls[options]], start, "right"))
    return options[: max(count, 1)]


def _next_calls(possible: list[Ints], taken: Flags) -> Ints:
    """Pick for each activity the first free call after that of the activity before; at first the last."""
    picked, before = [], -1
    for options in possible:
        later = options[(options > before) & ~taken[options]]
        if before < 0:
            later = later[-1:]
        call = int(later[0]) if len(later) else int(options[-1])
        picked.append(call)
        before = call
    return np.array(picked, dtype=np.int64)


def _last_calls(free: list[Ints], possible: list[Ints]) -> Ints:
    """Pick for each activity the last of its free calls before that of the activity after it."""
    picked, after = [], np.iinfo(np.int64).max
    for options, all_options in zip(reversed(free), reversed(possible), strict=True):
        earlier = options[options < after]
        call = int(earlier[-1]) if len(earlier) else int(all_options[-1])
        picked.append(call)
        after = min(after, call)
    return np.array(picked[::-1], dtype=np.int64)


def _of_usual_name(events: Events, calls: Ints, free: list[Ints]) -> list[Ints]:
    """Keep only calls of the name of which nearly every activity has a free call, if there is one."""
    codes = [np.unique(events.name.codes[calls[options]]) for options in free]
    seen, counts = np.unique(np.concatenate([np.empty(0, dtype=np.int32), *codes]), return_counts=True)
    if not len(seen) or counts.max() < _MOST * len(free):
        return free
    usual = seen[int(counts.argmax())]
    return [options[events.name.codes[calls[options]] == usual] for options in free]
