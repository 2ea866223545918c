"""What every causal graph of a rank rests on: nesting, launches, clocks, and dependencies with the GPU."""

from dataclasses import dataclass

from tracegraph.ingest.callstack import CallStack, nest
from tracegraph.ingest.clock import gpu_clock_offset
from tracegraph.ingest.correlations import tell_calls_apart
from tracegraph.ingest.dependencies.collectives import collective_waits
from tracegraph.ingest.dependencies.edges import Edges, Waits
from tracegraph.ingest.dependencies.invocation import invocation
from tracegraph.ingest.dependencies.sequential import stream_order
from tracegraph.ingest.dependencies.stream_resume import stream_resume
from tracegraph.ingest.dependencies.stream_waits import stream_edges
from tracegraph.ingest.dependencies.synchronization import (
    find_host_waits,
    find_sync_rows,
    host_edges,
)
from tracegraph.ingest.events import Events, Lanes
from tracegraph.ingest.integrity import Integrity
from tracegraph.ingest.launches import Launches, match_launches, measure_lags, order_streams
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
    clock_offset_ns: int


def find_basis(events: Events, lanes: Lanes, integrity: Integrity) -> Basis:
    """Nest, match, put the clocks right, and apply all rules that need no other thread."""
    stack = nest(events)
    events, doubtful = tell_calls_apart(events, lanes.process, integrity)
    launches = match_launches(events, doubtful)
    streams = order_streams(events, launches)
    rows = find_sync_rows(events)
    host_waits = find_host_waits(events, launches, streams, rows)
    offset = gpu_clock_offset(events, launches, host_waits, integrity)
    if offset:
        # What a call can have waited for depends on the clock.
        events = events.shift_gpu(offset)
        host_waits = find_host_waits(events, launches, streams, rows)
    lags = measure_lags(events, launches, streams, len(lanes.frame))
    host, held = host_edges(events, host_waits, launches)
    ranks, absent = collective_waits(events, stack)
    on_gpu = join_rows(
        [
            invocation(events, launches, lags),
            stream_order(events, streams, lags),
            stream_edges(events, launches, streams, rows, lags),
        ]
    )
    return Basis(
        events=events,
        lanes=lanes,
        stack=stack,
        launches=launches,
        steps=find_steps(events, launches),
        window=find_window(events, lanes),
        edges=join_rows([on_gpu, stream_resume(events, on_gpu), host, ranks]),
        waits=join_rows([held, absent]),
        clock_offset_ns=offset,
    )
