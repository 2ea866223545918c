"""Gather ahead: sharded parameters are asked for some modules before they are needed (FSDP, ZeRO-3)."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tracegraph.base.errors import InputError
from tracegraph.base.units import format_bytes, short_ns
from tracegraph.ingest.array_tables import join_rows, select_rows
from tracegraph.ingest.arrays import Flags, Ints
from tracegraph.ingest.causal.events.events import NONE
from tracegraph.ingest.causal.graph.dependencies import Dependencies
from tracegraph.ingest.what_if.changes.edit import FOR_GPU, Edit, assumed, no_edit
from tracegraph.ingest.what_if.fixes.fix import Candidate, Fix, Scene, made_in
from tracegraph.ingest.what_if.graph.graph import ReplayGraph
from tracegraph.ingest.what_if.graph.parameter_gathers import (
    Gather,
    computing_launches,
    gather_passes,
    sharded_gathers,
)
from tracegraph.ingest.what_if.settings import Settings
from tracegraph.vocabulary.categories import Role
from tracegraph.vocabulary.mechanisms import CODE, LAUNCH

_TRIED = (1, 2)
"""How many modules ahead are tried."""


@dataclass(frozen=True)
class _Move:
    """A gather that is asked for as soon as the host has launched what needs another, `behind`.

    `like`: the first gather that was asked for after that: what held it on the GPU holds this one then.
    """

    gather: Gather
    behind: Gather
    like: Gather


def gather_ahead(graph: ReplayGraph, chosen: Flags, modules: int) -> Edit:
    """Let chosen gathers of parameters be asked for as many modules ahead, where they are not yet.

    Raises
    ------
    InputError
        If the run has no such gathers on a GPU, or all are as far ahead.
    """
    if modules < 1:
        raise InputError(f"{modules} is no number of modules ahead", "give 1 or more")
    passes = gather_passes(graph)
    if not passes:
        raise InputError(*_why_none(graph))
    moves = [one for one in _moves(graph, passes, modules) if chosen[one.gather.works[-1]]]
    if not moves:
        raise InputError(
            f"the gathers of parameters are asked for {_counted(modules)} ahead already, or are the first of "
            "their pass",
            "tracegraph query gathers lists how far ahead each is, and how long work waits for it",
        )
    return _moved(graph, moves)


def _counted(modules: int) -> str:
    return "1 module" if modules == 1 else f"{modules} modules"


def _why_none(graph: ReplayGraph) -> tuple[str, str]:
    """Say why a run has no gathers that could be asked for earlier."""
    found = sharded_gathers(graph)
    on_gpu = graph.calls.of_role(Role.KERNEL)
    if (found & on_gpu).any():
        return (
            "of no gather of parameters is known which work needs it first",
            "record with PyTorch's fully_shard, whose annotations tell it, or record waits of streams",
        )
    if found.any():
        return (
            "threads gather here, and whoever asks for parameters waits for them at once: asked for sooner, "
            "they hide behind nothing",
            "on GPUs gathers run beside computing, on a stream of their own",
        )
    return (
        "no all-gather of this run is asked for inside annotations or frames of FSDP or ZeRO-3",
        "PyTorch's fully_shard annotates its gathers",
    )


def _moves(graph: ReplayGraph, passes: Sequence[Sequence[Gather]], modules: int) -> Iterator[_Move]:
    """Find the gathers between which and their place computing is launched."""
    launches: dict[int, Ints] = {}
    for own in passes:
        rank = int(graph.lanes.rank[graph.segments.lane[own[0].user]])
        if rank not in launches:
            launches[rank] = computing_launches(graph, rank)
        asked = sorted(own, key=lambda one: one.begun)
        for place, one in enumerate(own):
            behind = own[max(place - modules, 0)]
            computes = np.searchsorted(launches[rank], [behind.used, one.begun], "right")
            if behind is one or computes[0] >= computes[1]:
                continue
            like = next(other for other in asked if other.begun > behind.used)
            yield _Move(one, behind, like)


def _moved(graph: ReplayGraph, moves: Sequence[_Move]) -> Edit:
    edit, launch = no_edit(len(graph.segments)), _launch_of(graph)
    relaunched, freed, added = edit.relaunched.copy(), edit.freed.copy(), []
    for one in moves:
        works = one.gather.works
        works = works[launch[works] >= 0]
        relaunched[works] = True
        added.append(_launched_behind(graph, one, works, launch[works]))
        if one.like is not one.gather:
            freed[one.gather.works] = True
            added += [_own_waits(graph, one.gather), _waits_as(graph, one)]
    return replace(edit, relaunched=relaunched, freed=freed, added=join_rows(added))


def _launch_of(graph: ReplayGraph) -> Ints:
    """Find the dependency by which a call launches each segment, -1 for none."""
    found = graph.dependencies
    rows = np.flatnonzero(found.mechanism == CODE[LAUNCH])
    place = np.full(len(graph.segments), -1, dtype=np.int64)
    place[found.effect[rows]] = rows
    return place


def _launched_behind(graph: ReplayGraph, move: _Move, works: Ints, launch: Ints) -> Dependencies:
    """Launch works of a gather as long after its new place as they came after the host began to ask."""
    segments, found = graph.segments, graph.dependencies
    took = np.maximum(segments.completion[found.cause[launch]] - move.gather.begun, 0)
    cause = np.full(len(works), move.behind.user, dtype=np.int64)
    return assumed(
        segments.start[works] - segments.completion[cause],
        cause,
        works,
        np.full(len(works), CODE[LAUNCH]),
        np.maximum(found.lag[launch], 0) + took,
    )


def _own_waits(graph: ReplayGraph, gather: Gather) -> Dependencies:
    """Keep the waits of its works for each other."""
    found = graph.dependencies
    own = np.flatnonzero(np.isin(found.effect, gather.works) & FOR_GPU[found.mechanism])
    events = graph.segments.event[gather.works]
    own = own[np.isin(graph.segments.event[found.cause[own]], events)]
    return select_rows(found, own)


def _waits_as(graph: ReplayGraph, move: _Move) -> Dependencies:
    """Let works of a gather wait for what those of another one waited for, outside of these."""
    found, segments = graph.dependencies, graph.segments
    like = move.like.works
    waits = np.flatnonzero(np.isin(found.effect, like) & FOR_GPU[found.mechanism])
    outside = ~np.isin(segments.event[found.cause[waits]], segments.event[like])
    waits = waits[outside & ~segments.on_thread[found.cause[waits]]]
    of_one = {int(at): place for place, at in enumerate(like.tolist())}
    works = move.gather.works
    effect = np.array(
        [works[min(of_one[int(at)], len(works) - 1)] for at in found.effect[waits]], dtype=np.int64
    )
    cause = found.cause[waits]
    gap = segments.start[effect] - segments.completion[cause]
    return assumed(gap, cause, effect, found.mechanism[waits], np.maximum(found.lag[waits], 0))


def _find(scene: Scene) -> Iterator[Candidate]:
    """Yield one and two modules ahead, where gathers of parameters are on the path."""
    graph = scene.graph
    on_path = np.append(sharded_gathers(graph), False)[graph.segments.event]
    spent = int(scene.on_path_ns[on_path & ~graph.segments.on_thread].sum())
    if spent < max(scene.least_ns, 1):
        return
    passes = gather_passes(graph)
    for modules in _TRIED:
        moves = list(_moves(graph, passes, modules))
        if not moves:
            return
        yield Candidate(
            selector=f"{_counted(modules)} ahead",
            options=(f"--{FIX.name}", str(modules)),
            change=made_in(graph, _moved(graph, moves)),
            evidence=f"{len(moves):,} gathers of parameters are asked for later; gathers are "
            f"{short_ns(spent)} of the path",
            assumptions=(_memory(passes, modules),),
        )


def _memory(passes: Sequence[Sequence[Gather]], modules: int) -> str:
    """Say how much memory gathers take that come earlier."""
    sizes = [np.array([one.bytes for one in own], dtype=np.int64) for own in passes]
    of = f"there is memory for the parameters of {_counted(modules)} more on each GPU"
    if not sizes or any((own == NONE).any() for own in sizes):
        return f"{of}: how many bytes these are is not recorded"
    most = max(int(np.convolve(own, np.ones(modules, dtype=np.int64)).max()) for own in sizes)
    return f"{of}, {format_bytes(most)} at most"


def _takes(graph: ReplayGraph, settings: Settings) -> Iterable[str]:
    return [_memory(gather_passes(graph), int(settings.number))]


def _edit(graph: ReplayGraph, chosen: Flags, settings: Settings) -> Edit:
    if settings.number != int(settings.number):
        raise InputError(f"{settings.number:g} is no number of modules", "give a whole number, such as 1")
    return gather_ahead(graph, chosen, int(settings.number))


FIX = Fix(
    name="gather-ahead",
    title="Gather parameters ahead",
    recognised="gathers of sharded parameters (FSDP, ZeRO-3) on the path, for which the host asks only "
    "when the module comes that needs them",
    replayed="the host asks for each gather this many modules before the one that needs it, in the same "
    "pass; what held the gathers of then on the GPU holds it, and they keep their order",
    how="FSDP2: module.set_modules_to_forward_prefetch([…]), set_modules_to_backward_prefetch([…]); FSDP1: "
    "forward_prefetch=True; ZeRO-3: stage3_prefetch_bucket_size",
    refuted_by="a host that launches no faster than the GPU computes, links that gradients fill at the same "
    "time, or computing that is slower beside a gather",
    assumptions=(
        "computing and gathers take as long as before when they run at the same time",
        "asking for a gather takes the host as long as before, and it can ask sooner",
    ),
    find=_find,
    asked="with parameters gathered ahead (modules: {})",
    edit=_edit,
    unit="N",
    number="1",
    narrowed=True,
    instead_of=("ahead",),
    takes=_takes,
)
