"""Capture in a graph: what the host does repeatedly to launch the same work becomes one launch."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from tracegraph.base.units import short_ns
from tracegraph.ingest.array_tables import count_in_groups
from tracegraph.ingest.arrays import Flags, Ints
from tracegraph.ingest.what_if.changes.edit import Edit, no_edit
from tracegraph.ingest.what_if.changes.threads import (
    back_to_back_ns,
    host_waits,
    launched,
    with_gaps,
    with_reasons,
)
from tracegraph.ingest.what_if.fixes.fix import Candidate, Fix, Scene, asked_for, escaped, made_in
from tracegraph.ingest.what_if.graph.enclosing_operators import below_each, nearest_event
from tracegraph.ingest.what_if.graph.graph import ReplayGraph
from tracegraph.ingest.what_if.graph.phase_work import of_phase
from tracegraph.ingest.what_if.graph.subtrees import held_by
from tracegraph.vocabulary.categories import Role, has_role
from tracegraph.vocabulary.mechanisms import AUTOGRAD_HAND_OFF, CODE
from tracegraph.vocabulary.phases import BACKWARD, FORWARD, PHASE_NAMES
from tracegraph.vocabulary.python_frames import MODULE

_FEW = 8
"""Up to this many other launches for each graph launch are not a reason to capture again. Chosen by eye: a
step that runs a graph still copies its inputs and reads its loss; with fewer it would be advised to capture
those again."""
_FEWEST, _ALIKE, _MOST = 10, 0.6, 3
"""Launches and share (0..1) of repetitions that are the same, at least; names that are tried, at most. Chosen
by eye: with fewer launches there is little to save; a larger share would refuse programs that log or save in
every other step."""
_WHOLE = 0.95
"""The share (0..1) of the path from which on a name stands for the whole program."""


@dataclass(frozen=True)
class Repeats:
    """How often the same is launched.

    `times`: in how many steps something is launched; `same`: in how many of them the same `launches` works.
    """

    times: int
    same: int
    launches: int

    @property
    def share(self) -> float:
        """The share (0..1) of steps that launch the same; 0 for one step alone."""
        return self.same / self.times if self.times > 1 else 0.0


def step_of(graph: ReplayGraph, segment: Ints) -> Ints:
    """Give each segment a number for its step and rank, the same for all outside of steps."""
    segments, calls = graph.segments, graph.calls
    event = segments.event[segment]
    step = np.where(event >= 0, calls.step[event], calls.step.min(initial=0))
    steps, number = np.unique(step, return_inverse=True)
    both = graph.lanes.rank[segments.lane[segment]] * len(steps) + number
    found: Ints = np.unique(both, return_inverse=True)[1]
    return found


def find_repeats(graph: ReplayGraph, host: Flags, group: Ints | None = None) -> Repeats:
    """Count how often chosen host segments launch the same works in order, on the rank that does it most.

    `group`: for each segment a number of what it is a part of, -1 for nothing; by default its step.
    """
    call, work = launched(graph, by_graphs=False)
    mine = host[call] if group is None else host[call] & (group[call] >= 0)
    call, work = call[mine], work[mine]
    if not len(call):
        return Repeats(0, 0, 0)
    rank = graph.lanes.rank[graph.segments.lane[call]]
    found = [_of_rank(graph, call[rank == one], work[rank == one], group) for one in np.unique(rank)]
    return max(found, key=lambda one: (one.times > 1, one.same))


def _of_rank(graph: ReplayGraph, call: Ints, work: Ints, group: Ints | None) -> Repeats:
    step = step_of(graph, call) if group is None else group[call]
    order = np.lexsort((graph.segments.start[call], step))
    step, name = step[order], graph.calls.name.codes[graph.segments.event[work[order]]].astype(np.uint64)
    begins = np.append(True, step[1:] != step[:-1])
    place = count_in_groups(step)
    # A sum of products of random odd numbers, modulo 2^64, distinguishes sequences.
    chance = np.random.default_rng(0)
    of_name = chance.integers(1, 2**63, int(name.max()) + 1, dtype=np.uint64)
    of_place = chance.integers(1, 2**63, int(place.max()) + 1, dtype=np.uint64)
    signature = np.add.reduceat(of_name[name] * of_place[place], np.flatnonzero(begins))
    lengths = np.diff(np.append(np.flatnonzero(begins), len(step)))
    values, counts = np.unique(signature, return_counts=True)
    usual = signature == values[counts.argmax()]
    return Repeats(len(signature), int(counts.max()), int(lengths[usual][0]))


def capture(graph: ReplayGraph, chosen: Flags) -> Edit:
    """Let chosen host segments take no time but for one launch in each step; their work runs back to back.

    A step in which only graph launches count stays as it is. Waits stay, and so do launch latencies and what
    passes before autograd's thread takes over.
    """
    edit = no_edit(len(graph.segments))
    host = with_gaps(graph, chosen)
    host &= ~_is_captured(graph, host)
    call, work = launched(graph, by_graphs=False)
    mine = host[call]
    if not mine.any():
        return edit
    factor = np.where(host & with_reasons(graph.segments), 0.0, 1.0)
    factor[_one_a_step(graph, call[mine])] = 1.0
    factor[_hand_offs(graph)] = 1.0
    queue_lag, usual = edit.queue_lag.copy(), back_to_back_ns(graph)
    if usual is not None:
        queue_lag[work[mine]] = usual
    return replace(edit, factor=factor, queue_lag=queue_lag)


def _is_captured(graph: ReplayGraph, host: Flags) -> Flags:
    """Flag the chosen segments of steps with graph launches among them, and hardly another launch."""
    by_graph = launched(graph, by_graphs=True)[0]
    single = launched(graph, by_graphs=False)[0]
    by_graph, single = np.unique(by_graph[host[by_graph]]), np.unique(single[host[single]])
    captured = np.zeros(len(host), dtype=bool)
    if not len(by_graph):
        return captured
    mine = np.flatnonzero(host)
    step = np.full(len(host), -1, dtype=np.int64)
    step[mine] = step_of(graph, mine)
    count = int(step.max()) + 1
    graphs, others = (np.bincount(step[one], minlength=count) for one in (by_graph, single))
    captured[mine] = ((graphs > 0) & (others <= _FEW * graphs))[step[mine]]
    return captured


def _one_a_step(graph: ReplayGraph, calls: Ints) -> Ints:
    """Find the first of the launching segments of each step and rank."""
    first = calls[np.argsort(graph.segments.start[calls], kind="stable")]
    return first[np.unique(step_of(graph, first), return_index=True)[1]]


def _hand_offs(graph: ReplayGraph) -> Ints:
    """Find the stretches without an operator or call at whose end autograd's thread takes over.

    Most of such a stretch is the time until that thread wakes up. It has no row, and so counts as own time of
    what is open on the thread that waits.
    """
    segments, found = graph.segments, graph.dependencies
    giver = found.cause[(found.mechanism == CODE[AUTOGRAD_HAND_OFF]) & found.binding]
    idle = np.append(graph.calls.of_role(Role.FRAME, Role.ANNOTATION), True)[segments.event[giver]]
    until: Ints = giver[idle]
    return until


@dataclass(frozen=True)
class _Region:
    """What might be captured: a selector, its segments, and what each is a part of if not of a step."""

    selector: str
    chosen: Flags
    group: Ints | None = None


def _find(scene: Scene) -> Iterator[Candidate]:
    """Yield forward and backward, else the names below which the same is launched repeatedly.

    If threads wait for the GPU inside, a graph cannot hold it: these waits have to go first.
    """
    graph, captured = scene.graph, []
    if len(launched(graph, by_graphs=False)[0]) < _FEWEST:
        return
    for region in _regions(scene):
        host = with_gaps(graph, region.chosen)
        spent = int(scene.on_path_ns[host].sum())
        repeats = find_repeats(graph, host, region.group)
        alike = repeats.share >= _ALIKE and repeats.launches >= _FEWEST
        waits = region.chosen[graph.dependencies.effect[host_waits(graph)] - 1].sum() >= repeats.times
        if spent >= scene.least_ns and alike and not waits and not _is_captured(graph, host).any():
            captured.append(region)
            yield _candidate(scene, [region], spent, repeats)
    if len(captured) > 1:
        host = with_gaps(graph, np.logical_or.reduce([region.chosen for region in captured]))
        yield _candidate(scene, captured, int(scene.on_path_ns[host].sum()), find_repeats(graph, host))


def _regions(scene: Scene) -> Iterator[_Region]:
    graph = scene.graph
    there = [name for name in (FORWARD, BACKWARD) if (graph.phases.name == PHASE_NAMES.index(name)).any()]
    for name in there:
        yield _Region(f"phase={name}", of_phase(graph, name))
    if there:
        return
    frames = graph.frames
    inclusive = below_each(
        frames, np.bincount(frames.of_segment, scene.on_path_ns, len(frames)).astype(np.int64)
    )
    is_module = np.array([str(one).startswith(MODULE) for one in frames.name.values])[frames.name.codes]
    marks = np.array([has_role(str(one), Role.ANNOTATION) for one in frames.category.values])
    named = is_module | marks[frames.category.codes] & ~frames.name.among(graph.step_marker)
    spent = np.bincount(frames.name.codes[named], inclusive[named], len(frames.name.values))
    total, tried = int(scene.on_path_ns.sum()), 0
    for code in np.argsort(-spent, kind="stable").tolist():
        if spent[code] < scene.least_ns or tried == _MOST:
            return
        if spent[code] > _WHOLE * total:
            continue
        tried += 1
        name = str(frames.name.values[code])
        held = held_by(graph, frames.name.codes == code) >= 0
        events = graph.calls.name.among(name)
        group = nearest_event(graph, events, graph.segments.event)
        yield _Region(f"under={escaped(name)}", held, group)


def _candidate(scene: Scene, regions: list[_Region], spent: int, repeats: Repeats) -> Candidate:
    selectors = [region.selector for region in regions]
    chosen = np.logical_or.reduce([region.chosen for region in regions])
    return Candidate(
        selector=", ".join(selectors),
        options=asked_for(FIX.name, selectors),
        change=made_in(scene.graph, capture(scene.graph, chosen)),
        evidence=f"{repeats.launches:,} launches at a time, the same in {repeats.same:,} of "
        f"{repeats.times:,} times; the host works {short_ns(spent)} of the path for them",
    )


FIX = Fix(
    name="capture",
    title="Capture in a CUDA graph",
    recognised="the same launches again and again, with the host's work for them on the path, and no wait "
    "for the GPU between them",
    replayed="the host's work inside takes no time but for one launch a step, and works follow each other on "
    "their stream as closely as the file's own that stand in a queue; waits and hand-offs stay",
    how='torch.compile(model, mode="reduce-overhead"), torch.cuda.make_graphed_callables or torch.cuda.graph',
    refuted_by="shapes or control flow that change from step to step, or a readback inside",
    assumptions=(
        "shapes and addresses stay the same from step to step, and nothing inside reads a value back",
    ),
    find=_find,
    asked="with {} captured in a graph",
    edit=lambda graph, chosen, settings: capture(graph, chosen),
)
