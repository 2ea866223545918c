"""The path of the simulated example against its exactly known truth."""

import gzip
import json
from collections import Counter
from pathlib import Path

import numpy as np

from tracegraph.ingest.causal.events.event_arrays import read_events
from tracegraph.ingest.causal.graph.model import build_model
from tracegraph.ingest.causal.graph.segments import WORK
from tracegraph.ingest.integrity_findings import Integrity
from tracegraph.ingest.readers import read_trace

ROOT = Path(__file__).parents[2]


def test_the_path_names_the_events_that_are_critical_for_as_long_as_they_are() -> None:
    with gzip.open(ROOT / "tests" / "data" / "simulated_gpu_truth.json.gz", "rt") as stream:
        truth = json.load(stream)
    true: Counter[int] = Counter()
    for _, event, start_us, end_us, _, _ in truth["segments"]:
        true[event] += round(end_us * 1000) - round(start_us * 1000)
    del true[-1]  # the simulator's name for time with no event open
    trace = read_trace(ROOT / "examples" / "traces" / "simulated_gpu.json.gz", Integrity("simulated"))
    model = build_model(*read_events(trace), Integrity("simulated"))
    segments = model.segments
    ours: Counter[int] = Counter()
    for at in np.flatnonzero(model.on_path & (segments.kind == WORK)).tolist():
        source_index = int(model.events.source_index[segments.event[at]])
        ours[source_index] += int(segments.end[at] - segments.start[at])
    critical = {event for event, spent in true.items() if spent}
    assert critical <= ours.keys()
    overlap = sum(min(spent, true[event]) for event, spent in ours.items()) / sum(true.values())
    assert overlap > 0.999
    assert sum(ours[event] for event in ours.keys() - critical) < 0.001 * sum(ours.values())
