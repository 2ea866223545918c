"""Overlap: the optimizer waits for reductions of the backward pass only when it first needs them."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from tracegraph.base.errors import InputError
from tracegraph.base.units import short_ns
from tracegraph.ingest.array_tables import join_rows
from tracegraph.ingest.arrays import Flags, Ints
from tracegraph.ingest.what_if.changes.edit import Edit, no_edit
from tracegraph.ingest.what_if.changes.streams import on_own_streams, runs_on_streams, wait_on_stream
from tracegraph.ingest.what_if.fixes.fix import Candidate, Fix, Scene, asked_for, escaped, made_in
from tracegraph.ingest.what_if.graph.graph import ReplayGraph
from tracegraph.ingest.what_if.graph.launch_stretches import asked_at
from tracegraph.ingest.what_if.graph.phase_work import of_phase
from tracegraph.ingest.what_if.graph.transfers import of_collectives, of_transfers
from tracegraph.vocabulary.phases import BACKWARD, FORWARD, OPTIMIZER, PHASE_NAMES


def overlap(graph: ReplayGraph, chosen: Flags) -> Edit:
    """Run chosen transfers on a stream of their own, behind what was before them on theirs.

    Only the first GPU work of the next optimizer of their rank waits for them. Transfers that no optimizer
    follows stay as they are.

    Raises
    ------
    InputError
        If no optimizer follows any of them.
    """
    mine = np.flatnonzero(chosen & of_transfers(graph) & ~graph.segments.on_thread)
    needed = _first_needed(graph, mine)
    if len(mine) and not (needed >= 0).any():
        raise InputError(
            "nothing says where these transfers are first needed: no optimizer comes after them",
            "mark it with record_function('optimizer'), or see the phases of the run: docs/phases.md",
        )
    return _waited_for_later(graph, mine, needed)


def _waited_for_later(graph: ReplayGraph, transfers: Ints, needed: Ints) -> Edit:
    """Move transfers to a stream of their own; only what first needs each waits for it; -1: leave it."""
    needed_by = np.full(len(graph.segments), -1, dtype=np.int64)
    needed_by[transfers] = needed
    moved = needed_by >= 0
    edit, runs = on_own_streams(graph, no_edit(len(moved)), moved), runs_on_streams(graph, moved)
    elsewhere = edit.lane[runs.first] != 0
    added = [
        wait_on_stream(graph, runs.before[elsewhere], runs.first[elsewhere]),
        wait_on_stream(graph, runs.last, needed_by[runs.last]),
    ]
    return replace(edit, unawaited=moved, added=join_rows(added))


def _first_needed(graph: ReplayGraph, transfers: Ints) -> Ints:
    """Find the first work of the optimizer that comes next on the rank of each transfer, -1 for none."""
    segments, calls, phases = graph.segments, graph.calls, graph.phases
    needed, optimizer = np.full(len(transfers), -1), phases.name == PHASE_NAMES.index(OPTIMIZER)
    if not optimizer.any():
        return needed
    work = np.flatnonzero(of_phase(graph, OPTIMIZER) & ~segments.on_thread & (segments.event >= 0))
    work = work[calls.call[segments.event[work]] >= 0]
    asked, wanted = (asked_at(graph, segments.event[one]) for one in (work, transfers))
    rank, own = (graph.lanes.rank[segments.lane[one]] for one in (work, transfers))
    for one in np.unique(own).tolist():
        begins = np.sort(phases.start[optimizer & (phases.rank == one)])
        theirs = work[rank == one]
        order = np.argsort(asked[rank == one], kind="stable")
        theirs, times = theirs[order], asked[rank == one][order]
        of_rank = np.flatnonzero(own == one)
        following = np.searchsorted(begins, wanted[of_rank], "left")
        begin = np.append(begins, np.iinfo(np.int64).max)[following]
        at = np.searchsorted(times, begin, "left")
        needed[of_rank] = np.append(theirs, -1)[at]
    return needed


def _find(scene: Scene) -> Iterator[Candidate]:
    """Yield collectives of backward passes on the path, by name.

    Names that forward passes send as well are activations, parameters or tokens: the next kernel reads these.
    """
    graph, segments, names = scene.graph, scene.graph.segments, scene.graph.calls.name
    there = {PHASE_NAMES[code] for code in np.unique(graph.phases.name).tolist()}
    sent = of_collectives(graph) & ~segments.on_thread
    if not {BACKWARD, OPTIMIZER} <= there or not sent.any():
        return
    forward = sent & of_phase(graph, FORWARD) if FORWARD in there else np.zeros(len(segments), dtype=bool)
    of_both = np.unique(names.codes[segments.event[forward]])
    sent &= of_phase(graph, BACKWARD) & ~np.isin(names.codes[segments.event], of_both)
    for code, mine, spent in scene.names_on_path(sent):
        transfers = np.flatnonzero(mine)
        needed = _first_needed(graph, transfers)
        if not (needed >= 0).any():
            continue
        selector = f"name={escaped(str(names.values[code]))},phase={BACKWARD}"
        yield Candidate(
            selector=selector,
            options=asked_for(FIX.name, [selector]),
            change=made_in(graph, _waited_for_later(graph, transfers, needed)),
            evidence=f"{len(transfers):,} transfers of backward passes, {short_ns(spent)} of the path",
        )


FIX = Fix(
    name="overlap",
    title="Overlap communication with computing",
    recognised="collectives on the path that backward passes start, and forward passes do not, where an "
    "optimizer comes after them",
    replayed="they run on a stream of their own behind what was before them, and only the first work of the "
    "optimizer waits for them",
    how="DistributedDataParallel(gradient_as_bucket_view=True) or FSDP instead of reducing by hand; "
    "async_op=True, and wait() before optimizer.step(); smaller buckets",
    refuted_by="a backward pass that reads what is transferred, or kernels that are slower beside it",
    assumptions=(
        "nothing before the optimizer reads what is transferred",
        "computing and transferring are as fast side by side",
    ),
    find=_find,
    asked="with {} overlapped",
    edit=lambda graph, chosen, settings: overlap(graph, chosen),
)
