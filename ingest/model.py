"""The causal model of one rank: from its events to segments, dependencies and the critical path."""

from dataclasses import dataclass

import numpy as np

from tracegraph.ingest.binding import Binding, Dependencies, bind, find_sink, find_slack, walk
from tracegraph.ingest.callstack import CallStack, nest
from tracegraph.ingest.clock import gpu_clock_offset
from tracegraph.ingest.dependencies.cross_thread import autograd
from tracegraph.ingest.dependencies.invocation import invocation
from tracegraph.ingest.dependencies.resume import resume
from tracegraph.ingest.dependencies.sequential import stream_order
from tracegraph.ingest.dependencies.stream_waits import stream_edges
from tracegraph.ingest.dependencies.synchronization import (
    find_host_waits,
    find_sync_rows,
    host_edges,
)
from tracegraph.ingest.events import Events, Flags, Ints, Lanes
from tracegraph.ingest.integrity import Integrity
from tracegraph.ingest.launches import Launches, match_launches, measure_lags, order_streams
from tracegraph.ingest.rows import join_rows
from tracegraph.ingest.segments import Segments, Window, build_segments, find_window
from tracegraph.ingest.steps import Steps, find_steps


@dataclass(frozen=True)
class Model:
    """All that is known about one rank; `events` are on the CPU's clock."""

    events: Events
    lanes: Lanes
    stack: CallStack
    launches: Launches
    steps: Steps
    window: Window
    segments: Segments
    dependencies: Dependencies
    binding: Binding
    slack: Ints
    on_path: Flags
    sink: int
    clock_offset_ns: int


def build_model(events: Events, lanes: Lanes, integrity: Integrity) -> Model:
    """Apply the rules of the causal model, in their order: clocks first, then dependencies, then binding."""
    stack = nest(events)
    launches = match_launches(events)
    streams = order_streams(events, launches)
    rows = find_sync_rows(events)
    host_waits = find_host_waits(events, launches, streams, rows)
    offset = gpu_clock_offset(events, launches, host_waits, integrity)
    if offset:
        # What a call can have waited for depends on the clock.
        events = events.shift_gpu(offset)
        host_waits = find_host_waits(events, launches, streams, rows)
    lags = measure_lags(events, launches, streams, len(lanes.frame))
    steps = find_steps(events, launches)
    window = find_window(events, lanes)
    host, held = host_edges(events, host_waits, launches)
    threads, handed = autograd(events, stack, window.end)
    resumed, paused = resume(events, stack, lanes, (threads.effect_lane, threads.effect_time))
    edges = join_rows(
        [
            invocation(events, launches, lags),
            stream_order(events, streams, lags),
            stream_edges(events, launches, streams, rows, lags),
            host,
            threads,
            resumed,
        ]
    )
    cuts = np.tile(steps.lane, 2), np.concatenate([steps.start, steps.end])
    segments = build_segments(events, stack, lanes, window, edges, join_rows([held, handed, paused]), cuts)
    dependencies, binding = bind(segments, edges, window)
    sink = find_sink(segments, window, lanes)
    return Model(
        events=events,
        lanes=lanes,
        stack=stack,
        launches=launches,
        steps=steps,
        window=window,
        segments=segments,
        dependencies=dependencies,
        binding=binding,
        slack=find_slack(segments, dependencies, window),
        on_path=walk(segments, dependencies, binding, sink),
        sink=sink,
        clock_offset_ns=offset,
    )
