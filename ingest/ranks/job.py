"""The model of a job: the parts of all its ranks on one clock, joined where they met."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from tracegraph.ingest.array_tables import select_rows
from tracegraph.ingest.arrays import Ints
from tracegraph.ingest.causal.clock.clock import GpuClock
from tracegraph.ingest.causal.events.events import Events
from tracegraph.ingest.causal.events.lane_times import Keys
from tracegraph.ingest.causal.graph.allocations import Allocations
from tracegraph.ingest.causal.graph.invariants import check_model
from tracegraph.ingest.causal.graph.meetings import Meetings
from tracegraph.ingest.causal.graph.model import Model, make_model
from tracegraph.ingest.causal.rules import EVIDENCE
from tracegraph.ingest.causal.rules.edges import Edges, Found, Waits
from tracegraph.ingest.measures.measures import Measures, merge_measures
from tracegraph.ingest.ranks.agreement import strangers
from tracegraph.ingest.ranks.clocks import RankClock, align_ranks
from tracegraph.ingest.ranks.matching import Operation, Unmatched, match, shared
from tracegraph.ingest.ranks.members import as_numbers
from tracegraph.ingest.ranks.merging import (
    Offsets,
    merge_allocations,
    merge_found,
    merge_scenes,
    merge_stated,
)
from tracegraph.ingest.ranks.message_sizes import whole_bytes
from tracegraph.ingest.ranks.rank_part import Part
from tracegraph.ingest.trace import FileFacts
from tracegraph.vocabulary.mechanisms import CODE, COLLECTIVE


def find_meetings(
    operations: Iterable[Operation], first_event: Mapping[int, int], events: Events
) -> tuple[Meetings, int]:
    """Find the meetings of operations that several files hold, and count those that cannot have been.

    The latter are left out: one member left before another came. `first_event` says where the events of each
    rank begin among `events`.
    """
    found, impossible = [], 0
    for operation in operations:
        members = sorted(
            (int(events.start[event]), int(events.lane[event]), event)
            for rank, member in operation.members.items()
            for event in (first_event[rank] + member.event,)
        )
        index = np.array([event for *_, event in members], dtype=np.int64)
        if members[-1][0] <= int(events.end[index].min()):
            found.append((members[-1][0], operation, index))
        else:
            impossible += 1
    found.sort(key=lambda row: row[0])
    return _table([row[1] for row in found], [row[2] for row in found], events), impossible


def _table(operations: Sequence[Operation], events_of: Sequence[Ints], events: Events) -> Meetings:
    event = np.concatenate([*events_of, np.empty(0, dtype=np.int64)])
    firsts = [operation.first for operation in operations]
    return Meetings(
        name=[first.kind for first in firsts],
        group=[first.group for first in firsts],
        sequence=as_numbers([first.sequence for first in firsts]),
        size=as_numbers([None if one.ranks is None else len(one.ranks) for one in operations]),
        recorded=np.array([operation.recorded for operation in operations], dtype=bool),
        confidence=np.array([operation.confidence for operation in operations], dtype=np.float64),
        bytes=as_numbers([_bytes(operation) for operation in operations]),
        dtype=[first.dtype for first in firsts],
        missing=[operation.missing for operation in operations],
        rendezvous=np.array([int(events.start[index[-1]]) for index in events_of], dtype=np.int64),
        member_of=np.repeat(np.arange(len(events_of)), [len(index) for index in events_of]),
        event=event,
        arrival=events.start[event],
        end=events.end[event],
    )


def _bytes(operation: Operation) -> int | None:
    """Count the bytes of all data of an operation, from what the member of the lowest rank puts in."""
    first = operation.first
    return whole_bytes(first.kind, first.input_bytes, len(operation.ranks or operation.members))


def without_guesses(found: Found, meetings: Meetings, events: Events) -> Found:
    """Drop the guesses about collectives for which several files now say when each member came."""
    met = np.zeros(len(events) + 1, dtype=bool)
    met[meetings.event] = True
    guessed = found.waits.mechanism == CODE[COLLECTIVE]
    dropped = guessed & met[found.waits.event]
    return Found(_without(found.edges, select_rows(found.waits, dropped)), select_rows(found.waits, ~dropped))


def _without(edges: Edges, waits: Waits) -> Edges:
    """Drop the edges that end one of the waits."""
    if not len(waits):
        return edges
    times = np.concatenate([waits.end, edges.effect_time])
    keys = Keys(int(times.min()), int(times.max()), int(max(waits.lane.max(), edges.effect_lane.max())) + 1)
    ends = np.isin(keys.of(edges.effect_lane, edges.effect_time), keys.of(waits.lane, waits.end))
    return select_rows(edges, ~(ends & (edges.mechanism == CODE[COLLECTIVE]) & (edges.effect_event < 0)))


@dataclass(frozen=True)
class Job:
    """All ranks of a job as one model.

    Attributes
    ----------
    stated
        What the files say of the model's events.
    allocations
        The memory rows of all files.
    files, clocks
        By rank.
    impossible
        The number of operations that were left out because one member left before another came, by these
        clocks.
    strangers
        Ranks that may be of another job, as far as times and operations show.
    """

    model: Model
    files: list[FileFacts]
    stated: pa.Table
    allocations: Allocations
    measures: Measures
    clocks: dict[int, RankClock]
    unmatched: list[Unmatched]
    impossible: int
    strangers: list[int]


def build_job(parts: Sequence[Part], cross_thread: str = EVIDENCE) -> Job:
    """Join the ranks, one part each, and check the invariants of the whole."""
    parts = sorted(parts, key=lambda part: part.rank)
    operations, unmatched = match({part.rank: part.members for part in parts})
    together = list(shared(operations))
    clocks = align_ranks([part.rank for part in parts], together, [part.file.clock for part in parts])
    at = Offsets(parts, clocks)
    scene = merge_scenes(parts, at)
    first_event = {part.rank: at.event[k] for k, part in enumerate(parts)}
    meetings, impossible = find_meetings(together, first_event, scene.events)
    found = {
        policy: without_guesses(
            merge_found([part.found[policy] for part in parts], at), meetings, scene.events
        )
        for policy in parts[0].found
    }
    model = make_model(scene, found.__getitem__, cross_thread, meetings)
    check_model(model)
    return Job(
        model=model,
        files=[_on_clock(part, clocks[part.rank], model.window.start) for part in parts],
        stated=merge_stated(parts),
        allocations=merge_allocations(parts, at),
        measures=merge_measures([part.measures for part in parts], at.event),
        clocks=clocks,
        unmatched=unmatched,
        impossible=impossible,
        strangers=strangers(parts, clocks),
    )


def _on_clock(part: Part, clock: RankClock, window_start: int) -> FileFacts:
    """Return the facts of a file with what was added to its times, the offsets at the window's start."""
    before, file = np.array([window_start - clock.offset_ns]), part.file
    gpu = GpuClock(file.clock_offset_ns, file.clock_drift_ppb, part.scene.window.start)
    return replace(
        file,
        clock_offset_ns=gpu.at(int(before[0])).offset_ns,
        rank_offset_ns=int((clock.put_right(before) - before)[0]),
        rank_drift_ppb=clock.drift_ppb,
        rank_spread_ns=clock.spread_ns,
    )
