"""A recorded job whose backward pass takes 200 ms longer on one rank: who is late, where, what that costs."""

import json
from pathlib import Path
from statistics import median

import pytest
from stored_traces import take_for_own

from tracegraph.store.connection import Database
from tracegraph.store.connection_settings import ConnectionSettings
from tracegraph.store.workspace import Workspace
from tracegraph.workbench import Workbench
from tracegraph.workbench.findings.stragglers import compare_ranks
from tracegraph.workbench.run import Run

LATE = Path(__file__).parents[1] / "data" / "late_backward"
STEPS, LATE_RANK = 4, 1


@pytest.fixture(scope="module")
def run(database: Database, workspace: Workspace) -> Run:
    take_for_own(database, workspace)
    bench = Workbench(workspace, ConnectionSettings())
    return bench.ingest(str(LATE / "rank*.json.gz"), "late-backward")


def measured_ms() -> float:
    """How much longer a step was than of the same job without the late rank: median of paired differences."""
    times = json.loads((LATE / "times.json").read_text())["step_ms"]
    return median(late - even for late, even in zip(times["late"], times["even"], strict=True))


def test_the_late_rank_and_its_phase_are_named(run: Run) -> None:
    ranks = compare_ranks(run.report().findings)
    assert ranks is not None
    first, *others = ranks.stragglers
    assert (first.rank, first.phase, others) == (LATE_RANK, "backward", [])
    assert first.steps_led == ranks.steps == STEPS
    (cause,) = first.causes
    assert [name for name, *_ in cause.names] == ["ComputedBackward"]
    assert cause.late_ns / STEPS / 1e6 == pytest.approx(measured_ms(), rel=0.1)


def test_an_even_job_gains_what_was_measured(run: Run) -> None:
    found = run.what_if(assume="no-stragglers").prediction
    assert found.corrected.gain_ns / STEPS / 1e6 == pytest.approx(measured_ms(), rel=0.1)
    assert found.low.gain_ns / STEPS / 1e6 < measured_ms() < found.high.gain_ns / STEPS / 1e6
    assert run.plan().steps[0].command == "tracegraph what-if --no-stragglers"
