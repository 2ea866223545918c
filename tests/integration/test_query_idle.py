"""Why GPUs are idle, on a tiny graph: the tables that the queries must give."""

from collections.abc import Iterator

import pytest
from graphs import check_table, stored

from tracegraph.store.connection import Database

RUN = "tiny-idle"
GRAPH = """
CREATE
  (run:Run {name: $run, state: 'ready', ranks: 1, window_start_ns: 0, window_end_ns: 150}),
  (file:Trace {run: $run, rank: 0, file: 'tiny.json'})-[:OF_RUN]->(run),
  (:Lane {run: $run, lane: 0, rank: 0, kind: 'thread', name: 'main', matters: true}),
  (:Lane {run: $run, lane: 1, rank: 0, kind: 'stream', name: 'stream', device: 0, stream: 7, matters: true}),

  (op:Event:CpuOp {name: 'op', category: 'cpu_op', source_index: 0, start_ns: 20, end_ns: 100}),
  (a:Segment {name: 'op', category: 'cpu_op', start_ns: 20, end_ns: 60, chain: 0, frame: 1}),
  (load:Event:CpuOp:Segment {name: 'load', category: 'cpu_op', start_ns: 60, end_ns: 80, chain: 0, frame: 2}),
  (call:Event:Runtime:Segment {name: 'launch', category: 'cuda_runtime', start_ns: 80, end_ns: 90, chain: 0,
    frame: 3}),
  (first:Event:Kernel:Segment {name: 'gemm', lane: 1, start_ns: 10, end_ns: 30, chain: 1, frame: 5,
    kernel_type: 'computation'}),
  (next:Event:Kernel:Segment {name: 'relu', lane: 1, start_ns: 100, end_ns: 120, chain: 2, frame: 4,
    kernel_type: 'computation', idle_ns: 70, source_index: 4}),
  (soon:Event:Kernel {name: 'sum', lane: 1, start_ns: 123, end_ns: 150, kernel_type: 'computation',
    idle_ns: 3, source_index: 5}),
  (piece:Segment {name: 'sum', lane: 1, start_ns: 123, end_ns: 140, chain: 2, frame: 5}),
  (rest:Segment {name: 'sum', lane: 1, start_ns: 140, end_ns: 150, chain: 2, frame: 5}),
  (:Chain {run: $run, chain: 2, lane: 1, start_ns: 100, end_ns: 150}),

  (f0:Frame {frame: 0, depth: 0, name: 'main', category: 'thread'}),
  (f1:Frame {frame: 1, parent: 0, depth: 1, name: 'op', category: 'cpu_op'})-[:CALLED_FROM]->(f0),
  (f2:Frame {frame: 2, parent: 1, depth: 2, name: 'load', category: 'cpu_op'})-[:CALLED_FROM]->(f1),
  (f3:Frame {frame: 3, parent: 1, depth: 2, name: 'launch', category: 'cuda_runtime'})-[:CALLED_FROM]->(f1),
  (f4:Frame {frame: 4, parent: 3, depth: 3, name: 'relu', category: 'kernel'})-[:CALLED_FROM]->(f3),
  (f5:Frame {frame: 5, depth: 0, name: 'stream', category: 'stream', lane: 1}),

  (a)-[:SEQUENTIAL $order]->(load)-[:SEQUENTIAL $order]->(call)-[:INVOCATION $launch]->(next),
  (first)-[:SEQUENTIAL $other]->(next), (piece)-[:PART_OF]->(soon), (rest)-[:PART_OF]->(soon),
  (next)-[:SEQUENTIAL {binding: true, gap_ns: 3, gap_name: 'stream queue'}]->(piece),
  (piece)-[:SEQUENTIAL $order]->(rest)
"""
"""Two idle times: from 30 to 100 the CPU works and launches; from 120 to 123 the queue needs it."""
CASES = {
    "idle_causes": """
        rank cause category caller cause_rank lane_name idle_ns share count longest_ns next_name
        0 op cpu_op main 0 main 30 0.410958904109589 1 30 relu
        0 load cpu_op op 0 main 20 0.273972602739726 1 20 relu
        0 launch cuda_runtime op 0 main 10 0.136986301369863 1 10 relu
        0 launch_latency gap - 0 stream 10 0.136986301369863 1 10 relu
        0 stream_queue gap - 0 stream 3 0.0410958904109589 1 3 sum""",
    "idle_causes least_ns=10 limit=1": """
        rank cause idle_ns share
        0 op 30 0.42857142857142855""",
    "idle_causes start_ns=50 end_ns=122": """
        cause idle_ns
        load 20
        launch 10
        launch_latency 10
        op 10
        stream_queue 2""",
    "idle_frames": """
        frame parent depth name category duration_ns lag
        0 - 0 main thread 0 -
        1 0 1 op cpu_op 30 -
        2 1 2 load cpu_op 20 -
        3 1 2 launch cuda_runtime 10 -
        4 3 3 relu kernel 10 launch_latency
        5 - 0 stream stream 3 stream_queue""",
    "idle_inside": """
        name category duration_ns own_ns gap_ns
        op cpu_op 70 30 10
        launch cuda_runtime 20 10 10
        load cpu_op 20 20 0""",
}


@pytest.fixture(scope="module")
def graph(database: Database) -> Iterator[Database]:
    with stored(database, RUN, GRAPH):
        yield database


@pytest.mark.parametrize("case", CASES)
def test_table(graph: Database, case: str) -> None:
    check_table(graph, RUN, case, CASES[case])
