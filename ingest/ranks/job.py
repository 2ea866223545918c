"""The model of a job: the parts of all its ranks on one clock, joined where they met."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from tracegraph.ingest.causal.clock.clock import GpuClock
from tracegraph.ingest.causal.graph.allocations import Allocations
from tracegraph.ingest.causal.graph.invariants import check_model
from tracegraph.ingest.causal.graph.model import Model, make_model
from tracegraph.ingest.causal.rules import EVIDENCE
from tracegraph.ingest.measures.measures import Measures, merge_measures
from tracegraph.ingest.ranks.agreement import strangers
from tracegraph.ingest.ranks.clocks import RankClock, align_ranks
from tracegraph.ingest.ranks.joining import find_meetings, without_guesses
from tracegraph.ingest.ranks.matching import Unmatched, match, shared
from tracegraph.ingest.ranks.merging import (
    Offsets,
    merge_allocations,
    merge_found,
    merge_scenes,
    merge_stated,
)
from tracegraph.ingest.ranks.part import Part
from tracegraph.ingest.trace import FileFacts


@dataclass(frozen=True)
class Job:
    """All ranks as one model; `stated`: what the files say of its events. By rank: `files`, `clocks`.

    `allocations`: the memory rows of all files.
    `impossible`: operations that were left out because a member left before another came, by these clocks.
    `strangers`: ranks that may be of another job, as far as times and operations tell.
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
    clocks = align_ranks([part.rank for part in parts], together)
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
    """The facts of a file with what was added to its times, the offsets at the window's start."""
    before, file = np.array([window_start - clock.offset_ns]), part.file
    gpu = GpuClock(file.clock_offset_ns, file.clock_drift_ppb, part.scene.window.start)
    return replace(
        file,
        clock_offset_ns=gpu.at(int(before[0])).offset_ns,
        rank_offset_ns=int((clock.put_right(before) - before)[0]),
        rank_drift_ppb=clock.drift_ppb,
        rank_spread_ns=clock.spread_ns,
    )
