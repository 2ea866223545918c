"""Which ranks are the stages of a pipeline, and how many layers of the model each of them has."""

from dataclasses import dataclass

import numpy as np

from tracegraph.ingest.arrays import Flags, Ints
from tracegraph.ingest.ranks.communication_kinds import find_kind
from tracegraph.ingest.what_if.graph.graph import Calls, ReplayGraph
from tracegraph.vocabulary.categories import Role
from tracegraph.vocabulary.collectives import MESSAGES
from tracegraph.vocabulary.mechanisms import CODE, COLLECTIVE
from tracegraph.vocabulary.python_frames import MODULE, module_class


@dataclass(frozen=True)
class LayersOf:
    """How many modules of one class, whose name is given, each stage has."""

    name: str
    counts: Ints


def find_pipelines(graph: ReplayGraph) -> list[Ints]:
    """Find the ranks that are joined by messages whose both sides are known: the stages of each pipeline."""
    found, rank = graph.dependencies, graph.lanes.rank[graph.segments.lane]
    mine = np.flatnonzero(found.mechanism == CODE[COLLECTIVE])
    if not len(mine):
        return []
    messages = np.append(_messages(graph.calls), False)[graph.segments.event]
    mine = mine[messages[found.cause[mine]] & messages[found.effect[mine]]]
    pairs = np.unique(np.stack([rank[found.cause[mine]], rank[found.effect[mine]]], axis=1), axis=0)
    pipeline = {one: one for one in np.unique(pairs).tolist()}
    for one, other in pairs.tolist():
        kept, left = pipeline[one], pipeline[other]
        pipeline = {number: kept if of == left else of for number, of in pipeline.items()}
    ranks = (
        [number for number, of in pipeline.items() if of == one] for one in sorted(set(pipeline.values()))
    )
    return [np.array(sorted(stages)) for stages in ranks if len(stages) > 1]


def _messages(calls: Calls) -> Flags:
    """Flag the events that are messages between single ranks, on GPUs or on threads of a back end.

    NCCL runs an all-to-all as sends and receives, too: what is launched in a call of another kind is none.
    """
    kinds = [find_kind(str(name)) for name in calls.name.values]
    messages: Flags = calls.name.matching(np.array([kind in MESSAGES for kind in kinds], dtype=bool))
    others = np.array([kind is not None and kind not in MESSAGES for kind in kinds], dtype=bool)
    asks = calls.name.matching(others)
    around = np.where(messages, calls.call, -1)
    while (inside := around >= 0).any():
        messages &= ~(inside & asks[around])
        around = np.where(inside, calls.parent[around], -1)
    return messages


def count_layers(graph: ReplayGraph, ranks: Ints) -> LayersOf | None:
    """Count the modules of the class that is the model's layer; None where no call stack tells one.

    Layers are several modules of one class inside the same module. Of several such classes it is the one
    with most time, since what is inside of layers has less; every stage has some of it.
    """
    calls = graph.calls
    names = [str(name) for name in calls.name.values]
    starts = np.array([name.startswith(MODULE) for name in names], dtype=bool)
    event = np.flatnonzero(calls.of_role(Role.FRAME) & calls.name.matching(starts))
    if not len(event):
        return None
    spent: dict[str, int] = {}
    inside: dict[str, dict[int, dict[str, set[str]]]] = {}
    for of_rank, code, outer, length in zip(
        graph.lanes.rank[calls.lane[event]].tolist(),
        calls.name.codes[event].tolist(),
        _around(calls, event).tolist(),
        (calls.end - calls.start)[event].tolist(),
        strict=True,
    ):
        kind = module_class(names[code])
        spent[kind] = spent.get(kind, 0) + length
        there = names[calls.name.codes[outer]] if outer >= 0 else ""
        inside.setdefault(kind, {}).setdefault(of_rank, {}).setdefault(there, set()).add(names[code])
    most = {
        kind: {rank: max(map(len, of.values())) for rank, of in all_.items()} for kind, all_ in inside.items()
    }
    layers = [kind for kind, of in most.items() if set(ranks.tolist()) <= of.keys() and max(of.values()) > 1]
    if not layers:
        return None
    kind = max(layers, key=lambda one: spent[one])
    counts = np.array([most[kind][one] for one in ranks.tolist()])
    return LayersOf(kind.removeprefix(MODULE).removesuffix("_*"), counts)


def _around(calls: Calls, event: Ints) -> Ints:
    """Find the innermost other module around each of some modules; -1 for none."""
    is_module = np.zeros(len(calls) + 1, dtype=bool)
    is_module[event] = True
    outer = calls.parent[event]
    while (walks := (outer >= 0) & ~is_module[outer]).any():
        outer = np.where(walks, calls.parent[outer], outer)
    return outer
