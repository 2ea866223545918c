"""Use of the peak: a tiny graph with a product that runs once more, random models, and known files."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import tiny
from graphs import check_table, stored
from hypothesis import assume, given, settings
from random_traces import rows
from stored_traces import stored as stored_trace

from tracegraph.ingest.integrity_findings import Integrity
from tracegraph.ingest.readers import read_trace
from tracegraph.ingest.trace import TraceFile
from tracegraph.queries.catalog import ask, asking
from tracegraph.queries.runs import find_window
from tracegraph.queries.shapes.peak import losses
from tracegraph.store.connection import Database
from tracegraph.store.workspace import Workspace

RUN = "tiny-peak"
GRAPH = """
CREATE
  (run:Run {name: $run, state: 'ready', ranks: 1, window_start_ns: 0, window_end_ns: 1000}),
  (:Trace {run: $run, rank: 0, devices: '["NVIDIA A100-SXM4-80GB"]'})-[:OF_RUN]->(run),
  (:Step {run: $run, number: 7, rank: 0, start_ns: 0, end_ns: 900, window_end_ns: 1000, name: 'step 7',
    marker: 'step *'}),
  (:Lane {run: $run, lane: 0, rank: 0, kind: 'thread', name: 'main', matters: true}),
  (:Lane {run: $run, lane: 1, rank: 0, kind: 'stream', name: 'stream', device: 0, stream: 7, matters: true}),
  (:Lane {run: $run, lane: 2, rank: 0, kind: 'thread', name: 'autograd', matters: true}),
  (:Chain {run: $run, chain: 0, lane: 0, start_ns: 0, end_ns: 1000}),
  (:Chain {run: $run, chain: 1, lane: 1, start_ns: 100, end_ns: 950}),
  (load:Segment {name: 'next', category: 'cpu_op', start_ns: 0, end_ns: 90, chain: 0, frame: 2}),
  (:Segment {name: 'rest', category: 'cpu_op', start_ns: 90, end_ns: 1000, chain: 0, frame: 0}),
  (late:Segment {kind: 'wait', name: 'waiting for another rank', lane: 1, chain: 1, start_ns: 640,
    end_ns: 690}),

  (f0:Frame {frame: 0, depth: 0, name: 'main', category: 'thread'}),
  (f1:Frame {frame: 1, depth: 1, name: 'enumerate(DataLoader)#1', category: 'user_annotation'}),
  (f2:Frame {frame: 2, depth: 2, name: 'next', category: 'cpu_op'}),
  (f2)-[:CALLED_FROM]->(f1)-[:CALLED_FROM]->(f0),
  (:Frame {frame: 3, depth: 1, name: 'autograd::engine::evaluate_function: X', category: 'cpu_op', lane: 2}),

  (mm:Event:CpuOp {name: 'mm', source_index: 1, start_ns: 0, end_ns: 90, shapes: '[[9]]', dtype: 'float16',
    work: 'matrix product', flops: 31200000, sequence_number: 4}),
  (node:Event:CpuOp {name: 'autograd::engine::evaluate_function: X', lane: 2, source_index: 2, start_ns: 200,
    end_ns: 400, sequence_number: 4}),
  (inner:Event:CpuOp {name: 'XBackward0', lane: 2, source_index: 3, start_ns: 210, end_ns: 390,
    sequence_number: 4}),
  (again:Event:CpuOp {name: 'mm', lane: 2, source_index: 4, start_ns: 220, end_ns: 260, shapes: '[[9]]',
    dtype: 'float16', work: 'matrix product', flops: 31200000, sequence_number: 1}),
  (back:Event:CpuOp {name: 'mm', lane: 2, source_index: 5, start_ns: 270, end_ns: 300, shapes: '[[9]]',
    dtype: 'float16', work: 'matrix product', flops: 62400000}),
  (add:Event:CpuOp {name: 'add', source_index: 6, start_ns: 500, end_ns: 510}),
  (again)-[:CHILD_OF]->(inner)-[:CHILD_OF]->(node), (back)-[:CHILD_OF]->(inner),

  (k0:Event:Kernel:Segment {name: 'gemm', kernel_type: 'computation', source_index: 10, lane: 1, step: 7,
    start_ns: 100, end_ns: 300, chain: 1}),
  (k1:Event:Kernel {name: 'gemm', kernel_type: 'computation', source_index: 11, lane: 1, step: 7,
    start_ns: 300, end_ns: 420, idle_ns: 0}),
  (k2:Event:Kernel {name: 'gemm', kernel_type: 'computation', source_index: 12, lane: 1, step: 7,
    start_ns: 420, end_ns: 600, idle_ns: 0}),
  (k3:Event:Kernel {name: 'add', kernel_type: 'computation', source_index: 13, lane: 1, step: 7,
    start_ns: 600, end_ns: 640, idle_ns: 0}),
  (nccl:Event:Kernel {name: 'nccl', kernel_type: 'communication', source_index: 14, lane: 1, step: 7,
    start_ns: 640, end_ns: 900, idle_ns: 0}),
  (late)-[:PART_OF]->(nccl),
  (:Event:Memcpy {name: 'copy', kernel_type: 'memory', source_index: 15, lane: 1, step: 7,
    start_ns: 850, end_ns: 950, idle_ns: 0}),
  (k0)-[:WORK_OF]->(mm), (k1)-[:WORK_OF]->(again), (k2)-[:WORK_OF]->(back), (k3)-[:WORK_OF]->(add),
  (load)-[:INVOCATION $launch]->(k0)
"""
"""A rank loads for 90 ns and launches; forward, the same once more, backward, an operator without shapes; it
waits for another rank and sends; a copy ends its work."""
CASES = {
    "known_work": """
        rank step device computing_ns known_ns owned_ns communication_ns
        0 7 0 540 500 540 260""",
    "utilisation": """
        rank step step_ns dtype peak_flop_per_s model_flops counted_flops recomputed_flops mfu hfu source
        0 7 1000 float16 312000000000000.0 93600000 124800000 31200000 0.3 0.4 shapes""",
    "utilisation peak=624 params=1000 tokens=52000 gpus=2": """
        peak_flop_per_s model_flops mfu hfu
        624000000000000.0 156000000 0.25 0.2""",
    "peak_losses": """
        loss domain duration_ns share evidence confidence window_ns
        useful compute 300 0.3 inferred - 1000
        recomputation compute 100 0.1 inferred - 1000
        products_below_peak compute 100 0.1 inferred - 1000
        other_computing compute 40 0.04 recorded - 1000
        exposed_transfer communication 210 0.21 inferred - 1000
        exposed_wait_for_ranks communication 50 0.05 recorded - 1000
        exposed_memory memory 50 0.05 recorded - 1000
        data_loading orchestration 90 0.09 recorded 1.0 1000
        launching orchestration 10 0.01 recorded 1.0 1000
        unknown orchestration 50 0.05 - - 1000""",
    "computing_work": """
        rank device name work dtype flops bytes gpu_ns
        0 0 gemm matrix_product float16 31200000 - 320
        0 0 gemm matrix_product float16 62400000 - 180
        0 0 add - - - - 40""",
    "mfu_checklist": """
        check state value threshold
        tensor_cores failed 0.0 0.5
        float32_products ok 0.0 0.05
        small_products failed 1.0 0.1
        memory-bound_work not_judged - 0.3
        recomputation failed 0.25 0.1
        exposed_transfer failed 0.21 0.1
        exposed_wait_for_ranks not_judged - 0.05
        exposed_memory ok 0.05 0.05
        data_loading failed 0.09 0.02
        synchronisation not_judged - 0.02
        launching not_judged - 0.05
        host_code ok 0.0 0.05""",
}


@pytest.fixture(scope="module")
def graph(database: Database) -> Iterator[None]:
    with stored(database, RUN, GRAPH):
        yield


@pytest.mark.parametrize("case", CASES)
@pytest.mark.usefixtures("graph")
def test_table(case: str, database: Database) -> None:
    check_table(database, RUN, case, CASES[case])


def plainly(events: pd.DataFrame, start: int, end: int) -> dict[str, int]:
    """The time of each domain, µs by µs: computing comes first, then communication, then memory."""
    at = np.arange(start, end, 1000)
    open_ones = {
        kind: np.any([(at >= row.start_ns) & (at < row.end_ns) for row in own.itertuples()], axis=0)
        for kind, own in events.groupby("kernel_type")
    }
    spent, left = {}, np.ones(len(at), dtype=bool)
    for kind, domain in (("computation", losses.COMPUTE), ("communication",) * 2, ("memory",) * 2):
        mine = left & open_ones.get(kind, False)
        spent[domain], left = int(mine.sum()) * 1000, left & ~mine
    return {**spent, losses.ORCHESTRATION: int(left.sum()) * 1000}


def check(database: Database, run: str) -> pd.DataFrame:
    """The parts of each window of a run sum to it, and each domain to what is counted plainly."""
    window = find_window(asking(database), run)
    found = ask(database, "peak_losses", run=run, start_ns=window.start_ns, end_ns=window.end_ns)
    steps = ask(database, "steps", run=run)
    for (rank, step), own in found.groupby(["rank", "step"], dropna=False):
        mine = steps[steps["rank"].eq(rank) & steps["number"].eq(step)] if not pd.isna(step) else None
        edges = [(window.start_ns, window.end_ns)]
        if mine is not None:
            edges = list(zip(mine["start_ns"], mine["window_end_ns"], strict=True))
        assert own["duration_ns"].sum() in {end - start for start, end in edges}
        assert own["duration_ns"].gt(0).all()
        domains = own.groupby("domain")["duration_ns"].sum().to_dict()
        assert any(domains == told(database, run, int(str(rank)), *edge) for edge in edges), (run, step)
    return found


def told(database: Database, run: str, rank: int, start: int, end: int) -> dict[str, int]:
    """The domains of a window as `temporal_breakdown` tells them; those without time are left out."""
    row = ask(database, "temporal_breakdown", run=run, start_ns=start, end_ns=end, rank=rank)
    if row.empty:
        return {losses.ORCHESTRATION: end - start}
    row = row.iloc[0]
    overlap = ask(database, "comm_comp_overlap", run=run, start_ns=start, end_ns=end, rank=rank)
    talks = 0 if overlap.empty else int(overlap["exposed_ns"].iloc[0])
    spent = {
        losses.COMPUTE: int(row["compute_ns"]),
        losses.COMMUNICATION: talks,
        losses.MEMORY: int(row["non_compute_ns"]) - talks,
        losses.ORCHESTRATION: end - start - int(row["busy_ns"]),
    }
    return {domain: ns for domain, ns in spent.items() if ns}


OTHERS: tuple[tiny.Row, ...] = (
    {},
    {"name": "ncclDevKernel_AllReduce"},
    {"category": "gpu_memcpy", "name": "Memcpy HtoD"},
)
"""What every third kernel of a random trace is instead."""


@settings(max_examples=settings.default.max_examples // 5)
@given(rows())
def test_random_models(database: Database, workspace: Workspace, events: Sequence[tiny.Row]) -> None:
    assume(any(row["category"] == "kernel" for row in events))
    varied = [
        {**row, **OTHERS[place % 3]} if row["category"] == "kernel" else row
        for place, row in enumerate(events)
    ]
    with stored_trace(database, workspace, tiny.trace(*varied)) as (run, model):
        found = check(database, run)
        work = database.read(
            "MATCH (e:Event {run: $run}) WHERE e.kernel_type IS NOT NULL "
            "RETURN e.start_ns AS start_ns, e.end_ns AS end_ns, e.kernel_type AS kernel_type",
            {"run": run},
        )
        for _, own in found[found["step"].isna()].groupby("rank"):
            expected = plainly(work, model.window.start, model.window.end)
            domains = own.groupby("domain")["duration_ns"].sum().to_dict()
            assert domains == {domain: ns for domain, ns in expected.items() if ns}


KNOWN = {
    "a1_megatron_tp8_a100_8rank/rank0.json.gz": {
        losses.USEFUL: 0.09721,
        losses.OTHER_COMPUTING: 0.12059,
        losses.COMMUNICATION: 0.39983,
        losses.MEMORY: 0.00024,
        losses.ORCHESTRATION: 0.38212,
    }
}
FILES = [
    *KNOWN,
    "a4_nanogpt_h100_rank0_of_8.json.gz",
    "a5_hta_nccl217_a100_rank0_of_2.json.gz",
    "b1_hta_alexnet_cuda_sync.json.gz",
    "e1_ddp_resnet18_mi300_pystack.json.gz",
    "e2_hta_cpu_only_rank34_of_300.pt.trace.json.gz",
    "h1_qwen_mi300.json.gz",
    "i1_sam_cudagraph_a100.json.gz",
    "i2_vllm_decode_mi300_graph_exec.json.gz",
]


@pytest.mark.parametrize("name", FILES)
def test_known_files(
    name: str, database: Database, workspace: Workspace, shared_trace: Callable[[str], Path]
) -> None:
    path = shared_trace(name)
    trace: TraceFile = read_trace(path, Integrity(path.name))
    with stored_trace(database, workspace, trace) as (run, _):
        found = check(database, run)
        if name not in KNOWN:
            return
        domains = found.groupby("domain")["share"].sum()
        useful = float(found.loc[found["loss"].eq(losses.USEFUL), "share"].iloc[0])
        shares = {losses.USEFUL: useful, losses.OTHER_COMPUTING: domains[losses.COMPUTE] - useful, **domains}
        assert {loss: pytest.approx(share, abs=6e-6) for loss, share in KNOWN[name].items()} == {
            loss: shares[loss] for loss in KNOWN[name]
        }
        window = find_window(asking(database), run)
        one = ask(database, "utilisation", run=run, start_ns=window.start_ns, end_ns=window.end_ns).iloc[0]
        assert (one["counted_flops"], one["model_flops"]) == (18_296_560_680_960, 18_296_560_680_960)
        assert one["hfu"] == pytest.approx(0.09721, abs=5e-6)
