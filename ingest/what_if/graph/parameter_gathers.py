"""The gathers of sharded parameters on GPUs, in the order in which each pass needs them (FSDP, ZeRO-3)."""

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tracegraph.ingest.arrays import Flags, Ints
from tracegraph.ingest.causal.events.events import NONE
from tracegraph.ingest.what_if.graph.enclosing_operators import inside_events, nearest_event
from tracegraph.ingest.what_if.graph.graph import ReplayGraph
from tracegraph.ingest.what_if.graph.transfers import collectives_of, communicates
from tracegraph.vocabulary.categories import Role
from tracegraph.vocabulary.collectives import FSDP, FSDP_GATHER, FSDP_TAKES_OVER, gathered_module
from tracegraph.vocabulary.mechanisms import CODE, STREAM_RESUME, STREAM_WAIT_EVENT

SHARDS = ("FSDP", "fsdp", "FullyShardedDataParallel", "fully_shard", "DeepSpeedZero", "PartitionedParameter")
"""Names in a run, or around a gather, whose parameters are gathered before use; activations are, as well."""
_WAITS = (CODE[STREAM_WAIT_EVENT], CODE[STREAM_RESUME])


@dataclass(frozen=True)
class Gather:
    """A gather of the parameters of a module.

    Attributes
    ----------
    works
        The segments with which the GPU works begin that asking for it launches, in order: itself the last.
    begun
        When the host begins to ask for it, ns.
    used
        When the host launches the first work that needs it, ns.
    user
        The segment of a thread that launches that work.
    module
        The name of the module, where an annotation names it.
    bytes
        All data of it, `NONE` if it is not known.
    """

    works: Ints
    begun: int
    used: int
    user: int
    module: str | None
    bytes: int


def sharded_gathers(graph: ReplayGraph) -> Flags:
    """Flag the gathers that are asked for in annotations or frames of a library that shards parameters."""
    calls = graph.calls
    shards = np.array([any(word in str(name) for word in SHARDS) for name in calls.name.values], dtype=bool)
    of_library = calls.name.matching(shards) & calls.of_role(Role.ANNOTATION, Role.FRAME)
    inside = inside_events(graph, of_library)
    on_gpu = calls.of_role(Role.KERNEL)
    return collectives_of(graph, "all_gather") & np.where(on_gpu, inside[calls.call], True)


def gather_passes(graph: ReplayGraph) -> list[list[Gather]]:
    """Find the passes of each rank with the gathers of which is known what needs them first, in that order.

    A pass ends with its phase or step, and where a module is gathered again.
    """
    calls = graph.calls
    event = np.flatnonzero(sharded_gathers(graph) & calls.of_role(Role.KERNEL))
    first = _first_segments(graph)
    marks = nearest_event(graph, _named(graph, FSDP_GATHER), calls.call[event])
    launching = graph.launching
    uses = _Uses(graph, first)
    passes: dict[tuple[int, ...], list[Gather]] = {}
    for gather, mark in zip(event.tolist(), marks.tolist(), strict=True):
        call = int(calls.call[gather])
        module = None if mark < 0 else gathered_module(str(calls.name[mark]))
        user = uses.after(gather, module)
        if user < 0 or first[gather] < 0 or launching[first[user]] < 0:
            continue
        used = int(calls.start[calls.call[user]])
        lane = int(calls.lane[call])
        key = (int(graph.lanes.rank[lane]), int(calls.step[call]), _phase_at(graph, lane, used))
        works = uses.launched_in(mark) if mark >= 0 else np.array([gather])
        works = first[np.append(works[works != gather], gather)]
        found = Gather(
            works=works[works >= 0],
            begun=int(calls.start[mark if mark >= 0 else call]),
            used=used,
            user=int(launching[first[user]]),
            module=module,
            bytes=NONE if graph.facts is None else int(graph.facts().bytes[gather]),
        )
        passes.setdefault(key, []).append(found)
    return [own for found in passes.values() for own in _without_repetition(found)]


def _without_repetition(found: list[Gather]) -> Iterator[list[Gather]]:
    """Cut what a phase or step gathers where a module comes again."""
    own: list[Gather] = []
    for one in sorted(found, key=lambda one: one.used):
        if one.module is not None and any(one.module == before.module for before in own):
            yield own
            own = []
        own.append(one)
    yield own


def computing_launches(graph: ReplayGraph, rank: int) -> Ints:
    """List when the host of a rank launched computing that is not FSDP's own, by time, ns."""
    calls = graph.calls
    computing = calls.of_role(Role.KERNEL) & ~communicates(graph) & (calls.call >= 0)
    computing &= graph.lanes.rank[calls.lane] == rank
    computing &= ~inside_events(graph, _named(graph, FSDP))[calls.call]
    return np.sort(calls.start[calls.call[computing]])


def _named(graph: ReplayGraph, beginning: str) -> Flags:
    names = graph.calls.name
    told = np.array([str(name).startswith(beginning) for name in names.values], dtype=bool)
    found: Flags = names.matching(told) & graph.calls.of_role(Role.ANNOTATION)
    return found


def _first_segments(graph: ReplayGraph) -> Ints:
    """Find the segment with which each event begins, -1 for none."""
    segments = graph.segments
    found = np.full(len(graph.calls) + 1, -1, dtype=np.int64)
    own = np.flatnonzero(segments.event >= 0)[::-1]
    found[segments.event[own]] = own
    return found[:-1]


def _phase_at(graph: ReplayGraph, lane: int, at: int) -> int:
    """Find the phase of a lane's rank that begins last before a time, -1 for none."""
    phases = graph.phases
    own = np.flatnonzero((phases.rank == graph.lanes.rank[lane]) & (phases.start <= at))
    return int(own[np.argmax(phases.start[own])]) if len(own) else -1


class _Uses:
    """Finds the first work on a GPU that needs a gather."""

    def __init__(self, graph: ReplayGraph, first: Ints) -> None:
        self.graph, self.first = graph, first
        calls, found = graph.calls, graph.dependencies
        launched = np.flatnonzero((calls.call >= 0) & (first >= 0))
        lane, start = (column[calls.call[launched]] for column in (calls.lane, calls.start))
        order = np.lexsort((start, lane))
        self._launched, self._lane, self._start = launched[order], lane[order], start[order]
        self._takes: dict[tuple[int, str | None], list[tuple[int, int]]] = {}
        for at in np.flatnonzero(_named(graph, FSDP_TAKES_OVER)).tolist():
            key = int(graph.lanes.rank[calls.lane[at]]), gathered_module(str(calls.name[at]))
            self._takes.setdefault(key, []).append((int(calls.start[at]), at))
        self._waiting: dict[int, list[int]] = {}
        waits = np.flatnonzero(np.isin(found.mechanism, _WAITS))
        cause, effect = (graph.segments.event[side[waits]] for side in (found.cause, found.effect))
        for one, waiting in zip(cause.tolist(), effect.tolist(), strict=True):
            if waiting >= 0 and calls.call[waiting] >= 0:
                self._waiting.setdefault(one, []).append(waiting)

    def after(self, gather: int, module: str | None) -> int:
        """Find the event of it, -1 for none: in what FSDP says takes over, else what a stream made wait."""
        calls = self.graph.calls
        call = int(calls.call[gather])
        if module is None:
            return min(self._waiting.get(gather, [-1]), key=lambda one: int(calls.start[calls.call[one]]))
        takes = sorted(self._takes.get((int(self.graph.lanes.rank[calls.lane[call]]), module), []))
        place = bisect_left(takes, (int(calls.start[call]), -1))
        works = self.launched_in(takes[place][1]) if place < len(takes) else self._launched[:0]
        return int(works[0]) if len(works) else -1

    def launched_in(self, mark: int) -> Ints:
        """List the GPU work launched inside an annotation, as it was launched."""
        calls = self.graph.calls
        lane = int(calls.lane[mark])
        first, until = np.searchsorted(self._lane, [lane, lane + 1])
        inside = np.searchsorted(self._start[first:until], [calls.start[mark], calls.end[mark]])
        found: Ints = self._launched[first + inside[0] : first + inside[1]]
        return found
