"""Every step's path, found for all steps at once: it is the path of the step's own window."""

from collections.abc import Callable

import pandas as pd
import pytest
from graphs import GPU_STEP, stored

from tracegraph.base.errors import InputError
from tracegraph.queries.catalog import ask, asking
from tracegraph.queries.run_part import RunPart
from tracegraph.queries.runs import find_window
from tracegraph.store.connection import Database

RUN = "tiny-steps"
KEYS = ["name", "category"]
OVERLAPPING = """
CREATE (:Run {name: $run, state: 'ready', window_start_ns: 0, window_end_ns: 300}),
  (:Trace {run: $run, rank: 0}),
  (:Step {run: $run, rank: 0, number: 1, start_ns: 0, end_ns: 100, window_end_ns: 250}),
  (:Step {run: $run, rank: 0, number: 2, start_ns: 100, end_ns: 200, window_end_ns: 210}),
  (:Step {run: $run, rank: 0, number: 3, start_ns: 200, end_ns: 300, window_end_ns: 300}),
  (:Lane {run: $run, lane: 0, kind: 'thread', name: 'main', matters: true}),
  (:Lane {run: $run, lane: 1, kind: 'stream', name: 'stream', matters: true}),
  (c0:Chain {chain: 0, start_ns: 0, end_ns: 300}), (c1:Chain {chain: 1, lane: 1, start_ns: 95, end_ns: 250}),
  (c0)-[:LEADS_TO {at_ns: 90}]->(c1),
  (a:Segment {name: 'A', category: 'cpu_op', source_index: 0, chain: 0, start_ns: 0, end_ns: 90})
    -[:SEQUENTIAL $order]->
  (b:Segment {name: 'B', category: 'cpu_op', source_index: 1, chain: 0, start_ns: 90, end_ns: 150})
    -[:SEQUENTIAL $order]->
  (:Segment {kind: 'gap', name: 'untraced CPU time', category: 'gap', chain: 0, start_ns: 150, end_ns: 210})
    -[:SEQUENTIAL $order]->
  (:Segment {name: 'C', category: 'cpu_op', source_index: 2, chain: 0, start_ns: 210, end_ns: 240})
    -[:SEQUENTIAL $order]->
  (:Segment {name: 'ProfilerStep#3', category: 'user_annotation', source_index: 4, chain: 0,
    start_ns: 240, end_ns: 300}),
  (a)-[:INVOCATION {binding: true, gap_ns: 5, evidence: 'inferred', mechanism: 'launch',
    gap_name: 'launch latency'}]->
  (:Segment {name: 'long', category: 'kernel', source_index: 3, chain: 1, lane: 1, start_ns: 95, end_ns: 250})
"""
"""GPU work of step 1 ends after step 2; that of step 2, begun inside an event, after step 3 began."""


def test_windows_overlap_and_cut_segments(database: Database) -> None:
    with stored(database, RUN, OVERLAPPING):
        found = ask(database, "step_hotspots", run=RUN)
        _check_against_windows(database, RUN, found)
        rows = ask(database, "step_paths", run=RUN)
    spent = {(row.number, row.name): (row.duration_ns, row.inferred_ns) for row in found.itertuples()}
    assert spent == {
        (1, "long"): (155, 155),
        (1, "A"): (90, 0),
        (1, "launch latency"): (5, 5),
        (2, "untraced CPU time"): (60, 0),
        (2, "B"): (50, 0),
        (3, "ProfilerStep#3"): (60, 0),
        (3, "C"): (30, 0),
        (3, "untraced CPU time"): (10, 0),
    }
    shares = rows.set_index("number")
    assert shares["gpu_share"].tolist() == [155 / 250, 0, 0]
    assert shares["inferred_share"].tolist() == [160 / 250, 0, 0]
    assert shares["untraced_share"].tolist() == [0, 0, 0.6]
    assert shares["untraced_cpu_share"].tolist() == [0, 60 / 110, 0.1]
    assert shares["unclear_share"].tolist() == [0, 60 / 110, 0.7]
    assert shares["hotspot"].tolist() == ["long", "B", "ProfilerStep#3"]


def test_step_begins_inside_a_lag(database: Database) -> None:
    steps_too = """,
      (:Step {run: $run, rank: 0, number: 3, start_ns: 55, end_ns: 108, window_end_ns: 110}),
      (:Step {run: $run, rank: 0, number: 4, start_ns: 60, end_ns: 100, window_end_ns: 105})"""
    with stored(database, RUN, GPU_STEP + steps_too):
        assert _check_against_windows(database, RUN, ask(database, "step_hotspots", run=RUN)) == 4


TWO_RANKS = """
CREATE (:Run {name: $run, state: 'ready', window_start_ns: 0, window_end_ns: 100}),
  (:Trace {run: $run, rank: 0}), (:Trace {run: $run, rank: 1}),
  (:Step {run: $run, rank: 0, number: 1, start_ns: 0, end_ns: 60, window_end_ns: 60}),
  (:Step {run: $run, rank: 1, number: 1, start_ns: 10, end_ns: 100, window_end_ns: 100}),
  (l0:Lane {run: $run, rank: 0, lane: 0, name: 'one', matters: true}),
  (l1:Lane {run: $run, rank: 1, lane: 1, name: 'other', matters: true}),
  (c0:Chain {rank: 0, chain: 0, lane: 0, start_ns: 0, end_ns: 100}),
  (c1:Chain {rank: 1, chain: 1, lane: 1, start_ns: 0, end_ns: 100}),
  (:Segment {name: 'A', category: 'cpu_op', source_index: 0, chain: 0, lane: 0, start_ns: 0, end_ns: 60}),
  (:Segment {name: 'B', category: 'cpu_op', source_index: 1, chain: 0, lane: 0, start_ns: 60, end_ns: 100}),
  (:Segment {name: 'C', category: 'cpu_op', source_index: 0, chain: 1, lane: 1, start_ns: 0, end_ns: 60}),
  (:Segment {name: 'D', category: 'cpu_op', source_index: 1, chain: 1, lane: 1, start_ns: 60, end_ns: 100})
"""


def test_equal_numbers_of_two_ranks_are_two_steps(database: Database) -> None:
    with stored(database, RUN, TWO_RANKS):
        of_rank = [vars(find_window(asking(database), RUN, RunPart(1, rank=rank))) for rank in (None, 0, 1)]
        paths = ask(database, "step_paths", run=RUN)
        spent = ask(database, "step_hotspots", run=RUN)
        with pytest.raises(InputError, match="no step 2 of rank 1; present: 1"):
            find_window(asking(database), RUN, RunPart(2, rank=1))
    first, second = {"start_ns": 0, "end_ns": 60, "chain": 0}, {"start_ns": 10, "end_ns": 100, "chain": 1}
    assert of_rank == [second, first, second]
    assert paths[["rank", "number", "length_ns"]].to_numpy().tolist() == [[0, 1, 60], [1, 1, 90]]
    assert spent[["rank", "number", "name", "duration_ns"]].to_numpy().tolist() == [
        [0, 1, "A", 60],
        [1, 1, "C", 50],
        [1, 1, "D", 40],
    ]


def test_each_step_is_the_path_of_its_window(
    stored_example: Callable[[str], str], database: Database
) -> None:
    run = stored_example("simulated_gpu")
    assert _check_against_windows(database, run, ask(database, "step_hotspots", run=run)) > 1


def _check_against_windows(database: Database, run: str, found: pd.DataFrame) -> int:
    """Compare with the path of every step's own window; returns the number of steps."""
    numbers = ask(database, "steps", run=run)["number"].tolist()
    for number in numbers:
        window = find_window(asking(database), run, RunPart(number))
        rows = ask(database, "critical_path", run=run, **vars(window))
        rows = rows.assign(duration_ns=rows["end_ns"] - rows["start_ns"])
        expected = rows.groupby(KEYS)["duration_ns"].sum()
        actual = found[found["number"] == number].groupby(KEYS)["duration_ns"].sum()
        assert actual.to_dict() == expected.to_dict(), number
        inferred = rows.loc[rows["evidence"].eq("inferred"), "duration_ns"].sum()
        assert found.loc[found["number"] == number, "inferred_ns"].sum() <= inferred
    return len(numbers)
