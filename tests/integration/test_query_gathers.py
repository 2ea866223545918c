"""Gathers of sharded parameters: prefetch of 0, 1 and 2 modules by hand, and real files."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from graphs import check_table, stored
from stored_traces import file_asked

from tracegraph.store.connection import Database
from tracegraph.store.workspace import Workspace

DATA = Path(__file__).parents[1] / "data"
RUN = "tiny-gathers"
# What the host launches every 10 ns: (g)ather, (t)ake over, (c)ompute of modules a, b and c.
ORDERS = (
    "ga ta ca gb tb cb gc tc cc",
    "ga ta gb ca tb gc cb tc cc",
    "ga ta gb gc ca tb cb tc cc",
)
LENGTHS = ({"g": 50, "t": 5, "c": 60}, {"g": 50, "t": 5, "c": 60}, {"g": 200, "t": 5, "c": 60})
ANNOTATION = {"g": "FSDP::all_gather ({})", "t": "FSDP::all_gather_copy_out ({})", "c": "train"}


def forward(rank: int) -> Iterator[str]:
    """A forward pass: work begins 5 ns after its launch, once its stream is free and its gather has ended."""
    gathered: dict[str, int] = {}
    free: dict[bool, int] = {}
    for place, (what, module) in enumerate(ORDERS[rank].split()):
        at, gathers = 10 * place, what == "g"
        start = max(at + 5, free.get(gathers, 0), gathered[module] if what == "t" else 0)
        end = start + LENGTHS[rank][what]
        idle = f", stream_idle_ns: {start - free[gathers]}" if gathers in free else ""
        free[gathers] = end
        kind = "communication" if gathers else "computation"
        if gathers:
            gathered[module] = end
            idle += f", collective_kind: 'all_gather', bytes: 8, exposed_ns: {end - start}"
        annotation, frame = ANNOTATION[what].format(module), 100 * rank + 2 * place
        yield (
            f"(:Frame {{frame: {frame + 1}, depth: 2, name: 'k', category: 'kernel'}})-[:CALLED_FROM]->"
            f"(:Frame {{frame: {frame}, depth: 1, name: '{annotation}', category: 'user_annotation'}})"
        )
        yield (
            f"(:Event:Annotation {{name: '{annotation}', rank: {rank}, start_ns: {at},"
            f" end_ns: {at + 5}}})<-[:CHILD_OF]-(:Event:Runtime {{name: 'launch', rank: {rank},"
            f" start_ns: {at}, end_ns: {at + 1}}})-[:LAUNCHED]->(:Event:Segment:Kernel {{name: 'k',"
            f" rank: {rank}, frame: {frame + 1}, step: 1, "
            f" kernel_type: '{kind}', start_ns: {start}, end_ns: {end}{idle}}})"
        )


AGAIN = """
  (:Phase {run: $run, rank: 0, step: 1, name: 'backward', occurrence: 1, start_ns: 300, end_ns: 400,
    window_end_ns: 400, evidence: 'recorded', confidence: 1.0, lane: 0}),
  (:Event:Annotation {name: 'FSDP::all_gather (b)', rank: 0, start_ns: 300, end_ns: 305})<-[:CHILD_OF]-
    (:Event:Runtime {name: 'launch', rank: 0, start_ns: 301, end_ns: 302})-[:LAUNCHED]->
    (:Event:Kernel {name: 'k', rank: 0, step: 1, kernel_type: 'communication', collective_kind: 'all_gather',
      start_ns: 310, end_ns: 350})
"""
BY_DEPENDENCY = """
  (:Event:Runtime {name: 'launch', rank: 3, start_ns: 10, end_ns: 11})-[:LAUNCHED]->
    (known:Event:Segment:Kernel {name: 'k', rank: 3, step: 1, kernel_type: 'communication',
      collective_kind: 'all_gather', start_ns: 20, end_ns: 60, exposed_ns: 10}),
  (:Event:Runtime {name: 'launch', rank: 3, start_ns: 30, end_ns: 31})-[:LAUNCHED]->
    (uses:Event:Segment:Kernel {name: 'gemm', rank: 3, step: 1, kernel_type: 'computation', start_ns: 62,
      end_ns: 70, stream_idle_ns: 12}),
  (known)-[:SYNCHRONIZATION $waits]->(uses),
  (:Event:Kernel {name: 'k', rank: 3, kernel_type: 'communication', collective_kind: 'all_gather',
    start_ns: 5, end_ns: 9, exposed_ns: 4})
"""
ON_THREADS = """
  (:Frame {frame: 401, depth: 2, name: 'c10d::_allgather_base_', category: 'cpu_op'})-[:CALLED_FROM]->
    (:Frame {frame: 400, depth: 1, name: 'FSDP::all_gather', category: 'user_annotation'}),
  (:Frame {frame: 403, depth: 2, name: 'c10d::_allgather_base_', category: 'cpu_op'})-[:CALLED_FROM]->
    (:Frame {frame: 402, depth: 1, name: 'FSDP::all_gather (0)', category: 'user_annotation'}),
  (:Event:CpuOp:Segment {name: 'c10d::_allgather_base_', rank: 4, start_ns: 1, end_ns: 2, frame: 401})
    -[:CHILD_OF]->(:Event:Annotation {name: 'FSDP::all_gather', rank: 4, start_ns: 0, end_ns: 21}),
  (:Event:CpuOp:Segment {name: 'c10d::_allgather_base_', rank: 4, start_ns: 23, end_ns: 24, frame: 403})
    -[:CHILD_OF]->(:Event:Annotation {name: 'FSDP::all_gather (0)', rank: 4, start_ns: 22, end_ns: 25}),
  (:Event:CpuOp {name: 'copy', rank: 4, start_ns: 27, end_ns: 28})-[:CHILD_OF]->
    (:Event:Annotation {name: 'FSDP::all_gather_copy_out', rank: 4, start_ns: 26, end_ns: 29}),
  (:Event:CpuOp {name: 'embed', rank: 4, start_ns: 30, end_ns: 40}),
  (:Event:CpuOp {name: 'copy', rank: 4, start_ns: 52, end_ns: 53})-[:CHILD_OF]->
    (:Event:Annotation {name: 'FSDP::all_gather_copy_out (0)', rank: 4, start_ns: 41, end_ns: 54}),
  (:Event:Annotation {name: 'gloo:all_gather', collective_kind: 'all_gather', rank: 4, start_ns: 3,
    end_ns: 20}),
  (:Event:Annotation {name: 'gloo:all_gather', collective_kind: 'all_gather', rank: 4, start_ns: 28,
    end_ns: 50}),
  (:Frame {frame: 404, depth: 0, name: 'gloo:all_gather', category: 'user_annotation'})
"""
PASSES = ",\n  ".join(text for rank in range(len(ORDERS)) for text in forward(rank))
GRAPH = f"""
CREATE
  (run:Run {{name: $run, state: 'ready', ranks: 5, window_start_ns: 0, window_end_ns: 1000}}),
  {", ".join(f"(:Trace {{run: $run, rank: {rank}}})-[:OF_RUN]->(run)" for rank in range(5))},
  {PASSES},
  {AGAIN},
  {BY_DEPENDENCY.replace("$waits", "{mechanism: 'stream wait event', evidence: 'recorded'}")},
  {ON_THREADS}
"""
TABLE = """
    rank phase module launched_ns begins_ns ends_ns first_use_ns lead_ns stall_ns modules_ahead gathered_again
    0 - a 0 5 55 55 5 45 0 False
    0 - b 30 55 105 120 65 0 0 False
    0 - c 60 105 155 185 80 0 0 False
    0 backward b 301 310 350 - - - - True
    1 - a 0 5 55 55 5 45 0 False
    1 - b 20 55 105 120 65 0 1 False
    1 - c 50 105 155 185 80 0 1 False
    2 - a 0 5 205 205 5 195 0 False
    2 - b 20 205 405 405 65 135 1 False
    2 - c 30 405 605 605 65 135 2 False
    3 - - - 5 9 - - - - -
    3 - - 10 20 60 62 30 10 0 -
    4 - - 1 3 20 27 -2 19 0 -
    4 - 0 23 28 50 52 13 9 1 -"""
LACKS = """
    rank hidden_share evidence lacks
    3 0.0 - It_was_launched_before_the_recording._Neither_an_annotation_of_FSDP_nor_a_wait_of_a_stream\
_tells_what_needs_it_first.
    3 0.75 recorded -"""


def test_modules_ahead_are_those_that_compute_between_a_gather_and_what_needs_it(database: Database) -> None:
    with stored(database, RUN, GRAPH):
        check_table(database, RUN, "gathers start_ns=0 end_ns=1000", TABLE)
        check_table(database, RUN, "gathers start_ns=0 end_ns=1000 rank=3", LACKS)


@pytest.mark.parametrize("ahead", [0, 1, 2])
def test_a_recorded_prefetch_is_counted(database: Database, workspace: Workspace, ahead: int) -> None:
    with file_asked(database, workspace, DATA / f"fsdp_prefetch_{ahead}" / "rank0.json.gz") as asked:
        rows = asked("gathers")
    assert rows["lacks"].isna().all()
    counted = rows.groupby(["step", "phase"], sort=False)["modules_ahead"].agg(list)
    # The root comes first, and at most as many layers are ahead of one as there are before it; without an
    # explicit prefetch backward passes gather one layer ahead by themselves.
    forward = [0, *(min(ahead, layer) for layer in range(5))]
    backward = [min(ahead or 1, layer) for layer in range(5)]
    assert counted.tolist() == [forward, backward] * 2
    assert rows["gathered_again"].tolist() == [*[False] * 6, *[True] * 5] * 2


def test_nanogpt_hides_a_third_of_its_gathers(
    database: Database, workspace: Workspace, shared_trace: Callable[[str], Path]
) -> None:
    with file_asked(database, workspace, shared_trace("a4_nanogpt_h100_rank0_of_8.json.gz")) as asked:
        rows = asked("gathers")
    launched = rows[rows["launched_ns"].notna()]
    length = launched["ends_ns"] - launched["begins_ns"]
    hidden = (length * launched["hidden_share"]).sum()
    assert (len(launched), length.sum(), hidden) == (14, 11_523_741, pytest.approx(3_538_086))
    # Its optimizer gathers, without names: no module, and nothing about prefetch.
    assert rows["module"].isna().all()
    assert rows["modules_ahead"].isna().all()
    assert rows["lacks"].notna().all()
