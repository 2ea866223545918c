"""`pipeline` of simulated jobs: the work of each stage and its bubble, to the nanosecond."""

from pathlib import Path

import numpy as np
import pytest
from stored_traces import take_for_own

from benchmarks.simulator.kineto import write_job
from benchmarks.simulator.pipeline import COMPUTES, RECEIVES, SENDS, Job, Rank, simulate, span_ns
from benchmarks.simulator.schedules import FORWARD, SCHEDULES
from tracegraph.queries.shapes.peak.time_sums import Union
from tracegraph.store.connection import Database
from tracegraph.store.connection_settings import ConnectionSettings
from tracegraph.store.workspace import Workspace
from tracegraph.workbench import Workbench

FORWARD_NS = [1_000_000, 1_000_000, 1_500_000, 800_000]
BATCHES, LAST = 8, 1


def stretches(rank: Rank, *whats: str, since: int) -> Union:
    """When a rank does something, since a time; messages from when both sides have come, ns."""
    found = [one for one in rank.kernels if one.what in whats and one.start >= since]
    begin = [one.start if one.what == COMPUTES else one.end - 1_000 for one in found]
    return Union(np.array(begin), np.array([one.end for one in found]))


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_work_and_bubble_are_those_of_the_simulation(
    schedule: str, database: Database, workspace: Workspace, tmp_path: Path
) -> None:
    take_for_own(database, workspace)
    chunks = 2 if schedule == "interleaved" else 1
    job = Job(schedule, BATCHES, FORWARD_NS, [2 * one for one in FORWARD_NS], chunks)
    ranks = simulate(job)
    write_job(job, ranks, tmp_path / "job")
    bench = Workbench(workspace, ConnectionSettings())
    run = bench.ingest(tmp_path / "job", f"simulated-{schedule}")
    rows = run.pipeline(chunks=chunks)
    timeline = run.pipeline_timeline()
    rows = rows[rows["step"].eq(LAST)].set_index("rank")
    assert rows["stage"].tolist() == [0, 1, 2, 3]
    assert rows["micro_batches"].eq(BATCHES).all()
    assert rows["span_ns"].eq(span_ns(ranks, LAST)).all()
    for number, rank in enumerate(ranks):
        since = rank.steps[LAST][0]
        row = rows.loc[number]
        work = stretches(rank, COMPUTES, since=since)
        both = stretches(rank, COMPUTES, SENDS, RECEIVES, since=since)
        assert row["forward_ns"] == sum(
            one.end - one.start
            for one in rank.kernels
            if one.what == COMPUTES and one.one.what == FORWARD and one.start >= since
        )
        assert row["forward_ns"] + row["backward_ns"] == (work.end - work.begin).sum()
        assert row["bubble_ns"] == row["span_ns"] - (both.end - both.begin).sum()
        assert row["transfer_ns"] == (both.end - both.begin).sum() - (work.end - work.begin).sum()
    assert not rows["is_most"].any()
    lengths = (timeline["end_ns"] - timeline["start_ns"]).groupby(timeline["stage"]).sum()
    assert lengths.nunique() == 1
    assert set(timeline["doing"]) >= {"forward", "backward", "waiting"}
