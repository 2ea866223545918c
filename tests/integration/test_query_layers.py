"""Communication by layer: a tiny graph with modules, annotations and a sequence, and a job of 40 layers."""

from collections.abc import Callable
from pathlib import Path

from graphs import check_table, stored
from stored_traces import file_asked

from tracegraph.store.connection import Database
from tracegraph.store.workspace import Workspace

RUN = "tiny-layers"
# Work is in the frame of what it was launched in: frames of the work itself would tell nothing more.
FRAMES = """
  (model_:Frame {frame: 0, depth: 0, name: 'nn.Module: GPT_0', category: 'python_function'}),
  (first_:Frame {frame: 1, depth: 1, name: 'nn.Module: Block_0', category: 'python_function'}),
  (:Frame {frame: 2, depth: 2, name: 'nn.Module: MLP_1', category: 'python_function'})
    -[:CALLED_FROM]->(first_),
  (first_)-[:CALLED_FROM]->(model_)<-[:CALLED_FROM]-
    (:Frame {frame: 3, depth: 1, name: 'nn.Module: Block_1', category: 'python_function'}),
  (:Frame {frame: 4, depth: 0, name: 'layer 1', category: 'user_annotation'}),
  (:Frame {frame: 5, depth: 0, name: 'layer 2', category: 'user_annotation'}),
  (left_:Frame {frame: 6, depth: 0, name: 'layers.0', category: 'user_annotation'}),
  (right_:Frame {frame: 7, depth: 0, name: 'layers.1', category: 'user_annotation'}),
  (:Frame {frame: 8, depth: 1, name: 'c10d::allreduce_', category: 'cpu_op'})-[:CALLED_FROM]->(left_),
  (:Frame {frame: 9, depth: 1, name: 'c10d::allreduce_', category: 'cpu_op'})-[:CALLED_FROM]->(right_),
  (:Frame {frame: 10, depth: 0, name: 'gloo:all_reduce', category: 'user_annotation'})
"""
FRAME_OF = {"model": 0, "inner": 2, "second": 3, "one": 4, "two": 5}
KERNEL = "(:Event:Kernel:Segment {{name: '{name}', kernel_type: '{kind}', rank: {rank}, {times}}})"


def kernel(rank: int, name: str, at: int, end: int, frame: str = "null") -> str:
    """A kernel; nothing hides those of NCCL."""
    kind = "communication" if name.startswith("nccl") else "computation"
    times = f"frame: {frame}, start_ns: {at}, end_ns: {end}" + (
        f", exposed_ns: {end - at}" if name.startswith("nccl") else ""
    )
    return KERNEL.format(name=name, kind=kind, rank=rank, times=times)


def launched(rank: int, name: str, at: int, end: int, around: str) -> str:
    """A kernel that something launches 5 ns before it begins, inside what `around` names."""
    call = f"(:Event:Runtime {{name: 'launch', rank: {rank}, start_ns: {at - 5}, end_ns: {at - 4}}})"
    return f"({around})<-[:CHILD_OF]-{call}-[:LAUNCHED]->{kernel(rank, name, at, end, str(FRAME_OF[around]))}"


MODULES = ",\n  ".join(
    [
        "(model:Event:PythonFunction {name: 'nn.Module: GPT_0', start_ns: 0, end_ns: 90})",
        "(first:Event:PythonFunction {name: 'nn.Module: Block_0', start_ns: 10, end_ns: 40})",
        "(inner:Event:PythonFunction {name: 'nn.Module: MLP_1', start_ns: 11, end_ns: 39})",
        "(second:Event:PythonFunction {name: 'nn.Module: Block_1', start_ns: 40, end_ns: 80})",
        "(inner)-[:CHILD_OF]->(first)-[:CHILD_OF]->(model)<-[:CHILD_OF]-(second)",
        launched(0, "embed", 10, 20, "model"),
        launched(0, "gemm", 20, 30, "inner"),
        launched(0, "nccl", 28, 38, "inner"),
        launched(0, "gemm", 50, 60, "second"),
        launched(0, "nccl", 60, 90, "second"),
        launched(0, "loss", 95, 99, "model"),
    ]
)
ANNOTATIONS = ",\n  ".join(
    [
        "(one:Event:Annotation {name: 'layer 1', rank: 1, start_ns: 0, end_ns: 40})",
        "(two:Event:Annotation {name: 'layer 2', rank: 1, start_ns: 40, end_ns: 80})",
        launched(1, "nccl", 30, 40, "one"),
        launched(1, "nccl", 60, 70, "two"),
    ]
)
SEQUENCE = ",\n  ".join(
    [
        "(:Phase {run: $run, rank: 2, name: 'backward', occurrence: 1, start_ns: 100, end_ns: 200,"
        " window_end_ns: 200, evidence: 'recorded', confidence: 1.0, lane: 0})",
        kernel(2, "nccl_gather", 100, 104),
        *(
            text
            for at in (110, 120, 130)
            for text in (
                kernel(2, "norm", at, at + 2),
                kernel(2, "gemm", at + 2, at + 4),
                kernel(2, "nccl", at + 4, at + 9),
            )
        ),
        kernel(2, "loss", 140, 145),
    ]
)
THREADS = """
  (:Event:CpuOp:Segment {name: 'mm', rank: 3, start_ns: 0, end_ns: 10, frame: 6})-[:CHILD_OF]->
    (left:Event:Annotation {name: 'layers.0', rank: 3, start_ns: 0, end_ns: 20}),
  (:Event:CpuOp:Segment {name: 'c10d::allreduce_', rank: 3, start_ns: 10, end_ns: 12, frame: 8})
    -[:CHILD_OF]->(left),
  (:Event:CpuOp:Segment {name: 'mm', rank: 3, start_ns: 30, end_ns: 50, frame: 7})-[:CHILD_OF]->
    (right:Event:Annotation {name: 'layers.1', rank: 3, start_ns: 30, end_ns: 70}),
  (:Event:CpuOp:Segment {name: 'c10d::allreduce_', rank: 3, start_ns: 50, end_ns: 52, frame: 9})
    -[:CHILD_OF]->(right),
  (:Event:Annotation {name: 'gloo:all_reduce', collective_kind: 'all_reduce', rank: 3,
    start_ns: 51, end_ns: 53}),
  (met:Event:Annotation {name: 'gloo:all_reduce', collective_kind: 'all_reduce', rank: 3,
    start_ns: 53, end_ns: 60}),
  (met)-[:MEMBER_OF {waited_ns: 3, exposed_wait_ns: 1, exposed_transfer_ns: 2}]->
    (:Collective {run: $run, operation: 0})
"""
# As autograd functions of tensor parallelism: an operator hands communication over, and waits for it.
INSIDE = """
  (:Event:CpuOp:Segment {name: 'mm', rank: 4, lane: 4, start_ns: 0, end_ns: 30, frame: 6})-[:CHILD_OF]->
    (outer:Event:Annotation {name: 'layers.0', rank: 4, start_ns: 0, end_ns: 70}),
  (sums:Event:CpuOp {name: 'Summed', rank: 4, lane: 4, start_ns: 30, end_ns: 70})-[:CHILD_OF]->(outer),
  (:Event:CpuOp:Segment {name: 'c10d::allreduce_', rank: 4, lane: 4, start_ns: 31, end_ns: 34, frame: 8})
    -[:CHILD_OF]->(sums),
  (:Event:CpuOp:Segment {name: 'mm', rank: 4, lane: 4, kind: 'work', start_ns: 70, end_ns: 80, frame: 7})
    -[:CHILD_OF]->
    (other:Event:Annotation {name: 'layers.1', rank: 4, start_ns: 70, end_ns: 90}),
  (:Event:CpuOp:Segment {name: 'c10d::allreduce_', rank: 4, lane: 4, start_ns: 80, end_ns: 90, frame: 9})
    -[:CHILD_OF]->(other),
  (:Event:Annotation:Segment {name: 'gloo:all_reduce', collective_kind: 'all_reduce', rank: 4, lane: 5,
    start_ns: 36, end_ns: 60})-[:CROSS_THREAD]->
    (next:Segment {rank: 4, lane: 4, kind: 'work', start_ns: 62, end_ns: 70, frame: 6})-[:PART_OF]->(sums),
  (next)<-[:SEQUENTIAL]-(:Segment {rank: 4, lane: 4, kind: 'wait', start_ns: 36, end_ns: 62, frame: 6})
    -[:PART_OF]->
    (sums),
  (:Event:Annotation {name: 'gloo:all_reduce', collective_kind: 'all_reduce', rank: 4, lane: 5,
    start_ns: 85, end_ns: 95})
"""
GRAPH = f"""
CREATE
  (run:Run {{name: $run, state: 'ready', ranks: 5, window_start_ns: 0, window_end_ns: 200}}),
  {", ".join(f"(:Trace {{run: $run, rank: {rank}}})-[:OF_RUN]->(run)" for rank in range(5))},
  (:Lane {{run: $run, lane: 0, rank: 0, kind: 'stream', name: 's', matters: true}}),
  {FRAMES},
  {MODULES},
  {ANNOTATIONS},
  {SEQUENCE},
  {THREADS},
  {INSIDE}
"""
TABLE = """
    rank layer number phase computing_ns communication_ns waited_ns exposed_ns calls told_by
    0 before_the_layers - - 10 0 0 0 0 module
    0 nn.Module:_Block_0 0 - 10 10 - 10 1 module
    0 nn.Module:_Block_1 1 - 10 30 - 30 1 module
    0 after_the_layers - - 4 0 0 0 0 module
    1 layer_1 0 - 0 10 - 10 1 annotation
    1 layer_2 1 - 0 10 - 10 1 annotation
    2 before_the_layers - backward 0 4 - 4 1 kernel_pattern
    2 layer_2 2 backward 4 5 - 5 1 kernel_pattern
    2 layer_1 1 backward 4 5 - 5 1 kernel_pattern
    2 layer_0 0 backward 4 5 - 5 1 kernel_pattern
    2 after_the_layers - backward 5 0 0 0 0 kernel_pattern
    3 layers.0 0 - 10 2 - - 1 annotation
    3 layers.1 1 - 20 7 3 3 1 annotation
    4 layers.0 0 - 41 24 - - 1 annotation
    4 layers.1 1 - 10 10 - - 1 annotation"""


def test_layers_are_told_by_modules_by_annotations_or_by_what_repeats(database: Database) -> None:
    with stored(database, RUN, GRAPH):
        check_table(database, RUN, "layer_communication start_ns=0 end_ns=200", TABLE)
        # A window in which an operator hands communication over that begins after it.
        check_table(database, RUN, "layer_communication start_ns=80 end_ns=84", TABLE.split("\n")[1])


def test_megatron_reduces_twice_in_each_of_40_layers_and_once_before_them(
    database: Database, workspace: Workspace, shared_trace: Callable[[str], Path]
) -> None:
    with file_asked(database, workspace, shared_trace("a1_megatron_tp8_a100_8rank/rank0.json.gz")) as asked:
        rows = asked("layer_communication")
    layers, outside = rows[rows["number"].notna()], rows[rows["number"].isna()].set_index("layer")
    assert layers["number"].tolist() == list(range(40))
    assert set(layers["calls"]) == {2}
    assert outside["calls"].to_dict() == {"before the layers": 1, "after the layers": 3}
    halves = layers["communication_ns"].sum() + outside.loc["before the layers", "communication_ns"]
    assert halves == 227_411_000  # the all-reduces of float16; those of the loss are of float32
    assert rows["computing_ns"].sum() == 131_390_000
    assert rows["waited_ns"].dropna().empty  # one rank of eight
