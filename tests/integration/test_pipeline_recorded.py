"""The bubble of recorded pipelines: four stages with known work, eight micro-batches, over gloo."""

from pathlib import Path

import pandas as pd
import pytest
from stored_traces import take_for_own

from tracegraph.store.connection import Database
from tracegraph.store.connection_settings import ConnectionSettings
from tracegraph.store.workspace import Workspace
from tracegraph.workbench import Workbench

DATA = Path(__file__).parents[1] / "data"
FORWARD_NS, BACKWARD_NS, MICRO_BATCHES, STAGES = 80_000_000, 160_000_000, 8, 4
"""What examples/pipeline/train.py pauses for a micro-batch of each stage."""


@pytest.mark.parametrize(
    ("schedule", "points"),
    # The machine did other work while GPipe was recorded: its passes lie further apart.
    [("1f1b", 0.02), pytest.param("gpipe", 0.025, marks=pytest.mark.exhaustive)],
)
def test_the_bubble_is_that_of_the_formula_and_of_the_jobs_own_times(
    database: Database, workspace: Workspace, schedule: str, points: float
) -> None:
    take_for_own(database, workspace)
    bench = Workbench(workspace, ConnectionSettings())
    run = bench.ingest(DATA / f"pipeline_{schedule}", f"pipeline-{schedule}")
    try:
        rows = run.pipeline(micro_batches=MICRO_BATCHES)
        counted = run.pipeline()
        timeline = run.pipeline_timeline()
    finally:
        bench.delete(run.name)
    assert rows[["step", "stage", "rank"]].to_numpy().tolist() == [
        [step, stage, stage] for step in (5, 6) for stage in range(STAGES)
    ]
    expected = (STAGES - 1) / (MICRO_BATCHES + STAGES - 1)
    assert rows["expected_1f1b"].to_numpy(float) == pytest.approx(expected)
    assert rows["bubble_share"].to_numpy(float) == pytest.approx(expected, abs=points)
    own = 1 - MICRO_BATCHES * (FORWARD_NS + BACKWARD_NS) / rows["span_ns"].to_numpy(float)
    assert rows["bubble_share"].to_numpy(float) == pytest.approx(own, abs=0.02)
    assert rows["forward_ns"].to_numpy(float) == pytest.approx(MICRO_BATCHES * FORWARD_NS, rel=0.05)
    assert rows["backward_ns"].to_numpy(float) == pytest.approx(MICRO_BATCHES * BACKWARD_NS, rel=0.05)
    assert rows["is_most"].all()
    _check_timeline(rows, timeline)
    if schedule == "1f1b":  # each backward pass stands between forward passes, so that they are told apart
        assert counted["micro_batches"].eq(MICRO_BATCHES).all()


def _check_timeline(rows: pd.DataFrame, timeline: pd.DataFrame) -> None:
    """One step is told, each stage covers it without overlaps, and short pauses are all that waits lack."""
    lengths = timeline["end_ns"] - timeline["start_ns"]
    told = rows[rows["step"].eq(timeline["step"].iloc[0])].set_index("stage")
    assert lengths.groupby(timeline["stage"]).sum().eq(told["span_ns"]).all()
    waits = lengths[timeline["doing"].eq("waiting")].groupby(timeline["stage"]).sum()
    assert waits.to_numpy(float) == pytest.approx(told["bubble_ns"].to_numpy(float), rel=0.05)
    assert set(timeline["doing"]) == {"forward", "backward", "waiting"}
