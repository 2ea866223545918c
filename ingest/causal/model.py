"""The causal model of one rank: from its events to segments, dependencies and the critical path."""

from dataclasses import dataclass, fields

from tracegraph.ingest.causal.basis import Basis, find_basis
from tracegraph.ingest.causal.binding import Binding, bind, find_sink, walk
from tracegraph.ingest.causal.callstack import CallStack
from tracegraph.ingest.causal.dependencies import Dependencies
from tracegraph.ingest.causal.doubt import lower_confidence
from tracegraph.ingest.causal.edges import Edges, Waits
from tracegraph.ingest.causal.events import Events, Flags, Ints, Lanes
from tracegraph.ingest.causal.gaps import name_gaps
from tracegraph.ingest.causal.launches import Launches
from tracegraph.ingest.causal.policies import EVIDENCE, Found, find_edges
from tracegraph.ingest.causal.replay import Replay
from tracegraph.ingest.causal.segments import Segments, Window, build_segments
from tracegraph.ingest.causal.steps import Steps
from tracegraph.ingest.integrity.findings import Integrity


@dataclass(frozen=True)
class Solution:
    """A causal graph and its critical path; `gap_name`: of each dependency, position in `edges.GAP_NAMES`."""

    events: Events
    lanes: Lanes
    window: Window
    segments: Segments
    dependencies: Dependencies
    gap_name: Ints
    binding: Binding
    on_path: Flags
    sink: int


@dataclass(frozen=True)
class Model(Solution):
    """All that is known about one rank; `events` are on the CPU's clock.

    `found`: the edges between ports and the waits that the graph was made from.
    """

    stack: CallStack
    launches: Launches
    steps: Steps
    slack: Ints
    clock_offset_ns: int
    clock_drift_ppb: int
    cross_thread: str
    basis: Basis
    found: Found
    replay: Replay


def solve(basis: Basis, edges: Edges, waits: Waits) -> Solution:
    """Cut the threads at the ports of the edges, choose what explains every start, and walk the path."""
    segments = build_segments(
        basis.events, basis.stack, basis.lanes, basis.window, edges, waits, basis.steps.cuts
    )
    dependencies, binding = bind(segments, edges, basis.window)
    dependencies = lower_confidence(basis.doubts, basis.events, segments, dependencies)
    sink = find_sink(segments, basis.window, basis.lanes)
    return Solution(
        events=basis.events,
        lanes=basis.lanes,
        window=basis.window,
        segments=segments,
        dependencies=dependencies,
        gap_name=name_gaps(basis.events, basis.launches, segments, dependencies),
        binding=binding,
        on_path=walk(segments, dependencies, binding, sink),
        sink=sink,
    )


def build_model(events: Events, lanes: Lanes, integrity: Integrity, cross_thread: str = EVIDENCE) -> Model:
    """Apply the rules of the causal model; `cross_thread` is one of `policies.POLICIES`."""
    basis = find_basis(events, lanes, integrity)
    found = find_edges(basis, cross_thread)
    solution = solve(basis, *found)
    replay = Replay(solution.segments, solution.dependencies, solution.window, solution.sink)
    return Model(
        **{field.name: getattr(solution, field.name) for field in fields(Solution)},
        stack=basis.stack,
        launches=basis.launches,
        steps=basis.steps,
        slack=replay.slack(),
        clock_offset_ns=basis.clock.offset_ns,
        clock_drift_ppb=basis.clock.drift_ppb,
        cross_thread=cross_thread,
        basis=basis,
        found=found,
        replay=replay,
    )
