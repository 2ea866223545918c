"""Correlation ids that several calls of a file carry, told apart: by process, then by order."""

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from tracegraph.ingest.events import NONE, Events, Ints
from tracegraph.ingest.reused_ids import assign_in_order

_CLOCK_NS, _NEAR_NS = 50_000, 20_000
_HALF = 0.5
_ANY = -1


def tell_calls_apart(events: Events, process: Ints) -> Events:
    """The same events with a correlation of its own for each call, and that of its call for all other rows.

    Where a call of a runtime or driver carries an id, other rows on threads do not (an overhead row may carry
    that of the operator around it). An id that several processes use belongs to the process that owns the
    device of the row (`_owner`); one that a process uses again, to its calls and their work in their order.
    `process`: number of the process of each lane.
    """
    named = np.array([str(c).endswith(("_runtime", "_driver")) for c in events.category.values], dtype=bool)
    is_call = events.category.matching(named) & events.on_thread & (events.correlation > 0)
    others = events.on_thread & ~is_call & np.isin(events.correlation, events.correlation[is_call])
    if others.any():
        events = replace(events, correlation=np.where(others, NONE, events.correlation))
    index = np.flatnonzero(events.on_thread & (events.correlation > 0))
    index = index[np.argsort(events.start[index], kind="stable")]
    if len(np.unique(events.correlation[index])) == len(index):
        return events
    calls = _Calls(events, index, process[events.lane[index]])
    rows = np.flatnonzero((events.is_gpu | events.category.among("cuda_sync")) & (events.correlation > 0))
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
    def of_several(self) -> Ints:
        """Ids that calls of several processes carry."""
        ids = self.events.correlation[self.index]
        users = pd.Series(self.process).groupby(ids).nunique()
        several: Ints = users.index[users > 1].to_numpy(np.int64)
        return several

    def named(self, ids: Ints, owner: Ints) -> pd.DataFrame:
        """A row for each of `ids` and each call of that id, of its owner if several processes use it."""
        mine = pd.DataFrame({"id": self.events.correlation[self.index], "process": self.process})
        mine["several"] = np.isin(mine["id"], self.of_several)
        mine["call"] = np.arange(len(mine))
        wanted = pd.DataFrame({"id": ids, "owner": owner, "row": np.arange(len(ids))})
        found = wanted.merge(mine, on="id")
        right = ~found["several"] | (found["owner"] == _ANY) | (found["owner"] == found["process"])
        return found.loc[right, ["row", "call"]].sort_values(["row", "call"], ignore_index=True)


def _renumbered(events: Events, calls: _Calls, rows: Ints, owner: Ints) -> Events:
    """New numbers: the calls' by their order, then those of rows whose id no call carries."""
    call = np.full(len(events), -1, dtype=np.int64)
    call[calls.index] = np.arange(len(calls.index))
    work = events.is_gpu[rows]
    call[rows[work]] = _launching(events, calls, rows[work], owner[work])
    call[rows[~work]] = _nearest(events, calls, rows[~work], owner[~work])
    record = np.full(len(events), -1, dtype=np.int64)
    waits = ~work & (events.wait_on_record[rows] > 0)
    named = calls.named(events.wait_on_record[rows[waits]], owner[waits])
    record[rows[waits]] = _latest(calls, named, events.start[rows[waits]])
    return replace(
        events,
        correlation=_numbers(events.correlation, call, len(calls.index)),
        wait_on_record=_numbers(events.wait_on_record, record, len(calls.index)),
    )


def _numbers(written: Ints, call: Ints, count: int) -> Ints:
    """1 + the position of the call, beyond these for written ids without one; absent stays absent."""
    alone = count + 1 + pd.factorize(written)[0]
    return np.where(call >= 0, call + 1, np.where(written > 0, alone, written))


def _latest(calls: _Calls, named: pd.DataFrame, time: Ints) -> Ints:
    """The last call that started by each row's time, else the first; -1 for none."""
    row, call = named["row"].to_numpy(), named["call"].to_numpy()
    found = np.full(len(time), -1, dtype=np.int64)
    found[row[::-1]] = call[::-1]
    begun = calls.start[call] <= time[row]
    found[row[begun]] = call[begun]
    return found


def _nearest(events: Events, calls: _Calls, rows: Ints, owner: Ints) -> Ints:
    """The call that starts nearest to each row; -1 for none."""
    named = calls.named(events.correlation[rows], owner)
    row, call = named["row"].to_numpy(), named["call"].to_numpy()
    order = np.argsort(-np.abs(calls.start[call] - events.start[rows[row]]), kind="stable")
    found = np.full(len(rows), -1, dtype=np.int64)
    found[row[order]] = call[order]
    return found


def _launching(events: Events, calls: _Calls, work: Ints, owner: Ints) -> Ints:
    """The call of each activity; in their order where there are as many calls of an id as activities."""
    named = calls.named(events.correlation[work], owner)
    found = _latest(calls, named, events.start[work])
    choices = np.bincount(named["row"], minlength=len(work))
    sharers = named.groupby("call")["row"].transform("size").to_numpy()
    crowded = np.zeros(len(work), dtype=bool)
    crowded[named["row"].to_numpy()[sharers > choices[named["row"]]]] = True
    ordered = ~crowded & (choices > 0)
    if (choices[ordered] > 1).any():
        found[ordered] = assign_in_order(events, calls.index, named, work, ordered)[ordered]
    return found


def _owners(events: Events, calls: _Calls, rows: Ints) -> Ints:
    """The process that owns the device of each row, `_ANY` where that cannot be told."""
    owner = np.full(len(rows), _ANY, dtype=np.int64)
    if len(np.unique(calls.process)) == 1:
        return owner
    work = events.is_gpu[rows]
    for device in np.unique(events.device[rows]).tolist():
        mine = events.device[rows] == device
        owner[mine] = _owner(events, calls, rows[mine & work])
    return owner


def _owner(events: Events, calls: _Calls, work: Ints) -> int:
    """The process whose calls launched the work of one device.

    It is the one with the most ids that no other process uses, if any; else the one after whose calls most of
    the work starts soon, and little before. Where most ids of several processes have several activities on
    the device, they share it.
    """
    ids = events.correlation[calls.index]
    found = pd.DataFrame({"id": events.correlation[work], "start": events.start[work]})
    found = found[np.isin(found["id"], ids)]
    found = found.assign(both=np.isin(found["id"], calls.of_several))
    if (found[found["both"]].groupby("id").size() > 1).mean() > _HALF:
        return _ANY
    done = events.end[calls.index]
    own = pd.DataFrame({"id": ids, "process": calls.process, "begun": calls.start, "done": done})
    pairs = found.merge(own, on="id")
    sole = pairs.loc[~pairs["both"], "process"].to_numpy(np.int64)
    if len(sole):
        return int(np.bincount(sole).argmax())
    soon = (pairs["start"] - pairs["done"]).between(-_CLOCK_NS, _NEAR_NS)
    before = pairs["start"] < pairs["begun"] - _CLOCK_NS
    score = (soon.astype(float) - before).groupby(pairs["process"]).mean()
    return int(score.index.to_numpy(np.int64)[int(score.to_numpy().argmax())]) if len(score) else _ANY
