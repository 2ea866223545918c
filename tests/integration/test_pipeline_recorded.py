"""The bubble of recorded pipelines: two and four stages with known work, four and eight micro-batches."""

import json
from itertools import product
from pathlib import Path

import pandas as pd
import pytest
from stored_traces import take_for_own

from tracegraph.store.connection import Database
from tracegraph.store.connection_settings import ConnectionSettings
from tracegraph.store.workspace import Workspace
from tracegraph.workbench import Workbench

DATA = Path(__file__).parents[1] / "data" / "pipelines"
FORWARD_NS, BACKWARD_NS = 240_000_000, 480_000_000
"""What tests/data/record_pipeline.py pauses for a micro-batch of each stage."""
QUICK = {("1f1b", 4, 8), ("gpipe", 2, 4)}


@pytest.mark.parametrize(
    ("schedule", "stages", "micro_batches"),
    [
        pytest.param(*one, marks=() if one in QUICK else pytest.mark.exhaustive)
        for one in product(("1f1b", "gpipe"), (2, 4), (4, 8))
    ],
)
def test_the_bubble_is_that_of_the_formula_and_of_the_jobs_own_times(
    database: Database, workspace: Workspace, schedule: str, stages: int, micro_batches: int
) -> None:
    take_for_own(database, workspace)
    bench = Workbench(workspace, ConnectionSettings())
    folder = DATA / f"{schedule}_p{stages}_m{micro_batches}"
    run = bench.ingest(str(folder / "rank*.json.gz"), f"pipeline-{schedule}-{stages}-{micro_batches}")
    rows = run.pipeline(micro_batches=micro_batches)
    counted = run.pipeline()
    timeline = run.pipeline_timeline()
    own = json.loads((folder / "times.json").read_text())["steps"]
    assert rows.groupby("step")["rank"].agg(list).tolist() == [list(range(stages))] * len(own)
    assert rows["stage"].eq(rows["rank"]).all()
    expected = (stages - 1) / (micro_batches + stages - 1)
    assert rows["expected_1f1b"].to_numpy(float) == pytest.approx(expected)
    assert rows["bubble_share"].to_numpy(float) == pytest.approx(expected, abs=0.02)
    itself = [1 - busy / step["span_ns"] for step in own for busy in step["busy_ns"]]
    assert rows["bubble_share"].to_numpy(float) == pytest.approx(itself, abs=0.002)
    assert rows["forward_ns"].to_numpy(float) == pytest.approx(micro_batches * FORWARD_NS, rel=0.05)
    assert rows["backward_ns"].to_numpy(float) == pytest.approx(micro_batches * BACKWARD_NS, rel=0.05)
    assert rows["is_most"].all()
    _check_timeline(rows, timeline)
    if schedule == "1f1b":  # each backward pass stands between forward passes, so that they are told apart
        assert counted["micro_batches"].eq(micro_batches).all()


def _check_timeline(rows: pd.DataFrame, timeline: pd.DataFrame) -> None:
    """One step is told, each stage covers it without overlaps, and short pauses are all that waits lack."""
    lengths = timeline["end_ns"] - timeline["start_ns"]
    told = rows[rows["step"].eq(timeline["step"].iloc[0])].set_index("stage")
    assert lengths.groupby(timeline["stage"]).sum().eq(told["span_ns"]).all()
    waits = lengths[timeline["doing"].eq("waiting")].groupby(timeline["stage"]).sum()
    assert waits.to_numpy(float) == pytest.approx(told["bubble_ns"].to_numpy(float), rel=0.05)
    assert set(timeline["doing"]) == {"forward", "backward", "waiting"}
