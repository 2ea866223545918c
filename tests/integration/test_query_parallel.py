"""Buckets of gradients, and other sizes of them: tiny graphs worked out by hand, and a real file."""

import gzip
import json
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import stored_traces
from graphs import check_table, stored
from stored_traces import file_asked

from tracegraph.ingest.integrity_findings import Integrity
from tracegraph.ingest.readers import read_trace
from tracegraph.queries.catalog import ask
from tracegraph.queries.module import load
from tracegraph.store.connection import Database
from tracegraph.store.workspace import Workspace

RUN = "tiny-parallel"
GRAPH = """
CREATE
  (run:Run {name: $run, state: 'ready', ranks: 2, events: 5, window_start_ns: 0, window_end_ns: 1000}),
  (:Trace {run: $run, rank: 0})-[:OF_RUN]->(run),
  (:Phase {run: $run, rank: 0, step: 1, name: 'forward', occurrence: 1, start_ns: 0, end_ns: 100}),
  (:Phase {run: $run, rank: 0, step: 1, name: 'backward', occurrence: 1, start_ns: 100, end_ns: 300}),
  (:Phase {run: $run, rank: 0, step: 2, name: 'backward', occurrence: 1, start_ns: 500, end_ns: 600}),
  (early:Event:Kernel {name: 'nccl', kernel_type: 'communication', collective_kind: 'all_reduce', elements: 5,
    bytes: 20, start_ns: 50, end_ns: 60, exposed_ns: 10}),
  (second:Event:Kernel {name: 'nccl', kernel_type: 'communication', collective_kind: 'all_reduce',
    elements: 7, bytes: 28, start_ns: 310, end_ns: 380}),
  (first:Event:Kernel {name: 'nccl', kernel_type: 'communication', collective_kind: 'all_reduce', elements: 3,
    bytes: 12, start_ns: 210, end_ns: 280, exposed_ns: 30}),
  (gathered:Event:Kernel {name: 'nccl', kernel_type: 'communication', collective_kind: 'all_gather',
    start_ns: 220, end_ns: 230}),
  (thread:Event:Annotation {name: 'gloo:all_reduce', collective_kind: 'all_reduce', bytes: 4,
    start_ns: 510, end_ns: 530}),
  (:Frame {frame: 0, depth: 0, name: 'gloo:all_reduce', category: 'user_annotation'}),
  (:Event {name: 'launch', start_ns: 290, end_ns: 295})-[:LAUNCHED]->(second),
  (call:Event {name: 'launch', start_ns: 200, end_ns: 205})-[:LAUNCHED]->(first),
  (call)-[:CHILD_OF]->(:Event {name: 'nccl:all_reduce', start_ns: 195, end_ns: 206})
    -[:CHILD_OF]->(:Event:CpuOp {name: 'c10d::allreduce_', start_ns: 190, end_ns: 207})
    -[:CHILD_OF]->(:Event:CpuOp {name: 'hook', start_ns: 180, end_ns: 208}),
  (before:Segment {start_ns: 500, end_ns: 504})
    -[:SEQUENTIAL {mechanism: 'program order', lag_ns: 0, gap_ns: 0, binding: true}]->
    (piece:Segment {start_ns: 504, end_ns: 506})-[:PART_OF]->
    (:Event:CpuOp {name: 'c10d::allreduce_', start_ns: 504, end_ns: 508}),
  (before)-[:CROSS_THREAD {mechanism: 'hand-over', lag_ns: 6, gap_ns: 6, binding: true}]->
    (sent:Segment {start_ns: 510, end_ns: 520})-[:PART_OF]->(thread),
  (met:Collective {run: $run, operation: 0}),
  (second)-[:MEMBER_OF {arrived_ns: 310, waited_ns: 40, transfer_ns: 30, exposed_wait_ns: 5,
    exposed_transfer_ns: 6}]->(met)
"""
TABLE = """
    step pass bucket elements bytes ready_ns start_ns end_ns waited_ns transfer_ns exposed_ns
    1 1 0 3 12 190 210 280 - - 30
    1 1 1 7 28 290 310 380 40 30 11
    2 1 0 - 4 504 510 530 - - -"""


def test_buckets_are_what_is_reduced_in_backward_passes_by_when_it_is_ready(database: Database) -> None:
    with stored(database, RUN, GRAPH):
        check_table(database, RUN, "ddp_buckets", TABLE)


def test_what_forward_passes_reduce_too_is_no_bucket(database: Database) -> None:
    """In tensor parallelism both passes reduce activations of one size."""
    as_forward = GRAPH.replace("bytes: 12", "bytes: 20").replace("bytes: 28", "bytes: 20")
    assert as_forward.count("bytes: 20") == 3
    with stored(database, RUN, as_forward):
        found = ask(database, "ddp_buckets", run=RUN)
    assert found["bytes"].tolist() == [4]


LONG = """
UNWIND range(1, $steps) AS step
CREATE
  (:Phase {run: $run, rank: 0, step: step, name: 'forward', occurrence: 1, start_ns: 100 * step,
    end_ns: 100 * step + 20}),
  (:Phase {run: $run, rank: 0, step: step, name: 'backward', occurrence: 1, start_ns: 100 * step + 20,
    end_ns: 100 * step + 60})
WITH step UNWIND range(0, 4) AS place
CREATE (:Event:Kernel {run: $run, rank: 0, collective_kind: 'all_reduce', kernel_type: 'communication',
  source_index: 10 * step + place, start_ns: 100 * step + 20 * place, end_ns: 100 * step + 20 * place + 9})
"""
"""Steps with five reductions each, at the start of each pass and later, two of them in the backward pass."""


def test_each_reduction_is_looked_at_once_however_many_passes_there_are(database: Database) -> None:
    hits = []
    for steps in (50, 100):
        with stored(database, RUN, LONG.replace("$steps", str(steps))):
            assert len(ask(database, "ddp_buckets", run=RUN)) == 2 * steps
            with database.session() as session:
                profile = (
                    session.run("PROFILE " + load("ddp_buckets").body, run=RUN, rank=None).consume().profile
                )
            hits.append(_hits(profile))
    assert hits[1] < 2.2 * hits[0]


def _hits(plan: dict[str, Any]) -> int:
    return int(plan["dbHits"]) + sum(map(_hits, plan.get("children", ())))


M = 1 << 20
# Tests of NCCL state 1,000 ns and a byte a nanosecond. Rank 0 has four gradients of 1 MiB, each 2^20 ns after
# the one before; of rank 1 only its buckets are known, of 1 and of 3 MiB.
GRADIENTS = ",".join(
    f"(:Event:CpuOp {{name: 'torch::autograd::AccumulateGrad', step: 1, shapes: '[[512, 512], []]',"
    f" start_ns: {place * M - 5}, end_ns: {place * M}}})"
    for place in (1, 2, 3, 4)
)
BUCKETS = ",".join(
    f"(:Event:Kernel {{name: 'nccl', rank: {rank}, kernel_type: 'communication',"
    f" collective_kind: 'all_reduce', elements: {size * M // 4}, bytes: {size * M}, start_ns: {at * M},"
    f" end_ns: {end * M + 1000}}})"
    for rank in (0, 1)
    for size, at, end in ((1, 1, 2), (3, 4, 7))
)
MEASURED = ",".join(
    f"(:Transfer {{run: $run, companion: 'nccl-tests', source: 'nccl-tests', kind: 'all_reduce', ranks: 2,"
    f" nodes: 1, in_place: false, bytes: {size}, time_ns: {size + 1000}, count: 1}})"
    for size in (M // 4, M, 4 * M, 16 * M)
)
STEPS = ",".join(
    f"(:Step {{run: $run, rank: {rank}, number: 1, start_ns: 0, end_ns: {8 * M}, window_end_ns: {8 * M},"
    f" name: 'step', marker: 'step'}}), (:Phase {{run: $run, rank: {rank}, step: 1, name: 'backward',"
    f" occurrence: 1, start_ns: 0, end_ns: {5 * M}}})"
    for rank in (0, 1)
)
SIZES = f"""
CREATE
  (run:Run {{name: $run, state: 'ready', ranks: 2, window_start_ns: 0, window_end_ns: {8 * M}}}),
  (:Trace {{run: $run, rank: 0, devices: '[]'}})-[:OF_RUN]->(run),
  {GRADIENTS}, {BUCKETS}, {MEASURED}, {STEPS}
"""
# Four buckets follow each other without a pause, but for their latencies, and end one transfer after the last
# gradient; recorded are three MiB at once. Evenly spread gradients fill three buckets a little later.
EACH = """
    rank bucket_mb buckets step_ns least_ns most_ns gain_ns exposed_ns is_best is_within evidence source
    0 - 2 8388608 - - - - - - - -
    0 1.0 4 6294456 6294456 6294456 2094152 1052576 True True recorded nccl-tests
    1 - 2 8388608 - - - - - - - -
    1 1.0 4 6326224 6326224 6326224 2062384 1084344 True True inferred nccl-tests"""
AT_ONCE = """
    rank bucket_mb buckets step_ns gain_ns lacks
    0 - 2 8388608 - -
    0 100.0 1 9437184 -1048576 -
    1 - 2 8388608 - -
    1 100.0 1 9437184 -1048576 -"""


def test_other_sizes_of_buckets_are_replayed_with_fitted_transfers(database: Database) -> None:
    window = f"start_ns=0 end_ns={8 * M}"
    with stored(database, RUN, SIZES):
        check_table(database, RUN, f"ddp_bucket_sizes {window} bucket_mb=1", EACH)
        check_table(database, RUN, f"ddp_bucket_sizes {window} bucket_mb=100 first_mb=100", AT_ONCE)


def test_a_bucket_is_ready_when_the_host_hands_it_over(
    database: Database, workspace: Workspace, shared_trace: Callable[[str], Path]
) -> None:
    path = shared_trace("a5_hta_nccl217_a100_rank0_of_2.json.gz")
    trace = read_trace(path, Integrity(path.name))
    with stored_traces.stored(database, workspace, trace) as (run, _):
        found = ask(database, "ddp_buckets", run=run, rank=None)
    elements = [2_049_000, 7_875_584, 6_563_840, 6_637_568, 2_431_040]
    for _, step in found.groupby("step"):
        assert step["elements"].to_list() == elements
        assert step["bytes"].sum() == 102_228_128
    calls = [2_098, 2_286, 2_425, 3_024, 3_963]  # External ids of the calls of the first step
    assert found["ready_ns"].to_list()[:5] == [calls_at(path)[call] for call in calls]


def calls_at(path: Path) -> dict[int, int]:
    """When each call of a process group begins, by its id, ns."""
    entries = json.loads(gzip.decompress(path.read_bytes()), parse_float=Decimal)["traceEvents"]
    return {
        one["args"]["External id"]: int(one["ts"] * 1000)
        for one in entries
        if one.get("name", "").startswith("c10d::")
    }


def test_without_a_fit_no_size_is_predicted(
    database: Database, workspace: Workspace, shared_trace: Callable[[str], Path]
) -> None:
    path = shared_trace("a5_hta_nccl217_a100_rank0_of_2.json.gz")
    with file_asked(database, workspace, path) as asked:
        (row,) = asked("ddp_bucket_sizes").to_dict("records")
    assert (row["buckets"], row["step_ns"]) == (5, 222_368_446)
    assert "Waits for ranks that are not here" in row["lacks"]
    assert "largest size is 3.8 times the smallest" in row["lacks"]
