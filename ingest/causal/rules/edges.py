"""What rules find, before the threads are cut into segments: edges between ports, and the waits they end.

A port is a GPU activity (`event` >= 0) or a moment on a thread (`lane`, `time`): as a cause whatever ends
there, as an effect whatever starts there.
"""

from dataclasses import dataclass, field

import numpy as np

from tracegraph.ingest.array_tables import join_rows, select_rows
from tracegraph.ingest.arrays import Flags, Floats, Ints, Terms
from tracegraph.ingest.causal.events.events import NONE, Events
from tracegraph.vocabulary.gaps import CPU_TURN, GAP_CODE, IN_SHORT, LOST_WORK, NOT_RUNNING, UNKNOWN
from tracegraph.vocabulary.mechanisms import CODE, MECHANISMS

GAP_OF_MECHANISM: Terms = np.array([GAP_CODE[m.gap] for m in MECHANISMS], dtype=np.int8)
"""By position in `MECHANISMS`: the name of the rule's usual lag, or of the wait that it ends."""


@dataclass(frozen=True)
class Edges:
    """Dependencies between ports, one array per attribute; times in ns, event -1 for a port of a thread.

    `arrival`: when the effect could have started had this been its only cause. `mechanism`: position in
    `MECHANISMS`. `recorded`: whether ids or order in the file prove the edge; else a timing rule made it.
    `confidence`: how often such edges are true, 0 to 1.
    """

    cause_event: Ints
    cause_lane: Ints
    cause_time: Ints
    effect_event: Ints
    effect_lane: Ints
    effect_time: Ints
    arrival: Ints
    mechanism: Ints
    recorded: Flags
    confidence: Floats

    def __len__(self) -> int:
        return len(self.arrival)

    def latest_arrival(self, events: Events) -> Ints:
        """Find when each GPU activity could have started by its last cause here, ns; `NONE` without one."""
        arrival = np.full(len(events), NONE, dtype=np.int64)
        of_work = self.effect_event >= 0
        np.maximum.at(arrival, self.effect_event[of_work], self.arrival[of_work])
        return arrival


def no_edges() -> Edges:
    """Make a table without rows."""
    no, flags = np.empty(0, dtype=np.int64), np.empty(0, dtype=bool)
    return Edges(no, no, no, no, no, no, no, no, flags, np.empty(0))


UNEXPLAINED, OFF_CPU, LOST, ASLEEP, SHORT = -1, -2, -3, -4, -5
"""Stand for the mechanism of a stretch that no rule explains, of one in which its thread could run and did
not, of a wait for work that is not in the file, of a silence in which the thread did not run, and of all work
of a rank in short."""
GAP_OF_STRETCH = {
    UNEXPLAINED: GAP_CODE[UNKNOWN],
    OFF_CPU: GAP_CODE[CPU_TURN],
    LOST: GAP_CODE[LOST_WORK],
    ASLEEP: GAP_CODE[NOT_RUNNING],
    SHORT: GAP_CODE[IN_SHORT],
}
"""The names of such stretches: gaps that keep their length in a replay."""


@dataclass(frozen=True)
class Waits:
    """Stretches in which a thread waits: inside `event`, or, if that is -1, in everything but operators.

    `mechanism`: position in `MECHANISMS`; or `UNEXPLAINED` if it may be work as well, or one of the
    other numbers in `GAP_OF_STRETCH`, which are gaps that keep their length in a replay. `recorded`: as of
    the edges that end them.
    """

    lane: Ints
    start: Ints
    end: Ints
    event: Ints
    mechanism: Ints
    recorded: Flags

    def __len__(self) -> int:
        return len(self.start)


def no_waits() -> Waits:
    """Make a table without rows."""
    no = np.empty(0, dtype=np.int64)
    return Waits(no, no, no, no, no, np.empty(0, dtype=bool))


def inferred_waits(mechanism: str, lane: Ints, start: Ints, end: Ints, event: Ints | None = None) -> Waits:
    """Make waits that a timing rule found, in everything but operators unless `event` is given.

    Parameters
    ----------
    mechanism
        The name of the rule, one of `vocabulary.mechanisms`.
    lane
        The thread of each wait.
    start, end
        Its bounds, ns.
    event
        The event inside which each wait lies.
    """
    inside = np.full(len(lane), -1, dtype=np.int64) if event is None else event
    code = np.full(len(lane), CODE[mechanism], dtype=np.int64)
    return Waits(lane, start, end, inside, code, np.zeros(len(lane), dtype=bool))


Ports = tuple[Ints, Ints, Ints]


def on_gpu(events: Events, index: Ints, *, at_end: bool) -> Ports:
    """Make ports of GPU activities: at their end as causes, at their start as effects."""
    return index, events.lane[index], (events.end if at_end else events.start)[index]


def on_thread(lane: Ints, time: Ints) -> Ports:
    """Make ports of threads."""
    return np.full(len(lane), -1, dtype=np.int64), lane, time


def make_edges(
    mechanism: str,
    cause: Ports,
    effect: Ports,
    arrival: Ints,
    *,
    recorded: Flags | bool,
    confidence: Floats | float,
) -> Edges:
    """Build edges of one mechanism; one value for `recorded` or `confidence` holds for all.

    An arrival after the effect's start is put at the start.

    Parameters
    ----------
    cause, effect
        Ports as `on_gpu` and `on_thread` make them: event (-1 on a thread), lane and time in ns.
    arrival
        When each cause is complete for its effect, ns: its end and the usual lag.
    recorded
        Whether the file states the dependency.
    confidence
        0..1.
    """
    count = len(arrival)
    return Edges(
        *cause,
        *effect,
        arrival=np.minimum(arrival, effect[2]),
        mechanism=np.full(count, CODE[mechanism], dtype=np.int64),
        recorded=np.broadcast_to(np.asarray(recorded, dtype=bool), count),
        confidence=np.broadcast_to(np.asarray(confidence, dtype=np.float64), count),
    )


@dataclass(frozen=True)
class Found:
    """Edges between ports, and stretches in which threads wait, each in the order of the rules."""

    edges: Edges = field(default_factory=no_edges)
    waits: Waits = field(default_factory=no_waits)

    def plus(self, more: "Found") -> "Found":
        """Return what both hold, this one's rows first."""
        return Found(
            join_rows([self.edges, more.edges]) if len(more.edges) else self.edges,
            join_rows([self.waits, more.waits]) if len(more.waits) else self.waits,
        )

    def recorded_only(self) -> "Found":
        """Return what remains when no timing rule is trusted."""
        edges, waits = self.edges, self.waits
        return Found(select_rows(edges, edges.recorded), select_rows(waits, waits.recorded))
