"""What every causal graph of a rank rests on: nesting, launches, clocks, and dependencies with the GPU."""

from dataclasses import dataclass

from tracegraph.ingest.causal.aligned import align
from tracegraph.ingest.causal.array_tables import join_rows
from tracegraph.ingest.causal.callstack import CallStack, nest
from tracegraph.ingest.causal.clock import GpuClock
from tracegraph.ingest.causal.correlations import tell_calls_apart
from tracegraph.ingest.causal.doubt import Doubts, find_doubts
from tracegraph.ingest.causal.edges import Edges, Waits
from tracegraph.ingest.causal.events import Events, Lanes
from tracegraph.ingest.causal.gpu_rules import gpu_rules
from tracegraph.ingest.causal.launches import Launches
from tracegraph.ingest.causal.rules.collectives import collective_waits
from tracegraph.ingest.causal.segments import Window, find_window
from tracegraph.ingest.causal.steps import Steps, find_steps
from tracegraph.ingest.integrity.findings import Integrity


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
