"""Distinguishes calls of a file that share a correlation id: by process, then by order."""

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from tracegraph.ingest.array_tables import expand_ranges
from tracegraph.ingest.arrays import Flags, Ints
from tracegraph.ingest.causal.events.events import NONE, Events
from tracegraph.ingest.causal.launches.reused_ids import Named, assign_in_order
from tracegraph.vocabulary.categories import Role

_CLOCK_NS, _NEAR_NS = 50_000, 20_000
"""By how much clocks may disagree, and how long after its call work starts that follows it soon. The second
is the longest latency of a launch (`LONGEST_LAUNCH_NS`), the first as much as a launch may lag at all
(`LONG_LAG_NS`), both of `launches`, which needs what this module finds."""
_HALF = 0.5
"""If more than this share of the ids of several processes have several activities on a device, these
processes share the device. A half is the majority: an id that one process used again has several, too."""
_ENOUGH_WORK = 10_000
"""How many activities decide who owns a device at most; they are taken evenly over the file. It bounds the
time; chance moves a share of as many by about half a hundredth (its standard error)."""
_MOST_BEGUN = 64
"""How many calls of one id may wait in queues at a time: it bounds time and memory on hostile files. Chosen
by eye: with fewer, the calls of an id that waited longest would be missed."""
_ANY = -1
"""Stands for an unknown process: calls of any may be meant."""


def tell_calls_apart(events: Events, process: Ints) -> Events:
    """Give each call a correlation of its own, and every other row that of its call.

    If a call of a runtime or driver carries an id, other rows on threads lose it (an overhead row may carry
    the id of the operator around it). An id that several processes use belongs to the process that owns the
    device of the row (`_owner`). An id that a process uses again belongs to its calls and their work in their
    order.

    Parameters
    ----------
    process
        The number of the process of each lane.
    """
    is_call = events.of_role(Role.CALL) & events.on_thread & (events.correlation > 0)
    others = events.on_thread & ~is_call & np.isin(events.correlation, events.correlation[is_call])
    if others.any():
        events = replace(events, correlation=np.where(others, NONE, events.correlation))
    index = np.flatnonzero(events.on_thread & (events.correlation > 0))
    index = index[np.argsort(events.start[index], kind="stable")]
    if len(np.unique(events.correlation[index])) == len(index):
        return events
    calls = _Calls(events, index, process[events.lane[index]])
    rows = np.flatnonzero((events.is_gpu | events.of_role(Role.SYNC)) & (events.correlation > 0))
    owner = _owners(events, calls, rows)
    return _renumbered(events, calls, rows, owner)


@dataclass(frozen=True)
class _Calls:
    """The calls in the order of their start, and the process of each."""

    events: Events
    index: Ints
    process: Ints

    @property
    def start(self) -> Ints:
        return self.events.start[self.index]

    @property
    def ids(self) -> Ints:
        return self.events.correlation[self.index]

    @property
    def of_several(self) -> Ints:
        """The ids that calls of several processes carry."""
        users = pd.Series(self.process).groupby(self.ids).nunique()
        several: Ints = users.index[users > 1].to_numpy(np.int64)
        return several

    def named(self, ids: Ints, owner: Ints, time: Ints) -> Named:
        """Find the calls of each of `ids` around each time: its owner's, if several processes use the id."""
        everyone = np.where(np.isin(ids, self.of_several), owner, _ANY) == _ANY
        parts = [self._of_keys((self.ids,), (ids,), time, everyone)]
        parts.append(self._of_keys((self.ids, self.process), (ids, owner), time, ~everyone))
        return Named(
            *(np.concatenate([part.row for part in parts]), np.concatenate([part.call for part in parts])),
            *(parts[0].calls + parts[1].calls, parts[0].rows + parts[1].rows),
        ).sorted()

    def _of_keys(self, keys: tuple[Ints, ...], wanted: tuple[Ints, ...], time: Ints, chosen: Flags) -> Named:
        """Find for the chosen rows the calls with the same keys: the last before each time, and the next.

        At most `_MOST_BEGUN` calls before each time are listed.
        """
        rows = np.flatnonzero(chosen)
        count = len(self.index)
        code = np.zeros(count + len(rows), dtype=np.int64)
        for key, want in zip(keys, wanted, strict=True):
            part, distinct = pd.factorize(np.concatenate([key, want[rows]]))
            code = code * len(distinct) + part
        code = pd.factorize(code)[0].astype(np.int64)
        mine, theirs = code[:count], code[count:]
        order = np.argsort(mine, kind="stable")
        first, last = (np.searchsorted(mine[order], theirs, side) for side in ("left", "right"))
        rank = theirs * (count + 1) + np.searchsorted(self.start, time[rows], "right")
        begun = np.searchsorted((mine * (count + 1) + np.arange(count))[order], rank, "left")
        low, high = np.maximum(first, begun - _MOST_BEGUN), np.minimum(last, begun + 1)
        number, place = expand_ranges(low, high - low)
        calls, users = np.zeros(len(time), dtype=np.int64), np.zeros(len(time), dtype=np.int64)
        calls[rows], users[rows] = last - first, np.bincount(theirs, minlength=1)[theirs]
        return Named(rows[number], order[place], calls, users)


def _renumbered(events: Events, calls: _Calls, rows: Ints, owner: Ints) -> Events:
    """Assign new numbers: to calls by their order, then to rows whose id no call carries."""
    call = np.full(len(events), -1, dtype=np.int64)
    call[calls.index] = np.arange(len(calls.index))
    work = events.is_gpu[rows]
    call[rows[work]] = _launching(events, calls, rows[work], owner[work])
    call[rows[~work]] = _nearest(events, calls, rows[~work], owner[~work])
    record = np.full(len(events), -1, dtype=np.int64)
    waits = ~work & (events.wait_on_record[rows] > 0)
    since = events.start[rows[waits]]
    record[rows[waits]] = _latest(
        calls, calls.named(events.wait_on_record[rows[waits]], owner[waits], since), since
    )
    return replace(
        events,
        correlation=_numbers(events.correlation, call, len(calls.index)),
        wait_on_record=_numbers(events.wait_on_record, record, len(calls.index)),
    )


def _numbers(written: Ints, call: Ints, count: int) -> Ints:
    """Assign 1 + the position of the call, higher numbers to written ids without one, absent to absent."""
    alone = count + 1 + pd.factorize(written)[0]
    return np.where(call >= 0, call + 1, np.where(written > 0, alone, written))


def _latest(calls: _Calls, named: Named, time: Ints) -> Ints:
    """Find the last call that started by each row's time, else the first; -1 for none."""
    found = np.full(len(time), -1, dtype=np.int64)
    found[named.row[::-1]] = named.call[::-1]
    begun = calls.start[named.call] <= time[named.row]
    found[named.row[begun]] = named.call[begun]
    return found


def _nearest(events: Events, calls: _Calls, rows: Ints, owner: Ints) -> Ints:
    """Find the call that starts nearest to each row; -1 for none."""
    time = events.start[rows]
    named = calls.named(events.correlation[rows], owner, time)
    order = np.argsort(-np.abs(calls.start[named.call] - time[named.row]), kind="stable")
    found = np.full(len(rows), -1, dtype=np.int64)
    found[named.row[order]] = named.call[order]
    return found


def _launching(events: Events, calls: _Calls, work: Ints, owner: Ints) -> Ints:
    """Find the call of each activity: by order if its id has no fewer calls than activities, else by time."""
    named = calls.named(events.correlation[work], owner, events.start[work])
    found = _latest(calls, named, events.start[work])
    ordered = (named.calls > 0) & (named.rows <= named.calls)
    if (named.calls[ordered] > 1).any():
        found[ordered] = assign_in_order(events, calls.index, named, work, ordered)[ordered]
    return found


def _owners(events: Events, calls: _Calls, rows: Ints) -> Ints:
    """Find the process that owns the device of each row, `_ANY` if it is unknown."""
    owner = np.full(len(rows), _ANY, dtype=np.int64)
    if len(np.unique(calls.process)) == 1:
        return owner
    work = events.is_gpu[rows]
    for device in np.unique(events.device[rows]).tolist():
        mine = events.device[rows] == device
        owner[mine] = _owner(events, calls, rows[mine & work])
    return owner


def _owner(events: Events, calls: _Calls, work: Ints) -> int:
    """Find the process whose calls launched the work of one device, `_ANY` if several did.

    It is the process with the most ids that no other process uses, if there are such ids; else the one after
    whose calls most of the work starts soon, and little of it before them. If most ids of several processes
    have several activities on the device, these processes share it.
    """
    work = work[np.isin(events.correlation[work], calls.ids)]
    ids = events.correlation[work]
    both = np.isin(ids, calls.of_several)
    if both.any() and (np.unique(ids[both], return_counts=True)[1] > 1).mean() > _HALF:
        return _ANY
    process = pd.Series(calls.process, index=calls.ids)
    sole = process[~process.index.duplicated()].reindex(ids[~both]).to_numpy(np.int64)
    if len(sole):
        return int(np.bincount(sole).argmax())
    sample = work[:: len(work) // _ENOUGH_WORK + 1]
    scores = {
        process: _follows(events, calls, sample, process) for process in np.unique(calls.process).tolist()
    }
    return max(scores, key=lambda process: scores[process]) if len(work) else _ANY


def _follows(events: Events, calls: _Calls, work: Ints, process: int) -> float:
    """Calculate which share of work starts soon after its id's last call in a process, less that before."""
    time = events.start[work]
    owner = np.full(len(work), process, dtype=np.int64)
    call = _latest(calls, calls.named(events.correlation[work], owner, time), time)
    time, call = time[call >= 0], calls.index[call[call >= 0]]
    if not len(call):
        return -np.inf
    after = time - events.end[call]
    soon = (after >= -_CLOCK_NS) & (after <= _NEAR_NS)
    return float((soon.astype(float) - (time < events.start[call] - _CLOCK_NS)).mean())
