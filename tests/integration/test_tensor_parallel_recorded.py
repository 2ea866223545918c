"""A recorded job whose two ranks share the weights of each layer: communication and waits by layer."""

import json
from pathlib import Path

import pandas as pd
import pytest
from stored_traces import take_for_own

from tracegraph.store.connection import Database
from tracegraph.store.connection_settings import ConnectionSettings
from tracegraph.store.workspace import Workspace
from tracegraph.workbench import Workbench

RECORDED = Path(__file__).parents[1] / "data" / "tensor_parallel"
LAYERS, STEPS, LATE_RANK, LATE_LAYER = 4, 3, 1, 2
KEYS = ["rank", "number", "phase"]


@pytest.fixture(scope="module")
def rows(database: Database, workspace: Workspace) -> pd.DataFrame:
    take_for_own(database, workspace)
    bench = Workbench(workspace, ConnectionSettings())
    run = bench.ingest(str(RECORDED / "rank*.json.gz"), "tensor-parallel")
    found = run.layer_communication()
    return found[found["number"].notna()].set_index(KEYS).sort_index()


@pytest.fixture(scope="module")
def own() -> pd.DataFrame:
    """What the job measured itself."""
    parts = json.loads((RECORDED / "times.json").read_text())["parts"]
    return pd.DataFrame(parts).rename(columns={"layer": "number"}).set_index(KEYS).sort_index()


def test_each_layer_of_both_phases_is_told_with_its_one_all_reduce(
    rows: pd.DataFrame, own: pd.DataFrame
) -> None:
    assert rows.index.tolist() == own.index.tolist()
    assert rows["calls"].eq(STEPS).all()
    assert rows["times"].eq(STEPS).all()
    told = rows.reset_index().groupby("phase")["told_by"].unique().map(list).to_dict()
    assert told == {"backward": ["kernel pattern"], "forward": ["annotation"]}


def test_shares_and_times_are_those_that_the_job_measured(rows: pd.DataFrame, own: pd.DataFrame) -> None:
    talks = own["waited_ns"] + own["transfer_ns"]
    assert rows["share"].to_numpy(float) == pytest.approx(
        (talks / (talks + own["computing_ns"])).array, abs=0.01
    )
    assert rows["computing_ns"].to_numpy(float) == pytest.approx(own["computing_ns"].array, rel=0.01)
    assert rows["waited_ns"].to_numpy(float) == pytest.approx(own["waited_ns"].array, abs=STEPS * 200_000)
    transfer = rows["communication_ns"] - rows["waited_ns"]
    assert transfer.to_numpy(float) == pytest.approx(own["transfer_ns"].array, abs=STEPS * 500_000)


def test_the_late_rank_waits_least_and_nothing_hides_what_others_wait(rows: pd.DataFrame) -> None:
    waited = rows["waited_ns"].astype(float)
    late = [(LATE_RANK, LATE_LAYER, phase) for phase in ("forward", "backward")]
    others = [(1 - LATE_RANK, LATE_LAYER, phase) for phase in ("forward", "backward")]
    assert waited[late].to_numpy() == pytest.approx(0)
    assert waited.nlargest(2).index.tolist() == others[::-1]
    assert rows["exposed_ns"].to_numpy(float) == pytest.approx(
        rows["communication_ns"].to_numpy(float), rel=0.05
    )
