"""Queries about operators and what they launch, on one tiny graph: the table each must give."""

from collections.abc import Iterator

import pytest
from graphs import check_table, stored

from tracegraph.store.connection import Database

RUN = "tiny-operators"
OPERATORS = """
CREATE
  (:Run {name: $run, state: 'ready', ranks: 2, window_start_ns: 0, window_end_ns: 200}),
  (:Trace {run: $run, rank: 0}), (:Trace {run: $run, rank: 1}),
  (:Lane {run: $run, lane: 0, rank: 0, kind: 'thread', matters: true}),
  (:Lane {run: $run, lane: 1, rank: 0, kind: 'stream', device: 0, stream: 7, matters: true}),
  (:Lane {run: $run, lane: 2, rank: 1, kind: 'thread', matters: true}),
  (:Step {run: $run, number: 1, rank: 0, start_ns: 0, end_ns: 90, window_end_ns: 90}),

  (step:Event:Annotation {name: 'train', category: 'user_annotation', source_index: 0, start_ns: 0,
    end_ns: 100, gpu_ns: 45, kernels: 3, inner_kernels: 3}),
  (again:Event:Annotation {name: 'train', category: 'user_annotation', source_index: 1, start_ns: 100,
    end_ns: 160, gpu_ns: 55, kernels: 3, inner_kernels: 3}),
  (:Event:GpuAnnotation {name: 'train', category: 'gpu_user_annotation', source_index: 2, lane: 1,
    start_ns: 40, end_ns: 85}),
  (linear:Event:CpuOp {name: 'linear', category: 'cpu_op', source_index: 3, start_ns: 10, end_ns: 60,
    shapes: '[[2,3]]', operator_ns: 20, own_gpu_ns: 5, gpu_ns: 45, kernels: 3, inner_kernels: 2}),
  (addmm:Event:CpuOp {name: 'addmm', category: 'cpu_op', source_index: 4, start_ns: 20, end_ns: 50,
    operator_ns: 30, own_gpu_ns: 40, gpu_ns: 40, kernels: 2, inner_kernels: 2}),
  (outer:Event:CpuOp {name: 'linear', category: 'cpu_op', source_index: 5, start_ns: 100, end_ns: 150,
    shapes: '[[4,3]]', operator_ns: 30, own_gpu_ns: 55, gpu_ns: 55, kernels: 3}),
  (inner:Event:CpuOp {name: 'linear', category: 'cpu_op', source_index: 6, start_ns: 120, end_ns: 140,
    shapes: '[[4,3]]', operator_ns: 20, recursive: true}),
  (:Event:CpuOp {name: 'copy', category: 'cpu_op', source_index: 0, rank: 1, lane: 2, start_ns: 0, end_ns: 30,
    operator_ns: 30}),
  (frame:Event:PythonFunction {name: 'f', category: 'python_function', source_index: 7, start_ns: 24,
    end_ns: 36, kernels: 2}),
  (l1:Event:Runtime {name: 'launch', category: 'cuda_runtime', source_index: 8, start_ns: 25, end_ns: 30,
    correlation: 1}),
  (l2:Event:Runtime {name: 'launch', category: 'cuda_runtime', source_index: 9, start_ns: 30, end_ns: 35,
    correlation: 2}),
  (l3:Event:Runtime {name: 'launch', category: 'cuda_runtime', source_index: 10, start_ns: 52, end_ns: 55,
    correlation: 3}),
  (l4:Event:Runtime {name: 'graph', category: 'cuda_runtime', source_index: 11, start_ns: 101, end_ns: 119,
    correlation: 4, kernels: 3}),
  (k1:Event:Kernel {name: 'gemm', category: 'kernel', source_index: 12, lane: 1,
    kernel_type: 'computation', start_ns: 40, end_ns: 70}),
  (k2:Event:Kernel {name: 'add', category: 'kernel', source_index: 13, lane: 1,
    kernel_type: 'computation', start_ns: 70, end_ns: 80}),
  (k3:Event:Memset {name: 'set', category: 'gpu_memset', source_index: 14, lane: 1,
    kernel_type: 'memory', start_ns: 80, end_ns: 85}),
  (k4:Event:Kernel {name: 'gemm', category: 'kernel', source_index: 15, lane: 1,
    kernel_type: 'computation', start_ns: 110, end_ns: 150}),
  (k5:Event:Kernel {name: 'add', category: 'kernel', source_index: 16, lane: 1,
    kernel_type: 'computation', start_ns: 150, end_ns: 160}),
  (k6:Event:Memset {name: 'set', category: 'gpu_memset', source_index: 17, lane: 1,
    kernel_type: 'memory', start_ns: 160, end_ns: 165}),
  (linear)-[:CHILD_OF]->(step), (addmm)-[:CHILD_OF]->(linear), (frame)-[:CHILD_OF]->(addmm),
  (l1)-[:CHILD_OF]->(frame), (l2)-[:CHILD_OF]->(frame), (l3)-[:CHILD_OF]->(linear),
  (outer)-[:CHILD_OF]->(again), (inner)-[:CHILD_OF]->(outer), (l4)-[:CHILD_OF]->(outer),
  (l1)-[:LAUNCHED]->(k1), (l2)-[:LAUNCHED]->(k2), (l3)-[:LAUNCHED]->(k3),
  (l4)-[:LAUNCHED]->(k4), (l4)-[:LAUNCHED]->(k5), (l4)-[:LAUNCHED]->(k6),

  (:Segment {source_index: 4, start_ns: 0, end_ns: 40, chain: 0, frame: 4}),
  (:Segment {source_index: 12, lane: 1, start_ns: 40, end_ns: 70, chain: 1, frame: 6}),
  (:Segment {source_index: 0, start_ns: 70, end_ns: 90, chain: 2, frame: 2}),
  (:Segment {source_index: 3, start_ns: 90, end_ns: 200, chain: 2, frame: 3}),
  (c0:Chain {chain: 0, start_ns: 0, end_ns: 40}), (c1:Chain {chain: 1, lane: 1, start_ns: 40, end_ns: 70}),
  (c2:Chain {chain: 2, start_ns: 70, end_ns: 200}),
  (c0)-[:LEADS_TO {at_ns: 40}]->(c1)-[:LEADS_TO {at_ns: 70}]->(c2),
  (:Frame {frame: 2, name: 'train', category: 'user_annotation'}),
  (:Frame {frame: 3, parent: 2, name: 'linear', category: 'cpu_op', operator: 3}),
  (:Frame {frame: 4, parent: 3, name: 'addmm', category: 'cpu_op', operator: 4}),
  (:Frame {frame: 5, parent: 4, name: 'launch', category: 'cuda_runtime', operator: 4}),
  (:Frame {frame: 6, parent: 5, name: 'gemm', category: 'kernel', operator: 4})
"""
"""`linear` launches itself and by `addmm`, then calls itself and launches a graph; rank 1 has no GPU work."""
CASES = {
    "operators": """
        rank name shapes count self_cpu_ns cpu_ns mean_cpu_ns self_gpu_ns gpu_ns path_self_ns path_gpu_ns
        0 linear - 3 70 100 40.0 60 100 110 0
        0 addmm - 1 30 30 30.0 40 40 40 30
        1 copy - 1 30 30 30.0 - - 0 -""",
    "operators by_shape=true rank=0": """
        name shapes count self_cpu_ns cpu_ns mean_cpu_ns self_gpu_ns gpu_ns path_self_ns path_gpu_ns
        linear [[4,3]] 2 50 50 35.0 55 55 - -
        addmm - 1 30 30 30.0 40 40 - -
        linear [[2,3]] 1 20 50 50.0 5 45 - -""",
    "operators start_ns=15 end_ns=90 chain=2 rank=0": """
        name count self_cpu_ns path_self_ns path_gpu_ns mean_cpu_ns
        addmm 1 30 25 30 30.0""",
    "operators limit=1": """
        rank name count
        0 linear 3""",
    "kernel_patterns": """
        pattern count gpu_duration_ns cpu_duration_ns rank operator category kernels share
        linear|gemm|add|set 2 100 100 0 linear cpu_op 3 1.0""",
    "kernel_patterns min_length=2": """
        pattern count gpu_duration_ns cpu_duration_ns operator category kernels share
        linear|gemm|add|set 1 55 50 linear cpu_op 3 0.55
        f|gemm|add 1 40 12 f python_function 2 0.4""",
    "kernel_patterns operator=tra start_ns=10": """
        pattern count gpu_duration_ns cpu_duration_ns operator
        train|gemm|add|set 1 55 60 train""",
    "kernel_patterns operator=a limit=1": """
        pattern count gpu_duration_ns cpu_duration_ns
        train|gemm|add|set 2 100 160""",
    "kernel_patterns operator=none": """
        pattern count""",
    "kernel_patterns rank=1": """
        pattern count""",
    "user_annotations": """
        rank name category count sum_ns mean_ns std_ns min_ns max_ns gpu_ns
        0 train gpu_user_annotation 1 45 45.0 0.0 45 45 -
        0 train user_annotation 2 160 80.0 28.284271247461902 60 100 100""",
    "user_annotations rank=1": """
        rank name""",
    "launch_stats slow_ns=10 short_ns=10 delay_ns=30 step=1": """
        rank correlation name cpu_duration_ns gpu_duration_ns launch_delay_ns slow_call long_delay
        0 2 launch 5 10 35 False True
        0 3 launch 3 5 25 False False
        0 1 launch 5 30 10 False False""",
    "launch_stats slow_ns=10 short_ns=20 delay_ns=50": """
        correlation name launch_delay_ns kernel kernel_category device stream operator slow_call short_kernel
        4 graph 41 set gpu_memset 0 7 linear True True
        4 graph 31 add kernel 0 7 linear True True
        4 graph 0 gemm kernel 0 7 linear True False
        2 launch 35 add kernel 0 7 addmm False False
        3 launch 25 set gpu_memset 0 7 linear False False
        1 launch 10 gemm kernel 0 7 addmm False False""",
    "launch_stats limit=1": """
        start_ns kernel_start_ns call_source_index source_index short_kernel
        101 160 11 17 True""",
    "launch_summary slow_ns=10 short_ns=10 delay_ns=30": """
        rank name count short_kernels calls slow_calls long_delays cpu_p50_ns cpu_max_ns gpu_p50_ns
        0 graph 3 0 1 1 2 18.0 18 10.0
        0 launch 3 0 3 0 1 5.0 5 10.0""",
    "launch_distribution": """
        rank measure from_ns to_ns count
        0 call 0 1000 6
        0 delay 0 1000 6
        0 work 0 1000 6""",
    "operator_launches": """
        rank operator sequence count operator_delay_ns runtime_delay_ns kernels
        0 addmm gemm_->_add 1 5.0 15.0 2
        0 linear gemm_->_add 1 1.0 9.0 2""",
}
LONG = """
CREATE (:Run {name: $run, state: 'ready'}), (:Lane {run: $run, lane: 0, rank: 0, kind: 'stream'}),
  (call:Event:Runtime {name: 'launch', category: 'cuda_runtime', source_index: 0, start_ns: 0, end_ns: 1}),
  (call)-[:LAUNCHED]->(:Event:Kernel {name: 'k', category: 'kernel', source_index: 1,
    kernel_type: 'computation', start_ns: 1001, end_ns: 4097001})
"""


@pytest.fixture(scope="module", autouse=True)
def graph(database: Database) -> Iterator[None]:
    with stored(database, RUN, OPERATORS):
        yield


@pytest.mark.parametrize("case", CASES)
def test_table(case: str, database: Database) -> None:
    check_table(database, RUN, case, CASES[case])


def test_steps_of_the_distribution_hold_their_lower_bound(database: Database) -> None:
    with stored(database, "tiny-long", LONG):
        check_table(
            database,
            "tiny-long",
            "launch_distribution start_ns=0 end_ns=10",
            """
            measure from_ns to_ns count
            call 0 1000 1
            delay 1000 2000 1
            work 4096000 8192000 1""",
        )


def test_a_graph_launch_stands_for_itself_where_nothing_is_above_it(database: Database) -> None:
    alone = """
        CREATE (:Run {name: $run, state: 'ready'}),
          (call:Event:Driver {name: 'graph', category: 'cuda_driver', source_index: 0, start_ns: 0, end_ns: 5,
            kernels: 120})
        FOREACH (i IN range(1, 120) |
          CREATE (call)-[:LAUNCHED]->(:Event:Kernel {name: 'k' + i, category: 'kernel', source_index: i,
            kernel_type: 'computation', start_ns: i, end_ns: i + 1}))
    """
    with stored(database, "tiny-graph", alone):
        check_table(
            database,
            "tiny-graph",
            "kernel_patterns start_ns=0 end_ns=200",
            f"""
            pattern count gpu_duration_ns operator kernels
            graph|{"|".join(f"k{i}" for i in range(1, 121))} 1 120 graph 120""",
        )
