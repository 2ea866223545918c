"""Waits without a row in public traces: an allocator flushes once on each of four ranks."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tracegraph.ingest.causal.events.event_arrays import read_events
from tracegraph.ingest.causal.graph.model import build_model
from tracegraph.ingest.integrity_findings import Integrity
from tracegraph.ingest.readers import read_trace
from tracegraph.vocabulary.mechanisms import ALLOCATOR_FLUSH, CODE


@pytest.mark.parametrize(("rank", "length_ms"), list(enumerate([13.1, 12.5, 3.4, 14.8])))
def test_a_flush_waits_for_the_kernel_that_ended(
    shared_trace: Callable[[str], Path], rank: int, length_ms: float
) -> None:
    path = shared_trace(f"a3_torchrec_sst_v100_4rank/rank{rank}.pt.trace.json.gz")
    integrity = Integrity(path.name)
    model = build_model(*read_events(read_trace(path, integrity)), integrity)
    found, segments = model.dependencies, model.segments
    (edge,) = np.flatnonzero(found.mechanism == CODE[ALLOCATOR_FLUSH]).tolist()
    assert found.binding[edge]
    assert str(model.events.name[segments.event[found.cause[edge]]]).startswith("ncclDevKernel_SendRecv")
    waits = model.found.waits
    (wait,) = np.flatnonzero(waits.mechanism == CODE[ALLOCATOR_FLUSH]).tolist()
    assert (waits.end - waits.start)[wait] / 1e6 == pytest.approx(length_ms, abs=0.1)
