"""The queries about memory on one tiny graph, and how a long timeline is thinned."""

from collections.abc import Iterator

import numpy as np
import pandas as pd
import pytest
from graphs import check_table, stored

from tracegraph.queries.catalog import ask
from tracegraph.store.connection import Database

RUN = "tiny-memory"
MEMORY = """
CREATE
  (run:Run {name: $run, state: 'ready', ranks: 2, window_start_ns: 10, window_end_ns: 100}),
  (:Trace {run: $run, rank: 0, device_memory: '[null,1000]'})-[:OF_RUN]->(run),
  (:Trace {run: $run, rank: 1})-[:OF_RUN]->(run),
  (:Lane {run: $run, lane: 0, rank: 0, matters: true}), (:Chain {chain: 0, start_ns: 10, end_ns: 100}),
  (:Segment {chain: 0, start_ns: 10, end_ns: 100}),
  (:Step {run: $run, number: 3, rank: 0, start_ns: 35, end_ns: 45, window_end_ns: 45}),
  (:Phase {run: $run, rank: 0, name: 'forward', start_ns: 25, end_ns: 45}),
  (step:Event:CpuOp {source_index: 0, name: 'ProfilerStep#3', category: 'cpu_op', start_ns: 10, end_ns: 100}),
  (conv:Event:CpuOp {source_index: 1, name: 'conv', category: 'cpu_op', start_ns: 20, end_ns: 40}),
  (empty:Event:CpuOp {source_index: 2, name: 'empty', category: 'cpu_op', start_ns: 25, end_ns: 35}),
  (inner:Event:Runtime {source_index: 3, name: 'call', category: 'cuda_runtime', start_ns: 20, end_ns: 40}),
  (conv)-[:CHILD_OF]->(step), (inner)-[:CHILD_OF]->(conv), (empty)-[:CHILD_OF]->(inner),
  (:Allocation {source_index: 9, at_ns: 5, rank: 0, device_type: 'cuda', device: 1, bytes: 50,
    allocated_bytes: 150, reserved_bytes: 300, net_bytes: 50}),
  (:Allocation {source_index: 10, at_ns: 30, rank: 0, device_type: 'cuda', device: 1, bytes: 60,
    allocated_bytes: 210, reserved_bytes: 300, net_bytes: 110, step: 3})-[:DURING]->(empty),
  (:Allocation {source_index: 11, at_ns: 30, rank: 0, device_type: 'cuda', device: 1, bytes: 40,
    allocated_bytes: 250, reserved_bytes: 500, net_bytes: 150, step: 3})-[:DURING]->(empty),
  (:Allocation {source_index: 12, at_ns: 38, rank: 0, device_type: 'cuda', device: 1, bytes: -100,
    allocated_bytes: 150, reserved_bytes: 500, net_bytes: 50, step: 3})-[:DURING]->(conv),
  (:Allocation {source_index: 13, at_ns: 60, rank: 0, device_type: 'cpu', bytes: 8, allocated_bytes: 8,
    reserved_bytes: 0, net_bytes: 8})-[:DURING]->(step),
  (:Allocation {source_index: 9, at_ns: 50, rank: 1, device_type: 'cuda', device: 0, bytes: 7, net_bytes: 7}),
  (:Allocation {source_index: 10, at_ns: 101, rank: 1, device_type: 'cuda', device: 0, bytes: 9,
    net_bytes: 16})
"""
_DEFAULTS = "MATCH (n:Allocation) WHERE n.run IS NULL SET n.run = $run"
CASES = {
    "memory_timeline": """
        rank device_type device at_ns allocated_bytes reserved_bytes net_bytes bytes source_index name
        0 cpu - 60 8 0 8 8 13 ProfilerStep#3
        0 cuda 1 10 150 300 50 50 9 -
        0 cuda 1 30 210 300 110 60 10 empty
        0 cuda 1 30 250 500 150 40 11 empty
        0 cuda 1 38 150 500 50 -100 12 conv
        1 cuda 0 50 - - 7 7 9 -""",
    "memory_timeline start_ns=31 end_ns=59 rank=0": """
        rank device_type device at_ns allocated_bytes source_index
        0 cuda 1 31 250 11
        0 cuda 1 38 150 12""",
    "memory_peak": """
        rank device_type device allocated_bytes net_bytes at_ns bytes source_index name inside step phase
        0 cpu - 8 8 60 8 0 ProfilerStep#3 - - -
        0 cuda 1 250 150 30 40 2 empty conv 3 forward
        1 cuda 0 - 7 50 7 - - - - -""",
    "memory_peak rank=0": """
        device_type reserved_bytes reserved_at_ns capacity_bytes allocated_share reserved_share
        cpu 0 60 - - -
        cuda 500 30 1000 0.25 0.5""",
    "memory_peak start_ns=45 end_ns=55": """
        rank allocated_bytes net_bytes at_ns name reserved_bytes reserved_at_ns
        0 150 50 45 conv 500 45
        1 - 7 50 - - -""",
    "memory_peak start_ns=0 end_ns=4": """
        rank allocated_bytes""",
    "memory_operators": """
        rank device_type device name category count allocated_bytes freed_bytes net_bytes largest_bytes
        0 cuda 1 empty cpu_op 2 100 0 100 60
        0 cpu - ProfilerStep# cpu_op 1 8 0 8 8
        1 cuda 0 - - 1 7 0 7 7
        0 cuda 1 conv cpu_op 0 0 100 -100 0""",
    "memory_operators limit=1 rank=1": """
        name allocated_bytes
        - 7""",
}


@pytest.fixture(scope="module")
def tiny_memory(database: Database) -> Iterator[Database]:
    with stored(database, RUN, MEMORY):
        database.write(_DEFAULTS, {"run": RUN})
        yield database


@pytest.mark.parametrize("case", CASES)
def test_query_gives_the_expected_table(case: str, tiny_memory: Database) -> None:
    given = case if "end_ns" in case else f"{case} end_ns=100"
    given = given if "start_ns" in case else f"{given} start_ns=10"
    check_table(tiny_memory, RUN, given, CASES[case])


def test_a_run_without_memory_rows_has_none(tiny_memory: Database) -> None:
    window = {"run": "no such run", "start_ns": 0, "end_ns": 1}
    for name in ("memory_timeline", "memory_peak", "memory_operators"):
        assert ask(tiny_memory, name, **window).empty


def test_a_thinned_timeline_keeps_the_extremes_of_every_stretch(database: Database) -> None:
    """The oracle cuts the rows into stretches itself and looks for what must have stayed of each."""
    random = np.random.default_rng(7)
    size = random.integers(-1000, 1000, 6000)
    rows = pd.DataFrame({"allocated": size.cumsum() + 2_000_000, "reserved": random.integers(0, 9, 6000)})
    listed = [
        {"source_index": at, "at_ns": at, "allocated_bytes": int(level), "reserved_bytes": int(held)}
        for at, level, held in rows.itertuples()
    ]
    graph = (
        "UNWIND $rows AS row CREATE (a:Allocation {run: $run, rank: 0, device_type: 'cuda', device: 0, "
        "bytes: 1, net_bytes: 1}) SET a += row"
    )
    run, limit = "many-memory-rows", 1000
    try:
        database.write(graph, {"run": run, "rows": listed})
        window = {"run": run, "start_ns": 0, "end_ns": 5999}
        whole = ask(database, "memory_timeline", **window)
        thin = ask(database, "memory_timeline", **window, limit=limit)
        peak = ask(database, "memory_peak", **window)
    finally:
        database.write("MATCH (a:Allocation {run: $run}) DELETE a", {"run": run})
    assert whole["allocated_bytes"].tolist() == rows["allocated"].tolist()
    assert len(thin) <= limit
    assert thin["at_ns"].is_monotonic_increasing
    kept = set(thin["at_ns"])
    stretches = rows.groupby(rows.index * (limit // 3) // len(rows))
    wanted = [
        stretches["allocated"].idxmax(),
        stretches["allocated"].idxmin(),
        stretches["reserved"].idxmax(),
    ]
    assert kept == set(pd.concat(wanted))
    assert peak["allocated_bytes"].item() == rows["allocated"].max()
    assert peak["at_ns"].item() == rows["allocated"].idxmax()
