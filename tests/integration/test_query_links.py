"""Use of links and overlap: a tiny graph with every cause, random models, and known files."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pandas as pd
import pytest
import tiny
from graphs import check_table, stored
from hypothesis import assume, given, settings
from random_traces import rows
from stored_traces import stored as stored_trace

from tracegraph.ingest.integrity_findings import Integrity
from tracegraph.ingest.readers import read_trace
from tracegraph.queries.catalog import ask, asking
from tracegraph.queries.runs import find_window
from tracegraph.store.connection import Database
from tracegraph.store.workspace import Workspace

RUN = "tiny-links"
TWO = '["NVIDIA H100 80GB HBM3", "NVIDIA H100 80GB HBM3"]'
GRAPH = f"""
CREATE
  (run:Run {{name: $run, state: 'ready', ranks: 2, window_start_ns: 0, window_end_ns: 1000}}),
  (:Trace {{run: $run, rank: 0, devices: '{TWO}', rank_spread_ns: 0}})-[:OF_RUN]->(run),
  (:Trace {{run: $run, rank: 1, devices: '{TWO}', rank_spread_ns: 10}})-[:OF_RUN]->(run),
  (:Step {{run: $run, number: 1, rank: 0, start_ns: 0, end_ns: 500, window_end_ns: 600}}),
  (:Lane {{run: $run, lane: 0, rank: 0, kind: 'stream', name: 's', device: 0, stream: 7, matters: true}}),
  (:Lane {{run: $run, lane: 1, rank: 0, kind: 'stream', name: 't', device: 0, stream: 8, matters: true}}),
  (:Lane {{run: $run, lane: 2, rank: 0, kind: 'thread', name: 'main', matters: true}}),
  (:Chain {{chain: 0, lane: 2, start_ns: 0, end_ns: 1000}}),
  (:Segment {{lane: 2, name: 'work', category: 'cpu_op', start_ns: 0, end_ns: 1000, chain: 0}}),
  (met:Event:Kernel {{name: 'nccl', kernel_type: 'communication', collective_kind: 'all_reduce', lane: 0,
    bytes: 900, group_size: 2, start_ns: 0, end_ns: 100, type_busy_ns: 100, busy_without_memory_ns: 100}}),
  (:Event:Kernel {{name: 'nccl', kernel_type: 'communication', collective_kind: 'all_gather', lane: 0,
    bytes: 1800, group_size: 2, group_ranks: '[0, 1]', start_ns: 200, end_ns: 210, type_busy_ns: 10,
    busy_without_memory_ns: 10}}),
  (:Event:Kernel {{name: 'nccl', kernel_type: 'communication', collective_kind: 'all_gather', lane: 0,
    bytes: 1800, group_size: 2, group_ranks: '[0, 1]', start_ns: 300, end_ns: 320, type_busy_ns: 20,
    busy_without_memory_ns: 20}}),
  (:Event:Kernel {{name: 'gemm', kernel_type: 'computation', lane: 1, start_ns: 305, end_ns: 370,
    type_busy_ns: 65, busy_without_memory_ns: 50}}),
  (:Event:Kernel {{name: 'nccl', kernel_type: 'communication', lane: 0, start_ns: 400, end_ns: 401,
    type_busy_ns: 1, busy_without_memory_ns: 1}}),
  (late:Collective {{run: $run, operation: 0, rendezvous_ns: 90, start_ns: 0, end_ns: 100, name: 'all_reduce',
    size: 2, members: 2, last_rank: 1, evidence: 'recorded', confidence: 1.0, missing: '[]',
    ranks: '[0, 1]', bytes: 900, bus_factor: 1.0}}),
  (:Collective {{run: $run, operation: 1, rendezvous_ns: 110, start_ns: 100, end_ns: 200, name: 'all_reduce',
    size: 2, members: 2, last_rank: 1, evidence: 'recorded', confidence: 1.0, missing: '[]',
    ranks: '[0, 1]', bytes: 900, bus_factor: 1.0}}),
  (:Collective {{run: $run, operation: 2, rendezvous_ns: 250, start_ns: 200, end_ns: 300, name: 'broadcast',
    size: 2, members: 2, last_rank: 1, evidence: 'recorded', confidence: 1.0, missing: '[]',
    ranks: '[0, 1]'}}),
  (:Collective {{run: $run, operation: 3, rendezvous_ns: 365, start_ns: 300, end_ns: 400, name: 'barrier',
    size: 2, members: 2, last_rank: 1, evidence: 'recorded', confidence: 1.0, missing: '[]',
    ranks: '[0, 1]'}}),
  (:Collective {{run: $run, operation: 4, rendezvous_ns: 410, start_ns: 400, end_ns: 500, name: 'reduce',
    size: 3, members: 2, last_rank: 1, evidence: 'recorded', confidence: 1.0, missing: '[2]',
    ranks: '[0, 1, 2]', bytes: 900, bus_factor: 1.0}}),
  (:Collective {{run: $run, operation: 5, rendezvous_ns: 590, start_ns: 500, end_ns: 600, name: 'reduce',
    size: 3, members: 2, last_rank: 1, evidence: 'recorded', confidence: 1.0, missing: '[2]',
    ranks: '[0, 1, 2]', bytes: 900, bus_factor: 1.0}}),
  (met)-[:MEMBER_OF]->(late)
"""
"""Operations of 100 ns each, whose clocks agree to 10 ns; kernels of which no other rank's part is here."""
CASES = {
    "collectives": """
        operation skew_ns transfer_ns cause
        0 90 10 late_arrival
        5 90 10 late_arrival
        3 65 35 unknown
        2 50 50 mixed
        1 10 90 transfer
        4 10 90 unknown""",
    "link_use": """
        rank name ranks bytes count sum_ns transfer_ns bus_bandwidth link share spread is_least
        - all_reduce 2 900 2 100 10 90000000000.0 NVLink_4 0.2 9.0 False
        - reduce 3 900 2 100 10 90000000000.0 - - 9.0 True
        - broadcast 2 - 1 50 50 - NVLink_4 - - False
        - barrier 2 - 1 35 35 - NVLink_4 - - False
        0 all_gather 2 1800 2 30 10 90000000000.0 NVLink_4 0.2 2.0 True
        0 - - - 1 1 1 - - - - True""",
    "link_use link=180 limit=1": """
        name link link_bytes_per_s link_source share
        all_reduce 180_GB/s 180000000000.0 stated 0.5""",
    "link_use start_ns=300 end_ns=350": """
        rank name count
        0 all_gather 1""",
    "step_overlap": """
        rank step step_ns computing_ns communication_ns overlap_ns overlap_efficiency hidden_share exposed_ns
        0 1 600 65 131 15 0.23076923076923078 0.11450381679389313 116""",
    "comm_comp_overlap": """
        rank communication_ns overlap_ns exposed_ns computing_ns overlap_efficiency
        0 131 15 116 65 0.23076923076923078""",
}


@pytest.fixture(scope="module")
def graph(database: Database) -> Iterator[None]:
    with stored(database, RUN, GRAPH):
        yield


@pytest.mark.parametrize("case", CASES)
@pytest.mark.usefixtures("graph")
def test_table(case: str, database: Database) -> None:
    check_table(database, RUN, case, CASES[case])


@settings(max_examples=settings.default.max_examples // 5)
@given(rows())
def test_a_step_overlaps_as_its_window_does(
    database: Database, workspace: Workspace, events: Sequence[tiny.Row]
) -> None:
    assume(any(row["category"] == "kernel" for row in events))
    varied = [
        {**row, "name": "ncclDevKernel_AllReduce"} if row["category"] == "kernel" and place % 2 else row
        for place, row in enumerate(events)
    ]
    with stored_trace(database, workspace, tiny.trace(*varied)) as (run, _):
        check_steps(database, run)


def check_steps(database: Database, run: str) -> None:
    """Each row of `step_overlap` is what `comm_comp_overlap` says of its window, from other properties."""
    window = find_window(asking(database), run)
    found = ask(database, "step_overlap", run=run, start_ns=window.start_ns, end_ns=window.end_ns)
    steps = ask(database, "steps", run=run).set_index("number")
    names = ["computing_ns", "communication_ns", "overlap_ns", "exposed_ns"]
    for row in found.to_dict("records"):
        start, end = window.start_ns, window.end_ns
        if row["step"] in steps.index:
            start, end = (int(steps.loc[row["step"], name]) for name in ("start_ns", "window_end_ns"))
        whole = ask(database, "comm_comp_overlap", run=run, start_ns=start, end_ns=end, rank=row["rank"])
        assert whole[names].iloc[0].to_dict() == {name: row[name] for name in names}


A1 = "a1_megatron_tp8_a100_8rank/rank0.json.gz"
A4 = "a4_nanogpt_h100_rank0_of_8.json.gz"
A5 = "a5_hta_nccl217_a100_rank0_of_2.json.gz"


@contextmanager
def on_file(database: Database, workspace: Workspace, path: Path) -> Iterator[Callable[..., pd.DataFrame]]:
    """What asks about the whole window of a file."""
    with stored_trace(database, workspace, read_trace(path, Integrity(path.name))) as (run, _):
        window = find_window(asking(database), run)
        check_steps(database, run)
        yield lambda query, **values: ask(
            database, query, run=run, start_ns=window.start_ns, end_ns=window.end_ns, **values
        )


def test_nanogpt_on_eight_h100(
    database: Database, workspace: Workspace, shared_trace: Callable[[str], Path]
) -> None:
    with on_file(database, workspace, shared_trace(A4)) as asked:
        whole, used = asked("comm_comp_overlap").iloc[0], asked("link_use")
    assert (whole["computing_ns"], whole["communication_ns"]) == (159_266_545, 48_993_750)
    assert (whole["overlap_ns"], whole["exposed_ns"]) == (7_700_336, 41_293_414)
    assert whole["overlap_efficiency"] == whole["overlap_share"] == pytest.approx(0.157170, abs=5e-7)
    largest = used[used["bytes"].eq(386_334_720)].set_index("name")
    expected = {"reduce_scatter": (1_019_442, 331.596, 0.7369), "all_gather": (1_150_771, 293.753, 0.6528)}
    for name, (median_ns, gigabytes, share) in expected.items():
        row = largest.loc[name]
        # The middle of four is a mean of two in the reference, and the lower of them here.
        assert row["transfer_ns"] == pytest.approx(median_ns, rel=0.02)
        assert row["bus_bandwidth"] / 1e9 == pytest.approx(gigabytes, rel=0.02)
        assert row["share"] == pytest.approx(share, rel=0.02)
        assert (row["count"], row["link"], row["is_least"]) == (4, "NVLink 4", True)
    assert used["lacks"].str.contains("the data is unknown").sum() == 3  # launched before the recording


def test_resnet_on_two_a100_has_five_buckets_a_step_and_a_board_whose_link_nobody_states(
    database: Database, workspace: Workspace, shared_trace: Callable[[str], Path]
) -> None:
    with on_file(database, workspace, shared_trace(A5)) as asked:
        used, fitted = asked("link_use"), asked("transfer_fit")
        (run,) = {row for row in database.read("MATCH (r:Run) RETURN r.name AS name")["name"] if A5 in row}
        reduced_in_backward = ask(database, "ddp_buckets", run=run)
    assert fitted["bytes_per_s"].isna().all()
    assert fitted["lacks"].str.contains("Waits for ranks that are not here").all()
    by_step = reduced_in_backward.groupby("step")["elements"].agg(list)
    assert by_step.iloc[0] == [2049000, 7875584, 6563840, 6637568, 2431040]
    reduced = used[used["name"].eq("all_reduce")]
    buckets = [4 * elements for elements in (2049000, 7875584, 6563840, 6637568, 2431040)]
    assert sorted(reduced["bytes"]) == sorted(buckets)
    assert (sum(buckets), set(reduced["count"])) == (102_228_128, {3})
    assert reduced["share"].isna().all()
    assert reduced["lacks"].str.contains("GPUs named NVIDIA A100-PG509-200 is not known here").all()


def test_megatron_of_one_rank_knows_its_data_by_shapes_but_not_its_group(
    database: Database, workspace: Workspace, shared_trace: Callable[[str], Path]
) -> None:
    with on_file(database, workspace, shared_trace(A1)) as asked:
        used, fitted = asked("link_use").iloc[0], asked("transfer_fit")
    assert fitted["bytes_per_s"].isna().all()
    assert fitted["lacks"].str.contains("Waits for ranks that are not here").all()
    assert (used["count"], used["bytes"], used["sum_ns"]) == (81, 2 * 4 * 2048 * 4096, 227_411_000)
    assert "size of the group is not in the file" in used["lacks"]
