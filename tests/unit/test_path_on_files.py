"""Every public trace at hand: the path against the independent oracle, the invariants, and its tiling."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from phase_checks import check_phases, without_sink
from random_traces import replay

from tracegraph.base.errors import InputError
from tracegraph.ingest.causal.events.event_arrays import read_events
from tracegraph.ingest.causal.graph.invariants import check_model
from tracegraph.ingest.causal.graph.model import build_model
from tracegraph.ingest.causal.graph.path_rows import find_stretches
from tracegraph.ingest.causal.graph.segments import WAIT
from tracegraph.ingest.integrity.incomplete_recording import unheld_waits
from tracegraph.ingest.integrity_findings import Integrity
from tracegraph.ingest.readers import read_trace

SHARED = Path(__file__).parents[2].parent / "shared" / "traces"
NO_EVENTS = {"empty_events.json", "zero_bytes.json", "d2_param_resnet_2080ti_et.json.gz"}
TOO_LARGE = {"gpt_1M.json.gz"}
"""The oracle holds a Python object for each of two million edges: nothing for a test."""


def names() -> list[str]:
    found = (path for path in SHARED.glob("**/*.json*") if path.name not in TOO_LARGE)
    return sorted(str(path.relative_to(SHARED)) for path in found) or ["a2_megatron_tp2_v100_2rank"]


@pytest.mark.parametrize("name", names())
def test_the_oracle_finds_the_same_path(shared_trace: Callable[[str], Path], name: str) -> None:
    path = shared_trace(name)
    integrity = Integrity(path.name)
    if path.name in NO_EVENTS:
        with pytest.raises(InputError):
            read_trace(path, integrity)
        return
    model = build_model(*read_events(read_trace(path, integrity)), integrity)
    check_model(model)
    check_phases(model)
    assert not without_sink(model)
    assert not len(unheld_waits(model)), "a call of 1 ms or more waits for the GPU without an edge"
    rows = find_stretches(model)
    assert (int(rows.start[0]), int(rows.end[-1])) == (model.window.start, model.window.end)
    assert (rows.start[1:] == rows.end[:-1]).all()
    answer = replay(model)
    assert np.array_equal(answer.starts, model.segments.start)
    walked = np.array(answer.path)
    assert set(walked[model.on_path[walked]].tolist()) == set(np.flatnonzero(model.on_path).tolist())
    assert (model.segments.kind[walked[~model.on_path[walked]]] == WAIT).all()
