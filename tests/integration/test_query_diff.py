"""Two windows compared: the tables on tiny graphs, and what holds for any two windows."""

from collections.abc import Callable, Iterator
from dataclasses import replace

import pandas as pd
import pytest
import random_traces
import tiny
from graphs import GPU_STEP, check_table, stored
from hypothesis import assume, given, settings
from stored_traces import stored as stored_trace

from tracegraph.base.errors import InputError
from tracegraph.queries.answers import Answers
from tracegraph.queries.catalog import ask, asking, find, queries
from tracegraph.queries.runs import fill
from tracegraph.store.connection import Database
from tracegraph.store.connection_settings import ConnectionSettings
from tracegraph.store.kept_answers import KeptAnswers
from tracegraph.store.workspace import Workspace

A, B = "tiny-a", "tiny-b"
COMPARING = [name for name, query in queries().items() if query.again]
BEFORE = """
CREATE
  (:Run {name: $run, state: 'ready', created: 'then', window_start_ns: 0, window_end_ns: 100}),
  (:Trace {run: $run, rank: 0}), (:Trace {run: $run, rank: 1}),
  (:Lane {run: $run, lane: 0, rank: 0, name: 'main', matters: true}),
  (:Lane {run: $run, lane: 1, rank: 1, name: 'other', matters: true}),
  (:Step {run: $run, rank: 0, number: 1, start_ns: 0, end_ns: 60, window_end_ns: 60,
    name: 'ProfilerStep#1', marker: 'ProfilerStep#'}),
  (:Step {run: $run, rank: 0, number: 2, start_ns: 60, end_ns: 100, window_end_ns: 100,
    name: 'ProfilerStep#2', marker: 'ProfilerStep#'}),
  (:Event:Annotation:Segment {name: 'ProfilerStep#1', category: 'user_annotation', source_index: 0, step: 1,
    start_ns: 0, end_ns: 10, chain: 0, frame: 1}),
  (:Event:CpuOp:Segment {name: 'mm', category: 'cpu_op', source_index: 1, step: 1, start_ns: 10, end_ns: 40,
    chain: 0, frame: 2}),
  (:Event:PythonFunction:Segment {name: 'net.py(7): forward', category: 'python_function', source_index: 2,
    step: 1, start_ns: 40, end_ns: 60, chain: 0, frame: 3}),
  (:Event:Annotation:Segment {name: 'ProfilerStep#2', category: 'user_annotation', source_index: 3, step: 2,
    start_ns: 60, end_ns: 65, chain: 0, frame: 1}),
  (:Event:CpuOp:Segment {name: 'mm', category: 'cpu_op', source_index: 4, step: 2, start_ns: 65, end_ns: 85,
    chain: 0, frame: 2}),
  (:Event:CpuOp:Segment {name: 'mm', category: 'cpu_op', source_index: 5, step: 2, start_ns: 85, end_ns: 95,
    chain: 0, frame: 2}),
  (:Event:CpuOp:Segment {name: 'add', category: 'cpu_op', source_index: 6, step: 2, start_ns: 95, end_ns: 100,
    chain: 0, frame: 4}),
  (:Event:Kernel {name: 'gemm<4>(float*)', category: 'kernel', source_index: 7, step: 2, start_ns: 70,
    end_ns: 77}),
  (:Event:CpuOp {rank: 1, lane: 1, name: 'mm', category: 'cpu_op', source_index: 0, start_ns: 0, end_ns: 9}),
  (:Chain {chain: 0, start_ns: 0, end_ns: 100}),
  (root:Frame {frame: 0, depth: 0, name: 'main', category: 'thread'}),
  (:Frame {frame: 1, parent: 0, depth: 1, name: 'ProfilerStep#', category: 'user_annotation'})
    -[:CALLED_FROM]->(root),
  (:Frame {frame: 2, parent: 0, depth: 1, name: 'mm', category: 'cpu_op'})-[:CALLED_FROM]->(root),
  (:Frame {frame: 3, parent: 0, depth: 1, name: 'net.py(7): forward', category: 'python_function'})
    -[:CALLED_FROM]->(root),
  (:Frame {frame: 4, parent: 0, depth: 1, name: 'add', category: 'cpu_op'})-[:CALLED_FROM]->(root)
"""
"""Two steps of rank 0, an event of rank 1."""
AFTER = """
CREATE
  (:Run {name: $run, state: 'ready', created: 'now', window_start_ns: 0, window_end_ns: 50}),
  (:Trace {run: $run, rank: 0}),
  (:Lane {run: $run, lane: 0, rank: 0, name: 'main', matters: true}),
  (:Step {run: $run, rank: 0, number: 7, start_ns: 0, end_ns: 50, window_end_ns: 50,
    name: 'ProfilerStep#7', marker: 'ProfilerStep#'}),
  (:Event:Annotation:Segment {name: 'ProfilerStep#7', category: 'user_annotation', source_index: 0, step: 7,
    start_ns: 0, end_ns: 10, chain: 0, frame: 1}),
  (:Event:PythonFunction:Segment {name: 'net.py(9): forward', category: 'python_function', source_index: 1,
    step: 7, start_ns: 10, end_ns: 50, chain: 0, frame: 2}),
  (:Event:Kernel {name: 'gemm<8>(float*)', category: 'kernel', source_index: 2, step: 7, start_ns: 20,
    end_ns: 31}),
  (:Chain {chain: 0, start_ns: 0, end_ns: 50}),
  (root:Frame {frame: 0, depth: 0, name: 'main', category: 'thread'}),
  (:Frame {frame: 1, parent: 0, depth: 1, name: 'ProfilerStep#', category: 'user_annotation'})
    -[:CALLED_FROM]->(root),
  (:Frame {frame: 2, parent: 0, depth: 1, name: 'net.py(9): forward', category: 'python_function'})
    -[:CALLED_FROM]->(root)
"""
CASES = {
    "event_sums": """
        name device category count duration_ns
        mm CPU cpu_op 4 69
        net.py(7):_forward CPU python_function 1 20
        ProfilerStep#1 CPU user_annotation 1 10
        gemm<4>(float*) GPU kernel 1 7
        ProfilerStep#2 CPU user_annotation 1 5
        add CPU cpu_op 1 5""",
    "event_sums rank=1": """
        name device category count duration_ns
        mm CPU cpu_op 1 9""",
    "event_sums step=2 limit=2": """
        name device category count duration_ns
        mm CPU cpu_op 2 30
        gemm<4>(float*) GPU kernel 1 7""",
    "trace_diff step=1 step_b=2": """
        name device count_a count_b duration_a_ns duration_b_ns category change diff_count diff_ns mean_b_ns
        net.py(7):_forward CPU 1 0 20 0 python_function deleted -1 -20 -
        ProfilerStep#1 CPU 1 0 10 0 user_annotation deleted -1 -10 -
        gemm<4>(float*) GPU 0 1 0 7 kernel added 1 7 7.0
        ProfilerStep#2 CPU 0 1 0 5 user_annotation added 1 5 5.0
        add CPU 0 1 0 5 cpu_op added 1 5 5.0
        mm CPU 1 2 30 30 cpu_op more 1 0 15.0""",
    "trace_diff rank=0 rank_b=1 limit=1": """
        name device count_a count_b duration_a_ns duration_b_ns change
        mm CPU 3 1 60 9 less""",
    "trace_diff_matched step=2 run_b=tiny-b step_b=7": """
        name device count_a count_b duration_a_ns duration_b_ns change matched
        net.py(9):_forward CPU 0 1 0 40 added False
        mm CPU 2 0 30 0 deleted False
        ProfilerStep# CPU 1 1 5 10 slower False
        add CPU 1 0 5 0 deleted False
        gemm GPU 1 1 7 11 slower True""",
    "trace_diff_short step=2 run_b=tiny-b step_b=7": """
        name device count_a count_b duration_a_ns duration_b_ns change matched
        net.py:_forward CPU 0 1 0 40 added False
        mm CPU 2 0 30 0 deleted False
        ProfilerStep# CPU 1 1 5 10 slower False
        add CPU 1 0 5 0 deleted False
        gemm GPU 1 1 7 11 slower True""",
    "path_diff step=1 step_b=2": """
        name category duration_a_ns duration_b_ns diff_ns status count_a count_b diff_count matched
        net.py(7):_forward python_function 20 0 -20 left 1 0 -1 False
        ProfilerStep# user_annotation 10 5 -5 shrank 1 1 0 False
        add cpu_op 0 5 5 entered 0 1 1 False
        mm cpu_op 30 30 0 same 1 2 1 False""",
    "path_diff run_b=tiny-b": """
        name category duration_a_ns duration_b_ns diff_ns status accumulated_a_ns accumulated_b_ns matched
        mm cpu_op 60 0 -60 left 60 - False
        net.py:_forward python_function 20 40 20 grew 20 40 True
        ProfilerStep# user_annotation 15 10 -5 shrank 15 10 False
        add cpu_op 5 0 -5 left 5 - False""",
    "path_diff run_b=tiny-gpu step_b=2 step=2": """
        name category duration_a_ns duration_b_ns diff_ns status accumulated_a_ns accumulated_b_ns
        gemm kernel 0 40 40 entered - 40
        mm cpu_op 30 0 -30 left 30 -
        launch_latency gap 0 10 10 entered - -
        ProfilerStep# user_annotation 5 0 -5 left 5 -
        add cpu_op 5 0 -5 left 5 -
        launch cuda_runtime 0 5 5 entered - 5""",
    "path_inside_diff run_b=tiny-b limit=2": """
        name category duration_a_ns duration_b_ns diff_ns status matched
        mm cpu_op 60 0 -60 left False
        net.py:_forward python_function 20 40 20 grew True""",
}


@pytest.fixture(scope="module", autouse=True)
def graphs(database: Database) -> Iterator[None]:
    with stored(database, A, BEFORE), stored(database, B, AFTER), stored(database, "tiny-gpu", GPU_STEP):
        yield


@pytest.mark.parametrize("case", CASES)
def test_table(case: str, database: Database) -> None:
    check_table(database, A, case, CASES[case])


def test_every_query_that_compares_has_a_case() -> None:
    assert {case.split()[0] for case in CASES} == {"event_sums", *COMPARING}


def test_what_is_not_given_of_b_is_as_of_a(database: Database) -> None:
    filled = fill(asking(database), find("path_diff"), {"run": A, "step": 2})
    assert filled == {
        **{"run": A, "start_ns": 60, "end_ns": 100, "chain": 0},
        **{"run_b": A, "start_ns_b": 60, "end_ns_b": 100, "chain_b": 0},
    }
    own = {"run_b": B, "start_ns_b": 5, "end_ns_b": 50, "chain_b": 0}
    assert fill(asking(database), find("path_diff"), {"run": A, "step": 2, **own}) == filled | own
    assert fill(asking(database), find("trace_diff"), {"run": A, "rank": 0, "run_b": B, "step_b": 7}) == {
        **{"run": A, "rank": 0, "run_b": B, "rank_b": 0, "step_b": 7}
    }


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"run_b": "tiny-c"}, "there is no run named 'tiny-c'; did you mean tiny-"),
        ({"step": 2, "run_b": B}, "run 'tiny-b' has no step 2; present: 7"),
        ({"step_b": 7}, "run 'tiny-a' has no step 7; present: 1, 2"),
        ({"rank_b": 1}, "the rank is that of a step or phase"),
        ({"step_b": 2, "start_ns_b": 3}, "a step or phase gives start_ns, end_ns, chain"),
        ({"start_ns_c": 3}, "path_diff has no parameter start_ns_c"),
    ],
)
def test_what_b_cannot_be(given: dict[str, object], said: str, database: Database) -> None:
    query = find("path_diff")
    with pytest.raises(InputError, match=said):
        query.run(database, fill(asking(database), query, {"run": A, **given}))


def test_a_kept_answer_is_about_both_runs(database: Database, workspace: Workspace) -> None:
    """One of the two stored anew is asked about again."""
    values = fill(asking(database), find("trace_diff"), {"run": A, "run_b": B})
    answers = Answers(database, KeptAnswers(workspace, ConnectionSettings(), database))
    first = answers._question("trace_diff", values, may_keep=True).key
    database.write("MATCH (r:Run {name: $run}) SET r.created = 'later'", {"run": B})
    answers = Answers(database, KeptAnswers(workspace, ConnectionSettings(), database))
    assert first is not None
    assert answers._question("trace_diff", values, may_keep=True).key not in (None, first)


def check_laws(database: Database, run: str, other: str) -> None:
    """A window is like itself; A against B is B against A the other way; the differences tile."""
    for name in COMPARING:
        query = find(name)
        one, back, own = (
            query.run(database, fill(asking(database), query, {"run": a, "run_b": b}))
            for a, b in ((run, other), (other, run), (run, run))
        )
        assert own["diff_ns"].eq(0).all()
        assert own[own.columns.intersection(["status", "change"])[0]].eq("same").all()
        assert not own["matched"].any() or name == "trace_diff_short"
        pd.testing.assert_frame_equal(turned(one), back[one.columns])
    windows = [ask(database, "run_window", run=name).iloc[0] for name in (run, other)]
    lengths = [int(window["end_ns"] - window["start_ns"]) for window in windows]
    query = find("path_diff")
    found = query.run(database, fill(asking(database), query, {"run": run, "run_b": other}))
    assert found["diff_ns"].sum() == lengths[1] - lengths[0]
    assert [found[f"duration_{side}_ns"].sum() for side in "ab"] == lengths


def turned(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows of A against B as those of B against A."""
    opposite = {"entered": "left", "grew": "shrank", "added": "deleted", "more": "less", "slower": "faster"}
    opposite |= {later: earlier for earlier, later in opposite.items()} | {"same": "same"}
    sides = {name: name.replace("_a_", "_?_").replace("_b_", "_a_").replace("_?_", "_b_") for name in rows}
    sides |= {"count_a": "count_b", "count_b": "count_a"} if "count_a" in rows else {}
    found = rows.rename(columns=sides)[list(rows.columns)]
    for name in found.columns.intersection(["diff_ns", "diff_count"]):
        found[name] = -found[name]
    for name in found.columns.intersection(["status", "change"]):
        found[name] = found[name].map(opposite).astype(object)
    return found


@pytest.mark.exhaustive
@settings(max_examples=settings.default.max_examples // 5)
@given(rows=random_traces.rows(), others=random_traces.rows())
def test_laws_on_random_traces(
    rows: list[tiny.Row], others: list[tiny.Row], database: Database, workspace: Workspace
) -> None:
    for one in (rows, others):
        assume(any(row["start_ns"] != row["end_ns"] for row in one))
    with (
        stored_trace(database, workspace, tiny.trace(*rows)) as (run, _),
        stored_trace(database, workspace, replace(tiny.trace(*others), path="other.json")) as (other, _),
    ):
        check_laws(database, run, other)


def test_laws_on_examples(stored_example: Callable[[str], str], database: Database) -> None:
    check_laws(database, stored_example("simulated_gpu"), stored_example("two_threads"))
