"""predicted.json.gz: the timeline that a what-if predicts, as the profiler would show it, for Perfetto."""

from collections.abc import Iterator
from typing import BinaryIO

import msgspec
import numpy as np
from msgspec import Raw

from tracegraph.ingest.microseconds import literal_of_ns
from tracegraph.ingest.readers.unpacking import pack_into
from tracegraph.ingest.what_if.graph.graph import ReplayGraph
from tracegraph.ingest.what_if.graph.timeline import event_times, segment_times
from tracegraph.ingest.what_if.predictions.results import Prediction

_LEVEL = 1
"""The level of gzip: the fastest one."""
_HEAD, _TAIL = b'{"displayTimeUnit":"ns","traceEvents":[\n', b"\n]}\n"


def write_predicted(graph: ReplayGraph, prediction: Prediction, target: BinaryIO) -> None:
    """Write the predicted timeline as a Chrome trace; what takes no time any more is left out."""
    with pack_into(target, _LEVEL) as packed:
        packed.write(_HEAD)
        packed.write(b",\n".join(_entries(graph, prediction)))
        packed.write(_TAIL)


def _entries(graph: ReplayGraph, prediction: Prediction) -> Iterator[bytes]:
    lanes = graph.lanes.frame[["pid", "tid", "name"]].to_dict("records")
    for lane in lanes:
        named = {"ph": "M", "name": "thread_name", "args": {"name": lane["name"]}}
        yield msgspec.json.encode({**named, "pid": lane["pid"], "tid": lane["tid"]})
    calls = graph.calls
    start, end, known = event_times(
        graph, *segment_times(graph, prediction.after.start, prediction.after_work)
    )
    there = known & ((end > start) | (calls.end == calls.start))
    for event in np.flatnonzero(there).tolist():
        lane = lanes[calls.lane[event]]
        yield msgspec.json.encode(
            {
                "ph": "X",
                "cat": str(calls.category[event]),
                "name": str(calls.name[event]),
                "pid": lane["pid"],
                "tid": lane["tid"],
                "ts": _literal(start[event]),
                "dur": _literal(end[event] - start[event]),
                "args": {
                    "source_index": int(calls.source_index[event]),
                    "earlier_us": _literal(calls.start[event] - start[event]),
                },
            }
        )


def _literal(ns: np.int64) -> Raw:
    return Raw(literal_of_ns(int(ns)).encode())
