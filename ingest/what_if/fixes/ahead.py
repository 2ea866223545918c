"""Transfer ahead: what is copied, or gathered, for the next round moves while this one still computes."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from tracegraph.base.units import short_ns
from tracegraph.ingest.array_tables import join_rows
from tracegraph.ingest.arrays import Flags, Ints
from tracegraph.ingest.what_if.changes.edit import Edit, no_edit
from tracegraph.ingest.what_if.changes.streams import (
    StreamRuns,
    awaited_between_streams,
    on_own_streams,
    runs_on_streams,
    wait_on_stream,
)
from tracegraph.ingest.what_if.fixes.fix import Candidate, Fix, Scene, asked_for, escaped, made_in
from tracegraph.ingest.what_if.graph.graph import ReplayGraph
from tracegraph.ingest.what_if.graph.parameter_gathers import SHARDS
from tracegraph.ingest.what_if.graph.transfers import of_transfers
from tracegraph.ingest.what_if.settings import Settings
from tracegraph.vocabulary.mechanisms import BLOCKING_COPY, CODE

_TO_DEVICE, _GATHERS = ("HtoD", "Host -> Device"), ("AllGather", "all_gather", "allgather")
# A transfer that comes once has no round before it, in which it could move.
_FEWEST = 2
_HOW_TO_GATHER = "FSDP: forward_prefetch=True, backward_prefetch=BackwardPrefetch.BACKWARD_PRE"


def ahead(graph: ReplayGraph, chosen: Flags, depth: int = 2) -> Edit:
    """Run chosen transfers on a stream of their own, as soon as they are asked for and there is room.

    `depth` buffers are in use at once: what a transfer waits for on the GPU is what the one `depth` before it
    waited for. What came after it on its stream waits for it, and no call waits for it while it copies.
    """
    segments, found = graph.segments, graph.dependencies
    mine = chosen & ~segments.on_thread & of_transfers(graph)
    runs, edit = runs_on_streams(graph, mine), no_edit(len(segments))
    if not len(runs):
        return edit
    edit = on_own_streams(graph, edit, mine)
    moved = edit.lane[runs.first] != 0
    freed = edit.freed.copy()
    freed[runs.first] = True
    freed[found.effect[mine[found.cause] & (found.mechanism == CODE[BLOCKING_COPY])]] = True
    waited, run = _waited_for(graph, runs, moved)
    added = [
        wait_on_stream(graph, runs.last[moved], runs.after[moved]),
        wait_on_stream(graph, waited, _later(runs, run, depth)),
    ]
    return replace(edit, freed=freed, added=join_rows(added))


def _waited_for(graph: ReplayGraph, runs: StreamRuns, moved: Flags) -> tuple[Ints, Ints]:
    """Find what runs wait for on the GPU, other streams or their own, and the run that waits for each."""
    found = graph.dependencies
    run_of = np.full(len(graph.segments), -1, dtype=np.int64)
    run_of[runs.first] = np.arange(len(runs))
    between = np.flatnonzero(awaited_between_streams(graph) & (run_of[found.effect] >= 0))
    queued = np.flatnonzero(moved & (runs.before >= 0))
    waited = np.concatenate([found.cause[between], runs.before[queued]])
    return waited, np.concatenate([run_of[found.effect[between]], queued])


def _later(runs: StreamRuns, run: Ints, depth: int) -> Ints:
    """Find the first work of the run that comes `depth` after each on its stream, -1 if there is none."""
    later = np.minimum(run + depth, len(runs) - 1)
    there = runs.number[later] == runs.number[run] + depth
    return np.where(there, runs.first[later], -1)


def _find(scene: Scene) -> Iterator[Candidate]:
    """Yield copies to the device on the path, and gathers of parameters that names say are sharded."""
    graph, names = scene.graph, scene.graph.calls.name.values
    sharded = any(word in str(name) for name in names for word in SHARDS)
    for code, mine, spent in scene.names_on_path(of_transfers(graph) & ~graph.segments.on_thread):
        name, count = str(names[code]), int(mine.sum())
        gathers = sharded and any(word in name for word in _GATHERS)
        if count >= _FEWEST and (gathers or any(word in name for word in _TO_DEVICE)):
            selector = f"name={escaped(name)}"
            yield Candidate(
                selector=selector,
                options=asked_for(FIX.name, [selector]),
                change=made_in(graph, ahead(graph, mine)),
                evidence=f"{count:,} transfers, {short_ns(spent)} of the path",
                title="Gather parameters ahead" if gathers else None,
                how=_HOW_TO_GATHER if gathers else None,
            )


def _edit(graph: ReplayGraph, chosen: Flags, settings: Settings) -> Edit:
    return ahead(graph, chosen, settings.depth)


FIX = Fix(
    name="ahead",
    title="Copy ahead",
    recognised="copies from the host to the device, or gathers of parameters, on the path",
    replayed="transfers run on a stream of their own as soon as they are asked for, `--depth` (2) of them "
    "ahead; what came after each waits for it, and no call waits for it as it copies",
    how="pin_memory=True, and tensor.to(device, non_blocking=True) for the next batch on a stream of its own",
    refuted_by="a bus or link that the transfer shares, or a host that asks for it only as it is needed",
    assumptions=(
        "what is transferred is ready when the call asks for it, and there is memory for as many at once",
        "computing goes on as fast beside the transfer",
    ),
    find=_find,
    asked="with {} transferred ahead",
    edit=_edit,
)
