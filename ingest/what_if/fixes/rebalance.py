"""Rebalance: stages of a pipeline that compute longer than others give some of their work to these."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from tracegraph.base.errors import InputError
from tracegraph.base.units import short_ns
from tracegraph.ingest.arrays import Flags, Floats, Ints
from tracegraph.ingest.causal.events.events import NONE
from tracegraph.ingest.what_if.changes.edit import Edit, no_edit
from tracegraph.ingest.what_if.fixes.fix import Candidate, Fix, Scene, made_in
from tracegraph.ingest.what_if.graph.graph import ReplayGraph
from tracegraph.ingest.what_if.graph.stages import LayersOf, count_layers, find_pipelines
from tracegraph.ingest.what_if.graph.transfers import communicates
from tracegraph.vocabulary.categories import Role

_SELECTOR = "category=kernel"
_MOST_LISTED = 8
"""Of how many stages layers are listed."""


def rebalance(graph: ReplayGraph, chosen: Flags) -> Edit:
    """Let the chosen kernels of each stage that compute take as long as those of the others.

    Raises
    ------
    InputError
        If nothing tells that ranks are stages of a pipeline, or if the selector is about one stage alone.
    """
    pipelines = find_pipelines(graph)
    if not pipelines:
        raise InputError(
            "no rank of this run is told to be a stage of a pipeline: of no send the receive is known",
            "give the files of all ranks; sends and receives need the other's rank or the group in them",
        )
    computing = chosen & _computing(graph)
    if any((_work(graph, computing, one) == 0).any() for one in pipelines):
        raise InputError(
            "some stages have none of this work, so that nothing says how long it takes there",
            f"choose work of all stages, as with {_SELECTOR}",
        )
    return _changed(graph, computing, pipelines)


def _changed(graph: ReplayGraph, computing: Flags, pipelines: list[Ints]) -> Edit:
    factor = np.ones(len(graph.segments))
    rank = graph.lanes.rank[graph.segments.lane]
    for one in pipelines:
        own = _work(graph, computing, one)
        target = _balanced(own, count_layers(graph, one)).target
        for number, before, after in zip(one, own, target, strict=True):
            factor[computing & (rank == number)] = after / before
    return replace(no_edit(len(factor)), factor=factor)


def _computing(graph: ReplayGraph) -> Flags:
    """Flag the kernels that do not communicate."""
    kernels = graph.calls.of_role(Role.KERNEL) & ~communicates(graph) & (graph.rendezvous == NONE)
    found: Flags = np.append(kernels, False)[graph.segments.event] & ~graph.segments.on_thread
    return found


def _work(graph: ReplayGraph, computing: Flags, ranks: Ints) -> Ints:
    """Sum up the work of each of some ranks, ns."""
    rank = graph.lanes.rank[graph.segments.lane]
    return np.array([graph.segments.work[computing & (rank == one)].sum() for one in ranks.tolist()])


@dataclass(frozen=True)
class _Balance:
    """How long each stage computes afterwards, ns; and its layers before and after, if they are known."""

    target: Floats
    before: Ints | None = None
    after: Ints | None = None


def _balanced(own: Ints, layers: LayersOf | None) -> _Balance:
    """Divide the work among the stages: whole layers where they are known, else evenly.

    Layers take as long as on the stage where they take least; what else a stage does stays there. A layer
    after the other goes to the stage that has least so far, which is best for equal layers; of equal stages
    to that which lacks most of its own, so that few layers move.
    """
    if layers is None:
        return _Balance(np.full(len(own), own.mean()))
    of_one = float((own / layers.counts).min())
    rest = own - layers.counts * of_one
    after = np.ones(len(own), dtype=np.int64)
    for _ in range(int(layers.counts.sum()) - len(own)):
        would_be = np.rint(rest + (after + 1) * of_one)
        after[np.lexsort((after - layers.counts, would_be))[0]] += 1
    target = rest + after * of_one
    if target.max() >= own.max():
        return _Balance(own.astype(float), layers.counts, layers.counts)
    return _Balance(target, layers.counts, after)


def _find(scene: Scene) -> Iterator[Candidate]:
    graph = scene.graph
    pipelines = find_pipelines(graph)
    computing = _computing(graph) if pipelines else np.zeros(0, dtype=bool)
    pipelines = [one for one in pipelines if _work(graph, computing, one).all()]
    if not pipelines:
        return
    uneven = [(_work(graph, computing, one), one) for one in pipelines]
    own, one = max(uneven, key=lambda found: int(found[0].max() - found[0].mean()))
    layers = count_layers(graph, one)
    balance = _balanced(own, layers)
    if own.max() - balance.target.max() < scene.least_ns:
        return
    edit = _changed(graph, computing, pipelines)
    most, mean = int(own.argmax()), float(own.mean())
    more = f"{100 * (own[most] / mean - 1):.1f} %"
    yield Candidate(
        selector=_SELECTOR,
        options=("--rebalance", _SELECTOR),
        change=made_in(graph, edit),
        evidence=f"rank {int(one[most])} computes {short_ns(int(own[most]))}, {more} more than the mean of "
        f"{len(own)} stages",
        assumptions=(_assumed(balance, layers),),
        least=None if layers is not None else made_in(graph, _half(edit)),
    )


def _half(edit: Edit) -> Edit:
    """Move only half of the work: without layers nobody knows how evenly it can be divided."""
    return replace(edit, factor=(1 + edit.factor) / 2)


def _assumed(balance: _Balance, layers: LayersOf | None) -> str:
    if layers is None or balance.before is None or balance.after is None:
        return "any part of a stage's work can move to another stage: the file does not tell its layers"
    before, after = (
        ", ".join(map(str, one.tolist()[:_MOST_LISTED])) + (" …" if len(one) > _MOST_LISTED else "")
        for one in (balance.before, balance.after)
    )
    return (
        f"layers ({layers.name}) are all alike and move whole, from {before} on the stages to {after}; what "
        "else a stage does stays there"
    )


FIX = Fix(
    name="rebalance",
    title="Balance the stages of the pipeline",
    recognised="ranks that send messages to single others, of which some compute longer than others",
    replayed="kernels that compute take longer or shorter, so that all stages compute for the same time: by "
    "whole layers where call stacks tell them, else evenly",
    how="move layers from the longest stage to the others: decoder layers for the first and last stage "
    "(--decoder-first-pipeline-num-layers of Megatron-LM), split_points of torch.distributed.pipelining; "
    "count embedding and loss as layers",
    refuted_by="equal layers that take longer on one stage: its device is slower, and fewer layers hide it",
    assumptions=(
        "work takes as long on another stage as on its own",
        "messages between the stages stay as large",
    ),
    find=_find,
    asked="with {} balanced over the stages",
    edit=lambda graph, chosen, settings: rebalance(graph, chosen),
)
