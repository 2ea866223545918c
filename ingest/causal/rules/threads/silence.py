"""Finds where threads are silent, and what ends on them."""

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from tracegraph.ingest.arrays import Flags, Floats, Ints
from tracegraph.ingest.causal.events.callstack import CallStack
from tracegraph.ingest.causal.events.events import Events, is_passive
from tracegraph.ingest.causal.events.lane_times import Keys
from tracegraph.ingest.causal.events.lanes import Lanes
from tracegraph.ingest.causal.launches.launches import Launches
from tracegraph.vocabulary.categories import Role

SHORTEST_SILENCE_NS = 100_000
"""The shortest stretch without anything recorded in which rules look for a wait: between recorded calls
Python works for tens of microseconds without a row."""
NEVER = np.iinfo(np.int64).max
"""Stands for the length of the pause after the last event of a thread, ns."""
_OF_SYSTEM = (Role.SYSTEM_CALL, Role.SYSTEM_WAIT, Role.OVERHEAD)
"""What a thread without work of its own does: calls into the operating system, and the profiler's."""
_MOST = 0.95
"""A thread only polls if at least this share of its events is shorter than a silence. Chosen by eye: one in
twenty may be long, since a poller can be kept off the CPU."""


@dataclass(frozen=True)
class Silence:
    """The pauses of the threads of a run, and what ends on them; times in ns, by lane and time.

    Threads that only poll are left out of pauses and signals.

    Attributes
    ----------
    pauses
        Columns lane, start, end, last, inside, leaf of all stretches in which no operator is open: the self
        time of an annotation or a Python frame (`inside`), or a gap between events. The `last` one lies after
        the last event of a thread; one lies before its first. A `leaf` is an annotation around nothing: its
        thread may wait in it for another one, but no other can tell that it idles.
    signals
        Columns by (lane), cut, pause: when something outside of operators ends or a long pause begins, and
        how long nothing follows.
    bounds
        The first start and the last end of each lane.
    process
        The number of the process of each lane.
    """

    pauses: pd.DataFrame
    signals: pd.DataFrame
    bounds: tuple[Ints, Ints]
    process: Ints
    keys: Keys

    @property
    def stretches(self) -> pd.DataFrame:
        """Pauses of at least 100 µs that an event ends: lane, start, end, length, inside, leaf."""
        chosen = self.pauses[_is_long(self.pauses) & ~self.pauses["last"]]
        chosen = chosen.assign(length=chosen["end"] - chosen["start"])
        return chosen.drop(columns="last").reset_index(drop=True)

    def pause_at(self, lane: Ints, time: Ints) -> tuple[Ints, Ints]:
        """Find start and end of the pause under way on each lane at each time; both `time` without one."""
        idle = self.pauses[~self.pauses["leaf"]]
        row, inside = self._find(idle, lane, time)
        start, end = (np.append(idle[c].to_numpy(), 0)[row] for c in ("start", "end"))
        return np.where(inside, start, time), np.where(inside, end, time)

    def active_share(self, lane: Ints, start: Ints, end: Ints) -> Floats:
        """Calculate the share of each stretch in which its lane is in no pause of at least 100 µs, 0 to 1.

        Parameters
        ----------
        lane
            The lane of each stretch.
        start, end
            Its bounds, ns.
        """
        long = self.pauses[_is_long(self.pauses) & ~self.pauses["leaf"]]
        before = np.append(0, np.cumsum(long["end"] - long["start"]))
        until = []
        for time in (start, end):
            row, inside = self._find(long, lane, time)
            left = np.append(long["end"].to_numpy(), 0)[row] - time
            until.append(before[row + 1] - np.where(inside, left, 0))
        share: Floats = 1 - (until[1] - until[0]) / np.maximum(end - start, 1)
        return share

    def _find(self, pauses: pd.DataFrame, lane: Ints, time: Ints) -> tuple[Ints, Flags]:
        """Find the last pause that began by each time, maybe on an earlier lane, and whether it goes on."""
        begun = self.keys.of(pauses["lane"].to_numpy(), pauses["start"].to_numpy())
        row = np.searchsorted(begun, self.keys.of(lane, time), "right") - 1
        on, end = (np.append(pauses[c].to_numpy(), -1)[row] for c in ("lane", "end"))
        return row, (on == lane) & (end > time)


def _is_long(pauses: pd.DataFrame) -> "pd.Series[bool]":
    return pauses["end"] - pauses["start"] >= SHORTEST_SILENCE_NS


def find_silence(events: Events, stack: CallStack, lanes: Lanes, launches: Launches) -> Silence:
    """Find pauses and signals of all threads that do more than poll."""
    first, last = _bounds(events, len(lanes.frame))
    works = np.flatnonzero((last >= first) & ~_only_polls(events, launches, len(lanes.frame)))
    begin, until = int(first[works].min()) if len(works) else 0, int(last[works].max(initial=0))
    passive = np.append(is_passive(events), True)
    mine = passive[stack.piece_event] & np.isin(stack.piece_lane, works)
    leaf = np.append(events.of_role(Role.ANNOTATION), False)
    leaf[stack.parent] = False
    columns = {"lane": stack.piece_lane[mine], "start": stack.piece_start[mine], "end": stack.piece_end[mine]}
    within = stack.piece_event[mine]
    inner = pd.DataFrame({**columns, "last": False, "inside": within >= 0, "leaf": leaf[within]})
    outer = {"lane": works, "inside": False, "leaf": False}
    before = pd.DataFrame({**outer, "start": begin, "end": first[works], "last": False})
    after = pd.DataFrame({**outer, "start": last[works], "end": until, "last": True})
    pauses = pd.concat([inner, before, after])
    pauses = pauses[pauses["end"] > pauses["start"]].sort_values(["lane", "start"], ignore_index=True)
    bare = Silence(pauses, pauses, (first, last), lanes.process, Keys(begin, until, len(lanes.frame)))
    return replace(bare, signals=_signals(events, stack, bare, works))


def _bounds(events: Events, count: int) -> tuple[Ints, Ints]:
    """Find the first start and last end of the events of each lane; without events last < first."""
    first = np.full(count, np.iinfo(np.int64).max)
    last = np.full(count, np.iinfo(np.int64).min)
    np.minimum.at(first, events.lane[events.on_thread], events.start[events.on_thread])
    np.maximum.at(last, events.lane[events.on_thread], events.end[events.on_thread])
    return first, last


def _only_polls(events: Events, launches: Launches, count: int) -> Flags:
    """Tell which lanes hold only calls, 95 % of them shorter than a silence and none launching work.

    Of calls into the operating system any length says so: those of a thread that does nothing else end when
    time is up, or when other processes send something.
    """
    is_call = events.of_role(Role.CALL)
    short = events.end - events.start < SHORTEST_SILENCE_NS
    on = events.lane[events.on_thread]
    total = np.bincount(on, minlength=count)
    others, brief = (
        np.bincount(on, chosen[events.on_thread], minlength=count)
        for chosen in (~is_call | launches.launching, short)
    )
    own = np.bincount(on, ~events.of_role(*_OF_SYSTEM)[events.on_thread], minlength=count)
    polls: Flags = (own == 0) | (others == 0) & (brief >= _MOST * total)
    return polls


def _signals(events: Events, stack: CallStack, silence: Silence, works: Ints) -> pd.DataFrame:
    """Find ends outside of operators, and begins of long pauses; by lane, once each, with the pause after."""
    passive = is_passive(events)
    outside = (stack.parent < 0) | (passive[stack.parent] & ~passive)
    ends = np.flatnonzero(
        events.on_thread & outside & (events.end > events.start) & np.isin(events.lane, works)
    )
    stretches = silence.stretches
    begun = silence.bounds[0][stretches["lane"]] <= stretches["start"]
    stretches = stretches[begun & ~stretches["leaf"]]
    by = np.concatenate([events.lane[ends], stretches["lane"].to_numpy()])
    cut = np.concatenate([events.end[ends], stretches["start"].to_numpy()])
    pause = silence.pause_at(by, cut)[1] - cut
    frame = pd.DataFrame(
        {"by": by, "cut": cut, "pause": np.where(cut == silence.bounds[1][by], NEVER, pause)}
    )
    return frame.drop_duplicates(["by", "cut"]).sort_values(["by", "cut"], ignore_index=True)
