"""The queries about GPU work on one tiny graph of two ranks: the table each must give."""

from collections.abc import Iterator

import pytest
from graphs import check_table, stored

from tracegraph.store.connection import Database

RUN = "tiny-gpu"
WORK = """
CREATE
  (run:Run {name: $run, state: 'ready', ranks: 2, window_start_ns: 0, window_end_ns: 120}),
  (:Trace {run: $run, rank: 0})-[:OF_RUN]->(run), (:Trace {run: $run, rank: 1})-[:OF_RUN]->(run),
  (:Step {run: $run, number: 1, rank: 0, start_ns: 0, end_ns: 60, window_end_ns: 90}),
  (:Step {run: $run, number: 1, rank: 1, start_ns: 0, end_ns: 45, window_end_ns: 45}),
  (:Lane {run: $run, lane: 9, rank: 0, name: 'main', matters: true}),
  (:Lane {run: $run, lane: 0, rank: 0, kind: 'stream', device: 0, stream: 7}),
  (:Lane {run: $run, lane: 1, rank: 0, kind: 'stream', device: 0, stream: 8}),
  (:Lane {run: $run, lane: 2, rank: 1, kind: 'stream', device: 1, stream: 7}),
  (:Chain {chain: 0, lane: 9, start_ns: 0, end_ns: 120}),
  (:Segment {lane: 9, start_ns: 0, end_ns: 90, chain: 0}),
  (:Segment {lane: 9, start_ns: 90, end_ns: 120, chain: 0}),

  (:Event {lane: 9, start_ns: 0, end_ns: 5})-[:LAUNCHED]->
  (:Event {kernel_type: 'computation', name: 'gemm', lane: 0, start_ns: 10, end_ns: 50, busy_ns: 40,
    type_busy_ns: 40, busy_without_communication_ns: 40, busy_without_memory_ns: 40,
    queue_at_launch: 1, queue_at_start: 0}),
  (:Event {lane: 9, start_ns: 5, end_ns: 8})-[:LAUNCHED]->
  (:Event {kernel_type: 'communication', name: 'nccl', lane: 1, start_ns: 30, end_ns: 70, busy_ns: 20,
    type_busy_ns: 40, busy_without_computation_ns: 40, busy_without_memory_ns: 20, exposed_ns: 20,
    queue_at_launch: 1, queue_at_start: 0, collective: 'allreduce', group: 'dp', bytes: 256, idle_ns: 0}),
  (:Event {lane: 9, start_ns: 60, end_ns: 61})-[:LAUNCHED]->
  (:Event {kernel_type: 'memory', name: 'Memcpy HtoD (A -> B)', copy_kind: 'Memcpy HtoD', lane: 0,
    start_ns: 80, end_ns: 100, busy_ns: 20, type_busy_ns: 20, busy_without_computation_ns: 20,
    busy_without_communication_ns: 20, idle_ns: 10, stream_idle_ns: 30, queue_at_launch: 1, queue_at_start: 1,
    bytes: 40, bandwidth_at_start: 2000000000, bandwidth_at_end: 0}),
  (:Event {lane: 9, start_ns: 62, end_ns: 63})-[:LAUNCHED]->
  (:Event {kernel_type: 'computation', name: 'relu', lane: 0, start_ns: 100, end_ns: 110, busy_ns: 10,
    type_busy_ns: 10, busy_without_communication_ns: 10, busy_without_memory_ns: 10, idle_ns: 0,
    stream_idle_ns: 0, queue_at_launch: 2, queue_at_start: 0}),

  (:Event {kernel_type: 'computation', name: 'gemm', rank: 1, lane: 2, start_ns: 0, end_ns: 30, busy_ns: 30,
    type_busy_ns: 30, busy_without_communication_ns: 30, busy_without_memory_ns: 30}),
  (:Event {rank: 1, lane: 9, start_ns: 20, end_ns: 22})-[:LAUNCHED]->
  (:Event {kernel_type: 'memory', name: 'Memset (Device)', copy_kind: 'Memset', rank: 1, lane: 2,
    start_ns: 40, end_ns: 50, busy_ns: 10, type_busy_ns: 10, busy_without_computation_ns: 10,
    busy_without_communication_ns: 10, idle_ns: 10, stream_idle_ns: 10, queue_at_launch: 1,
    queue_at_start: 0})
"""
"""Rank 0: gemm, copy and relu on a stream, an all-reduce on another; rank 1: gemm, a memset of no size."""

CASES = {
    "temporal_breakdown": """
        rank span_ns busy_ns idle_ns compute_ns non_compute_ns communication_ns memory_ns idle_share devices
        0 100 90 10 50 40 40 20 0.1 1
        1 50 40 10 30 10 0 10 0.2 1""",
    "temporal_breakdown step=1 rank=0": """
        rank span_ns busy_ns idle_ns compute_ns communication_ns memory_ns idle_share window_share
        0 80 70 10 40 40 10 0.125 0.8888888888888888""",
    "temporal_breakdown start_ns=45 end_ns=90": """
        rank span_ns busy_ns idle_ns compute_ns communication_ns memory_ns
        0 45 35 10 5 25 10
        1 5 5 0 0 0 5""",
    "temporal_breakdown start_ns=72 end_ns=78": """
        rank span_ns""",
    "kernel_type_breakdown": """
        rank kernel_type duration_ns share
        0 computation 30 0.3333333333333333
        0 communication 20 0.2222222222222222
        0 computation_overlapping_communication 20 0.2222222222222222
        0 memory 20 0.2222222222222222
        1 computation 30 0.75
        1 memory 10 0.25""",
    "kernel_type_breakdown rank=0 start_ns=45 end_ns=90": """
        kernel_type duration_ns
        communication 20
        memory 10
        computation_overlapping_communication 5""",
    "kernel_breakdown top=1": """
        rank kernel_type name count sum_ns mean_ns std_ns min_ns max_ns median_ns share names
        0 communication nccl 1 40 40.0 0.0 40 40 40.0 0.36363636363636365 1
        0 computation gemm 1 40 40.0 0.0 40 40 40.0 0.36363636363636365 1
        0 computation others 1 10 10.0 - 10 10 - 0.09090909090909091 1
        0 memory Memcpy_HtoD_(A_->_B) 1 20 20.0 0.0 20 20 20.0 0.18181818181818182 1
        1 computation gemm 1 30 30.0 0.0 30 30 30.0 0.75 1
        1 memory Memset_(Device) 1 10 10.0 0.0 10 10 10.0 0.25 1""",
    "kernel_breakdown start_ns=30 end_ns=45": """
        rank name count
        0 nccl 1
        1 Memset_(Device) 1""",
    "comm_comp_overlap": """
        rank communication_ns overlap_ns overlap_share exposed_ns
        0 40 20 0.5 20""",
    "comm_comp_overlap start_ns=40 end_ns=60": """
        rank communication_ns overlap_ns overlap_share exposed_ns
        0 20 10 0.5 10""",
    "comm_comp_overlap rank=1": """
        rank""",
    "exposed_communication": """
        rank name collective group count duration_ns exposed_ns exposed_share bytes
        0 nccl allreduce dp 1 40 20 0.5 256""",
    "idle_time_breakdown": """
        rank stream idle_category idle_ns idle_share device count mean_ns min_ns max_ns
        0 7 host_wait 30 1.0 0 1 30.0 30 30
        0 7 kernel_wait 0 0.0 0 1 0.0 0 0
        1 7 kernel_wait 10 1.0 1 1 10.0 10 10""",
    "idle_time_breakdown rank=1 kernel_wait_ns=5": """
        rank stream idle_category idle_ns
        1 7 other 10""",
    "idle_time_breakdown start_ns=60 end_ns=75": """
        rank stream idle_category idle_ns
        0 7 host_wait 15""",
    "queue_length full=2": """
        rank stream count mean max min p25 median p75 full_count full_ns full_share device
        0 7 6 0.8333333333333334 2 0 0.25 1.0 1.0 1 18 0.15 0
        0 8 2 0.5 1 0 0.25 0.5 0.75 0 0 0.0 0
        1 7 2 0.5 1 0 0.25 0.5 0.75 0 0 0.0 1""",
    "queue_length step=1 rank=0": """
        rank stream count max
        0 7 5 2
        0 8 2 1""",
    "memory_bandwidth": """
        rank copy_kind samples mean std min max count duration_ns bytes unsized
        0 Memcpy_HtoD 1 2000000000.0 0.0 2000000000 2000000000 1 20 40 0
        1 Memset 0 - - - - 1 10 - 1""",
}


@pytest.fixture(scope="module", autouse=True)
def graph(database: Database) -> Iterator[None]:
    with stored(database, RUN, WORK):
        yield


@pytest.mark.parametrize("case", CASES)
def test_table(case: str, database: Database) -> None:
    check_table(database, RUN, case, CASES[case])
