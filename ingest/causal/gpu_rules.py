"""All rules of the GPU, which hold whatever threads wait for each other: its edges and waits."""

from tracegraph.ingest.causal.aligned import Aligned
from tracegraph.ingest.causal.array_tables import join_rows
from tracegraph.ingest.causal.callstack import CallStack
from tracegraph.ingest.causal.edges import Edges, Waits
from tracegraph.ingest.causal.launches import done_before, measure_lags
from tracegraph.ingest.causal.rules.graph_launches import graph_latency, order_graphs
from tracegraph.ingest.causal.rules.invocation import invocation, left_at
from tracegraph.ingest.causal.rules.long_calls import unexplained_calls
from tracegraph.ingest.causal.rules.lost_calls import lost_calls
from tracegraph.ingest.causal.rules.queue_full import queue_full
from tracegraph.ingest.causal.rules.sequential import stream_order
from tracegraph.ingest.causal.rules.silent_sync import silent_waits
from tracegraph.ingest.causal.rules.stream_resume import stream_resume
from tracegraph.ingest.causal.rules.stream_waits import stream_edges
from tracegraph.ingest.causal.rules.synchronization import host_edges
from tracegraph.ingest.causal.usual_work import usual_work

Found = tuple[Edges, Waits]


def gpu_rules(gpu: Aligned, stack: CallStack, lane_count: int) -> Found:
    """Edges into GPU work, and edges and waits of threads for it."""
    events, launches = gpu.events, gpu.launches
    lags = measure_lags(events, launches, gpu.streams, lane_count)
    done = done_before(events, gpu.streams)
    usual = usual_work(events, launches, lags, done)
    left = left_at(events, launches, lags, usual, done)
    queued = [invocation(events, launches, lags, left), stream_order(events, gpu.streams, lags)]
    queued.append(lost_calls(events, stack, launches, lags))
    threads = [
        host_edges(events, gpu.host_waits, launches, left),
        queue_full(events, launches, gpu.streams, usual),
        silent_waits(events, stack, launches, gpu.streams),
    ]
    waits = join_rows([found[1] for found in threads])
    edges = join_rows([_into_work(gpu, join_rows(queued)), *(found[0] for found in threads)])
    return edges, join_rows([waits, unexplained_calls(events, waits)])


def _into_work(gpu: Aligned, queued: Edges) -> Edges:
    """All edges into GPU work, from launches and the order on streams."""
    events, launches, streams = gpu.events, gpu.launches, gpu.streams
    queued = order_graphs(events, launches, streams, queued)
    between = stream_edges(events, launches, streams, gpu.rows, queued)
    known = graph_latency(events, launches, join_rows([queued, between]))
    return join_rows([known, stream_resume(events, known)])
