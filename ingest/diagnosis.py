"""What the causal model finds odd in a trace: losses and contradictions that limit what a report can say."""

import numpy as np
import pandas as pd

from tracegraph.ingest.events import Ints, is_call_named
from tracegraph.ingest.integrity import Integrity
from tracegraph.ingest.model import Model
from tracegraph.ingest.trace import TraceFile


def diagnose(trace: TraceFile, model: Model, integrity: Integrity) -> None:
    """Add the findings that need the call tree and the launches."""
    events = model.events

    def place(index: int) -> str:
        return f"first: traceEvents[{events.source_index[index]}] {events.name[index]!s:.60}"

    stack = model.stack
    if stack.overruns:
        message = (
            "events outlive the one they start in, as annotations do with the frame that opens them; "
            f"the youngest open one counts; {place(stack.first_overrun)}"
        )
        integrity.add("outside_parent", "info", stack.overruns, message)
    orphans = np.flatnonzero(events.is_gpu & (model.launches.call < 0))
    if len(orphans):
        integrity.add(
            "gpu_without_launch",
            "warning",
            len(orphans),
            f"GPU activities without a launching call; their cause is unknown; {place(int(orphans[0]))}",
        )
    launched = np.zeros(len(events), dtype=bool)
    launched[model.launches.call[model.launches.call >= 0]] = True
    idle = np.flatnonzero(is_call_named(events, "Launch") & ~launched)
    if len(idle):
        message = f"launches without GPU work in the file; {place(int(idle[0]))}"
        integrity.add("launch_without_gpu_work", "info", len(idle), message)
    if events.is_gpu.any() and not (events.category == "cuda_sync").any():
        message = "no cuda_sync rows: what a call waits for is inferred from its name and from times"
        integrity.add("no_cuda_sync", "info", 1, message)
    overlaps = _overlapping(model)
    if len(overlaps):
        message = f"GPU activities overlap the one before on their stream; {place(int(overlaps[0]))}"
        integrity.add("stream_overlap", "info", len(overlaps), message)
    clipped = int((events.on_thread & (events.end > model.window.end)).sum())
    integrity.add("after_window", "info", clipped, "events end after the last one that matters; cut there")
    clipped = int((events.on_thread & (events.start < model.window.start)).sum())
    integrity.add("before_window", "info", clipped, "events start before the first that matters; cut there")


def _overlapping(model: Model) -> Ints:
    """GPU activities that start before an earlier one of their stream has ended."""
    segments = model.segments
    on_stream = np.flatnonzero(~segments.on_thread)
    streams = pd.Series(segments.end[on_stream]).groupby(segments.lane[on_stream])
    ended = streams.cummax().groupby(segments.lane[on_stream]).shift(fill_value=model.window.start)
    overlapping: Ints = segments.event[on_stream][segments.start[on_stream] < ended.to_numpy()]
    return overlapping
