"""Hardware counters and the roofline: on tiny graphs, and on a trace with counters beside HTA's numbers."""

from collections.abc import Iterator

import hta
import pytest
from graphs import check_table, stored

from tracegraph.store.connection import Database

RUN = "tiny-roofline"
GRAPH = """
CREATE
  (run:Run {name: $run, state: 'ready', ranks: 1, window_start_ns: 0, window_end_ns: 1000}),
  (:Trace {run: $run, rank: 0, devices: '["NVIDIA A100-SXM4-80GB"]'})-[:OF_RUN]->(run),
  (:Lane {run: $run, lane: 0, rank: 0, kind: 'thread', name: 'main', matters: true}),
  (:Lane {run: $run, lane: 1, rank: 0, kind: 'stream', name: 'stream', device: 0, stream: 7, matters: true}),
  (:Segment {name: 'all', category: 'cpu_op', source_index: 0, start_ns: 0, end_ns: 1000, chain: 0}),
  (:Chain {chain: 0, start_ns: 0, end_ns: 1000}),

  (linear:Event:CpuOp {name: 'linear', source_index: 1, start_ns: 0, end_ns: 90}),
  (mm:Event:CpuOp {name: 'mm', source_index: 2, start_ns: 0, end_ns: 80, shapes: '[[9]]', dtype: 'float16',
    work: 'matrix product', flops: 62400000, moved_bytes: 100000}),
  (add:Event:CpuOp {name: 'add', source_index: 3, start_ns: 100, end_ns: 180, dtype: 'float32',
    work: 'elementwise', flops: 1000, moved_bytes: 203900}),
  (other:Event:CpuOp {name: 'other', source_index: 4, start_ns: 200, end_ns: 280, dtype: 'BFloat16'}),
  (copy:Event:CpuOp {name: 'copy', source_index: 5, start_ns: 300, end_ns: 380, dtype: 'float32',
    work: 'data movement', flops: 0, moved_bytes: 400}),
  (call:Event:Runtime {name: 'launch', source_index: 6, start_ns: 10, end_ns: 20}),
  (late:Event:Runtime {name: 'launch', source_index: 7, start_ns: 110, end_ns: 120}),
  (k0:Event:Kernel {name: 'gemm', kernel_type: 'computation', source_index: 10, lane: 1,
    start_ns: 100, end_ns: 300}),
  (k1:Event:Kernel {name: 'gemm', kernel_type: 'computation', source_index: 11, lane: 1,
    start_ns: 300, end_ns: 500}),
  (k2:Event:Kernel {name: 'add', kernel_type: 'computation', source_index: 12, lane: 1,
    start_ns: 500, end_ns: 600}),
  (k3:Event:Kernel {name: 'x', kernel_type: 'computation', source_index: 13, lane: 1,
    start_ns: 600, end_ns: 610}),
  (k4:Event:Memcpy {name: 'Memcpy HtoD', kernel_type: 'memory', source_index: 14, lane: 1,
    start_ns: 610, end_ns: 650}),
  (k5:Event:Kernel {name: 'alone', kernel_type: 'computation', source_index: 15, lane: 1,
    start_ns: 700, end_ns: 705}),
  (mm)-[:CHILD_OF]->(linear), (call)-[:CHILD_OF]->(mm), (late)-[:CHILD_OF]->(add), (call)-[:LAUNCHED]->(k0),
  (k0)-[:WORK_OF]->(mm), (k1)-[:WORK_OF]->(mm), (k2)-[:WORK_OF]->(add), (k3)-[:WORK_OF]->(other),
  (k4)-[:WORK_OF]->(copy)
"""
COUNTED = """
CREATE
  (run:Run {name: $run, state: 'ready', ranks: 1, window_start_ns: 0, window_end_ns: 1000}),
  (:Trace {run: $run, rank: 0, devices: '["NVIDIA A100-SXM4-80GB"]'})-[:OF_RUN]->(run),
  (:Lane {run: $run, lane: 0, rank: 0, kind: 'thread', name: 'main', matters: true}),
  (:Segment {name: 'all', category: 'cpu_op', source_index: 0, start_ns: 0, end_ns: 1000, chain: 0}),
  (:Chain {chain: 0, start_ns: 0, end_ns: 1000}),
  (linear:Event:CpuOp {name: 'linear', source_index: 1, start_ns: 0, end_ns: 90}),
  (mm:Event:CpuOp {name: 'mm', source_index: 2, start_ns: 0, end_ns: 80}),
  (frame:Event:PythonFunction {name: 'f', source_index: 3, start_ns: 0, end_ns: 85}),
  (call:Event:Runtime {name: 'launch', source_index: 6, start_ns: 10, end_ns: 20}),
  (late:Event:Runtime {name: 'launch', source_index: 7, start_ns: 30, end_ns: 40}),
  (call)-[:CHILD_OF]->(mm), (late)-[:CHILD_OF]->(mm), (mm)-[:CHILD_OF]->(frame)-[:CHILD_OF]->(linear),
  (a:Counter {run: $run, rank: 0, source_index: 20, range: 'gemm', name: 'add', value: 3.0, flops_each: 2.0}),
  (b:Counter {run: $run, rank: 0, source_index: 21, range: 'gemm', name: 'add', value: 5.0, flops_each: 2.0}),
  (c:Counter {run: $run, rank: 0, source_index: 20, range: 'gemm', name: 'rd', value: 4.0, bytes_each: 1.0}),
  (d:Counter {run: $run, rank: 0, source_index: 21, range: 'gemm', name: 'rd', value: 4.0, bytes_each: 1.0}),
  (:Counter {run: $run, rank: 0, source_index: 22, range: 'lost', name: 'add', value: 1.0, flops_each: 2.0}),
  (a)-[:MEASURED {evidence: 'inferred', confidence: 0.9}]->(call),
  (b)-[:MEASURED {evidence: 'inferred', confidence: 0.9}]->(late),
  (c)-[:MEASURED {evidence: 'inferred', confidence: 0.9}]->(call),
  (d)-[:MEASURED {evidence: 'inferred', confidence: 0.9}]->(late)
"""
CASES = {
    "operator_work": """
        rank device name shapes dtype work copy calls activities gpu_ns flops bytes
        0 0 mm [[9]] float16 matrix_product - 1 2 400 62400000 100000
        0 0 add - float32 elementwise - 1 1 100 1000 203900
        0 0 copy - float32 data_movement Memcpy_HtoD 1 1 40 0 400
        0 0 other - - - - 1 1 10 - -
        0 0 - - - - - 0 1 5 - -""",
    "operator_work start_ns=550 end_ns=650 limit=1": """
        name gpu_ns
        copy 40""",
    "roofline": """
        name calls gpu_ns intensity flop_per_s compute_share memory_share bound evidence device
        mm 1 400 624.0 156000000000000.0 0.5 0.12260912211868563 compute inferred 0
        add 1 100 0.004904364884747425 10000000000.0 0.0005128205128205128 1.0 memory inferred 0
        copy 1 40 0.0 0.0 0.0 - link inferred 0
        other 1 10 - - - - unknown - 0
        - 0 5 - - - - unknown - 0""",
    "cupti_counters": """
        rank counter""",
}
COUNTED_CASES = {
    "cupti_counters": """
        rank counter operator top_operator kernel count sum mean std min max evidence confidence
        0 add mm linear gemm 2 8.0 4.0 1.4142135623730951 3.0 5.0 inferred 0.9
        0 rd mm linear gemm 2 8.0 4.0 0.0 4.0 4.0 inferred 0.9
        0 add - - lost 1 1.0 1.0 0.0 1.0 1.0 - -""",
    "cupti_counters start_ns=25 end_ns=50 limit=1": """
        counter operator count sum
        add mm 1 5.0""",
    "cupti_ranges": """
        rank source_index kernel counter value call_source_index operator_source_index operator top_operator
        0 20 gemm add 3.0 6 2 mm linear
        0 20 gemm rd 4.0 6 2 mm linear
        0 21 gemm add 5.0 7 2 mm linear
        0 21 gemm rd 4.0 7 2 mm linear
        0 22 lost add 1.0 - - - -""",
    "counted_work": """
        rank name count gpu_ns flops bytes confidence
        0 mm 2 - 16.0 8.0 0.9
        0 - 1 - 2.0 - -""",
    "roofline": """
        name calls gpu_ns flops bytes intensity flop_per_s bound evidence confidence
        mm 2 - 16.0 8.0 2.0 - unknown recorded 0.9
        - 1 - 2.0 - - - unknown recorded -""",
}


@pytest.fixture(scope="module", autouse=True)
def graphs(database: Database) -> Iterator[None]:
    with stored(database, RUN, GRAPH), stored(database, f"{RUN}-counted", COUNTED):
        yield


@pytest.mark.parametrize("case", CASES)
def test_table(case: str, database: Database) -> None:
    check_table(database, RUN, case, CASES[case])


@pytest.mark.parametrize("case", COUNTED_CASES)
def test_table_with_counters(case: str, database: Database) -> None:
    check_table(database, f"{RUN}-counted", case, COUNTED_CASES[case])


def test_counters_of_operators_are_htas(hta_runs: hta.HtaRuns) -> None:
    theirs = hta.expected("k1", "cupti_counter_data_with_operators")
    assert theirs is not None
    ours = hta_runs.rows("cupti_ranges", "k1")
    names = sorted(ours["counter"].unique())
    assert len(theirs) == ours["source_index"].nunique() == 77
    wide = ours.pivot(index="source_index", columns="counter", values="value")[names]
    theirs = theirs.set_index("index").sort_index()
    assert (wide.to_numpy() == theirs[names].to_numpy()).all()
    each = ours.drop_duplicates("source_index").set_index("source_index")
    for mine, hers in (
        ("call_source_index", "index_runtime"),
        ("operator", "bottom_level_op"),
        ("top_operator", "top_level_op"),
        ("kernel", "name"),
    ):
        assert each[mine].tolist() == theirs[hers].tolist()


def test_counters_add_up_by_operator(hta_runs: hta.HtaRuns) -> None:
    theirs = hta.expected("k1", "cupti_counter_data_with_operators")
    assert theirs is not None
    ours = hta_runs.rows("cupti_counters", "k1")
    sums = ours.groupby(["operator", "counter"])["sum"].sum()
    for counter in ours["counter"].unique():
        expected = theirs.groupby("bottom_level_op")[counter].sum()
        assert sums.xs(counter, level="counter").to_dict() == expected.to_dict()
    roofline = hta_runs.rows("roofline", "k1").set_index("name")
    # Two passes of AlexNet's classifier over a batch of 128, without padding and epilogues.
    assert roofline.loc["aten::addmm", "flops"] == pytest.approx(4 * 128 * 58_621_952, rel=0.02)
    assert roofline["gpu_ns"].isna().all()


@pytest.mark.parametrize("run", ["a1", "a4", "a6", "e1", "e3", "h1_h100", "h1_mi300", "i1"])
def test_no_product_is_faster_than_its_device(hta_runs: hta.HtaRuns, run: str) -> None:
    rows = hta_runs.rows("roofline", run)
    known = rows[rows["compute_share"].notna()]
    assert len(known) > 5
    assert known["compute_share"].max() < 1.0
    # What fits into a cache is faster than memory; more than that would be a wrong count.
    assert known["memory_share"].max() < 1.5


def test_all_gpu_time_is_somebodys(hta_runs: hta.HtaRuns) -> None:
    exact = hta.expected("c1", "exact_gpu_time")
    assert exact is not None
    rows = hta_runs.rows("operator_work", "c1")
    assert rows["activities"].sum() == exact["gpu_events"].sum()
    assert rows["gpu_ns"].sum() == exact["sum_dur_ns"].sum()
