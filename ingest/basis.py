"""What every causal graph of a rank rests on: nesting, launches, clocks, and dependencies with the GPU."""

from dataclasses import dataclass

from tracegraph.ingest.aligned import align
from tracegraph.ingest.callstack import CallStack, nest
from tracegraph.ingest.clock import GpuClock
from tracegraph.ingest.correlations import tell_calls_apart
from tracegraph.ingest.dependencies.collectives import collective_waits
from tracegraph.ingest.dependencies.edges import Edges, Waits
from tracegraph.ingest.doubt import Doubts, find_doubts
from tracegraph.ingest.events import Events, Lanes
from tracegraph.ingest.gpu_rules import gpu_rules
from tracegraph.ingest.integrity import Integrity
from tracegraph.ingest.launches import Launches
from tracegraph.ingest.rows import join_rows
from tracegraph.ingest.segments import Window, find_window
from tracegraph.ingest.steps import Steps, find_steps


@dataclass(frozen=True)
class Basis:
    """One rank before any dependency between its threads; `events` are on the CPU's clock.

    `edges`, `waits`: those of the GPU and of other ranks, which hold under every cross-thread policy.
    """

    events: Events
    lanes: Lanes
    stack: CallStack
    launches: Launches
    steps: Steps
    window: Window
    edges: Edges
    waits: Waits
    doubts: Doubts
    clock: GpuClock
    """What was added to the GPU rows, told from the window's start."""


def find_basis(events: Events, lanes: Lanes, integrity: Integrity) -> Basis:
    """Nest, match, put the clocks right, and apply all rules that need no other thread."""
    stack = nest(events)
    events = tell_calls_apart(events, lanes.process)
    gpu = align(events, find_window(events, lanes).start, integrity)
    events = gpu.events
    window = find_window(events, lanes)
    found, ranks = gpu_rules(gpu, stack, len(lanes.frame)), collective_waits(events, stack)
    return Basis(
        events=events,
        lanes=lanes,
        stack=stack,
        launches=gpu.launches,
        steps=find_steps(events, gpu.launches),
        window=window,
        edges=join_rows([found[0], ranks[0]]),
        waits=join_rows([found[1], ranks[1]]),
        doubts=find_doubts(events, lanes, gpu.launches),
        clock=gpu.clock.at(window.start),
    )
