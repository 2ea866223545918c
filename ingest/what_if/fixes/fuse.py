"""Fuse: kernels that run element by element in sequence become one kernel of one pass over the data."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from tracegraph.base.units import short_ns
from tracegraph.ingest.arrays import Flags, Ints
from tracegraph.ingest.flops import bytes_bound
from tracegraph.ingest.what_if.changes.edit import Edit, no_edit
from tracegraph.ingest.what_if.changes.launch_calls import calls_left_out
from tracegraph.ingest.what_if.changes.threads import launched
from tracegraph.ingest.what_if.fixes.fix import Candidate, Fix, Scene, asked_for, escaped, made_in
from tracegraph.ingest.what_if.graph.enclosing_operators import climb_operators, find_holders
from tracegraph.ingest.what_if.graph.graph import ReplayGraph
from tracegraph.ingest.what_if.graph.subtrees import held_by
from tracegraph.vocabulary.categories import Role
from tracegraph.vocabulary.python_frames import module_class

_POOLING = "pool"
_MOVES = ("cat", "stack", "repeat", "constant_pad_nd", "roll", "flip", "clone", "contiguous", "_to_copy")
FUSABLE = frozenset(name for name in bytes_bound.FORMULAS if _POOLING not in name) | {
    f"aten::{name}" for name in _MOVES
}
"""Operators that compilers fuse: elementwise ones, reductions, normalisations and copies."""
# Runs from which on a kind of holder repeats itself, and the number of kinds that are tried at most.
_REPEATED, _MOST = 3, 4
_OPTIMIZER = "Optimizer."
"""How annotations of optimizers begin, which handle the parameters one after the other."""


@dataclass(frozen=True)
class _Runs:
    """Kernels that follow each other on a stream and could be one; one entry each, by run and time.

    `run`: its number. `segment`, `call`: the segments of the kernel, and of the call that launched it.
    `holder`: the event below which its run was launched, -1 for none.
    """

    run: Ints
    segment: Ints
    call: Ints
    holder: Ints

    def __len__(self) -> int:
        return len(self.run)

    @property
    def first(self) -> Flags:
        """Flags for the first kernel of each run."""
        found: Flags = np.append(True, self.run[1:] != self.run[:-1])[: len(self)]
        return found


def find_runs(graph: ReplayGraph, chosen: Flags) -> _Runs:
    """Find runs of two and more kernels of `FUSABLE` operators, without others of the stream between."""
    segments, calls = graph.segments, graph.calls
    call = np.full(len(segments), -1, dtype=np.int64)
    cause, effect = launched(graph, by_graphs=False)
    call[effect] = cause
    kernels = np.flatnonzero(
        calls.of_role(Role.KERNEL)[segments.event] & ~segments.on_thread & (segments.event >= 0)
    )
    kernels = kernels[np.lexsort((segments.start[kernels], segments.lane[kernels]))]
    calling = call[kernels]
    event = np.where(calling >= 0, segments.event[calling], -1)
    operator, holder = climb_operators(graph, event)[0], find_holders(graph, event)
    names = np.array([str(name) in FUSABLE for name in calls.name.values])
    fusable = (operator >= 0) & names[calls.name.codes[operator]] & (chosen[kernels] | chosen[calling])
    apart = np.append(
        True, (segments.lane[kernels][1:] != segments.lane[kernels][:-1]) | (holder[1:] != holder[:-1])
    )
    apart = apart[: len(kernels)] | ~fusable | ~np.append(False, fusable[:-1])[: len(kernels)]
    run = np.cumsum(apart)
    long = fusable & (np.bincount(run, fusable)[run] > 1)
    return _Runs(run[long], kernels[long], calling[long], holder[long])


def fuse(graph: ReplayGraph, chosen: Flags) -> Edit:
    """Make each run among chosen kernels, or those of chosen calls, one launch of its longest kernel.

    A kernel of one pass moves what the longest one moves; data between kernels is not written and read again.
    The operators that launched the others take no time.
    """
    edit, segments = no_edit(len(graph.segments)), graph.segments
    runs = find_runs(graph, chosen)
    if not len(runs):
        return edit
    work = segments.work[runs.segment]
    longest = np.maximum.reduceat(work, np.flatnonzero(runs.first))[np.cumsum(runs.first) - 1]
    factor, queue_lag = edit.factor.copy(), edit.queue_lag.copy()
    factor[runs.segment] = np.where(runs.first, longest / np.maximum(work, 1), 0.0)
    queue_lag[runs.segment[~runs.first]] = 0
    factor[calls_left_out(graph, runs.run, runs.call, runs.first)] = 0.0
    return replace(edit, factor=factor, queue_lag=queue_lag)


@dataclass(frozen=True)
class _Kind:
    """Runs launched below events of one name, or below modules of one class.

    `gpu_ns`: time of their kernels; `saved_ns`: that time without the longest kernel of each run.
    """

    name: str
    runs: int
    kernels: int
    gpu_ns: int
    saved_ns: int


def _find(scene: Scene) -> Iterator[Candidate]:
    """Yield the kinds of modules, annotations or functions whose runs would save most, and these together.

    Kernels below none of these, or in an optimizer, may be about a tensor each: nothing says that a kernel
    uses what the one before wrote.
    """
    graph = scene.graph
    everything = np.ones(len(graph.segments), dtype=bool)
    kinds = _kinds(graph, find_runs(graph, everything))
    large = [one for one in kinds if one.saved_ns >= scene.least_ns and one.runs >= _REPEATED]
    classes = {name: module_class(str(name)) for name in graph.frames.name.values}
    selectors, whole = [], np.zeros(len(graph.segments), dtype=bool)
    for one in large[:_MOST]:
        mine = graph.frames.name.among(*(name for name, kind in classes.items() if kind == one.name))
        held = held_by(graph, mine) >= 0
        selectors.append(f"under={escaped(one.name)}")
        whole |= held
        yield _candidate(graph, selectors[-1:], held, [one])
    if len(selectors) > 1:
        yield _candidate(graph, selectors, whole, large[:_MOST])


def _kinds(graph: ReplayGraph, runs: _Runs) -> list[_Kind]:
    """Sum up runs by the kind of their holder; those that would save most come first."""
    if not len(runs):
        return []
    work, begins = graph.segments.work[runs.segment], np.flatnonzero(runs.first)
    names = [str(graph.calls.name[at]) if at >= 0 else "" for at in runs.holder[begins].tolist()]
    kind, kinds = pd.factorize(np.array([module_class(name) for name in names], dtype=object))
    sums, most = np.add.reduceat(work, begins), np.maximum.reduceat(work, begins)
    kernels = np.diff(np.append(begins, len(runs)))
    totals = [np.bincount(kind, weights, len(kinds)) for weights in (kernels, sums, sums - most)]
    counts = np.bincount(kind, minlength=len(kinds))
    found = [
        _Kind(str(name), int(counts[at]), *(int(total[at]) for total in totals))
        for at, name in enumerate(kinds)
        if name and not str(name).startswith(_OPTIMIZER)
    ]
    return sorted(found, key=lambda one: -one.saved_ns)


def _candidate(graph: ReplayGraph, selectors: list[str], chosen: Flags, kinds: list[_Kind]) -> Candidate:
    return Candidate(
        selector=", ".join(selectors),
        options=asked_for(FIX.name, selectors),
        change=made_in(graph, fuse(graph, chosen)),
        evidence="; ".join(
            f"{kind.runs:,} times {kind.kernels / max(kind.runs, 1):.0f} small kernels in a row below "
            f"`{kind.name}` (elementwise, reduction, copy), {short_ns(kind.gpu_ns)} of GPU time"
            for kind in kinds
        ),
    )


FIX = Fix(
    name="fuse",
    title="Fuse small kernels",
    recognised="runs of elementwise, reduction and copy kernels on one stream, launched below one module, "
    "annotation or function, again and again; not in optimizers, which go through tensors one by one",
    replayed="a run is one launch that takes as long as its longest kernel; the operators that launched the "
    "others take no time",
    how="torch.compile, or a fused kernel for the pattern (a norm, a rotary embedding, an activation)",
    refuted_by="fused kernels that take longer than the longest of those that they replace",
    assumptions=(
        "a fused kernel moves as much as the kernel of its run that moves most, and nothing else reads "
        "what is between",
    ),
    find=_find,
    asked="with the small kernels of {} fused",
    edit=lambda graph, chosen, settings: fuse(graph, chosen),
)
