"""What a file states besides its events, in the numbers that the rules use for events and lanes."""

import numpy as np

from tracegraph.ingest.causal.events.lanes import Lanes
from tracegraph.ingest.causal.rules.context import OffCpu, Orders, Stated, never_off_cpu
from tracegraph.ingest.text_columns import read_texts
from tracegraph.ingest.trace import TraceFile


def read_stated(trace: TraceFile, lanes: Lanes) -> Stated:
    """Find what a file says of the order of its GPU work, and of times in which its threads did not run."""
    return Stated(_orders(trace), _off_cpu(trace, lanes))


def _orders(trace: TraceFile) -> Orders:
    index = trace.events["source_index"].to_numpy()
    by_index = np.argsort(index)
    cause, effect = (
        by_index[np.searchsorted(index, trace.orders[side].to_numpy(), sorter=by_index)]
        for side in ("cause", "effect")
    )
    return Orders(cause, effect, trace.orders["stated"].to_numpy())


def _off_cpu(trace: TraceFile, lanes: Lanes) -> OffCpu:
    """Put the stretches on the lanes of their threads, in order; threads without events have none."""
    if not trace.off_cpu.num_rows:
        return never_off_cpu()
    threads = lanes.frame[lanes.is_thread]
    lane_of = dict(zip(zip(threads["pid"], threads["tid"], strict=True), threads.index, strict=True))
    pid, tid = (read_texts(trace.off_cpu[name])[:].tolist() for name in ("pid", "tid"))
    lane = np.array([lane_of.get(place, -1) for place in zip(pid, tid, strict=True)], dtype=np.int64)
    start, end = (trace.off_cpu[name].to_numpy() for name in ("start_ns", "end_ns"))
    ready = trace.off_cpu["ready"].fill_null(False).to_numpy()
    order = np.lexsort((start, lane))
    order = order[lane[order] >= 0]
    return OffCpu(lane[order], start[order], end[order], ready[order])
