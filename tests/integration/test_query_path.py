"""The critical path where it is easily got wrong: clipping, holes, pieces, no length, sinks, long walks."""

from collections.abc import Iterator

import pandas as pd
import pytest
from graphs import GPU_STEP, as_table, stored

from tracegraph.base.errors import InputError, StoreError
from tracegraph.queries.catalog import ask, asking
from tracegraph.queries.run_part import RunPart
from tracegraph.queries.runs import RunWindow, find_window
from tracegraph.store.connection import Database

RUN = "tiny-path"
CLIPPED = {
    (45, 100, 1): [
        "name start_ns end_ns dependency",
        "launch 45 50 root",
        "launch_latency 50 60 INVOCATION",
        "gemm 60 100 INVOCATION",
    ],
    (55, 108, 2): [
        "name start_ns end_ns dependency",
        "launch_latency 55 60 root",
        "gemm 60 100 INVOCATION",
        "waiting_for_GPU 100 105 SYNCHRONIZATION",
        "sync 105 108 SYNCHRONIZATION",
    ],
    (0, 105, 0): [
        "name start_ns end_ns dependency",
        "A 0 40 root",
        "launch 40 50 SEQUENTIAL",
        "sync 50 55 SEQUENTIAL",
        "waiting_for_GPU 55 105 SEQUENTIAL",
    ],
    (0, 130, 99): ["name start_ns end_ns dependency"],
}
NO_LENGTH = """
CREATE (:Lane {run: $run, lane: 0, name: 'main'}), (:Lane {run: $run, lane: 1, name: 'stream'}),
  (:Chain {chain: 0, start_ns: 0, end_ns: 10})
    -[:LEADS_TO {at_ns: 10}]->(:Chain {chain: 1, start_ns: 30, end_ns: 30})
    -[:LEADS_TO {at_ns: 30}]->(:Chain {chain: 2, start_ns: 35, end_ns: 50}),
  (:Segment {name: 'A', category: 'cpu_op', source_index: 0, chain: 0, start_ns: 0, end_ns: 10})
    -[:INVOCATION {binding: true, gap_ns: 20, gap_name: 'launch latency'}]->
  (:Segment {name: 'empty', category: 'kernel', source_index: 1, chain: 1, lane: 1, start_ns: 30, end_ns: 30})
    -[:SYNCHRONIZATION {binding: true, gap_ns: 5, gap_name: 'waiting for GPU'}]->
  (:Segment {name: 'B', category: 'cpu_op', source_index: 2, chain: 2, start_ns: 35, end_ns: 50})
"""
PIECES = """
CREATE (:Run {name: $run}), (:Lane {run: $run, lane: 0, name: 'main'}),
  (:Chain {chain: 0, start_ns: 0, end_ns: 60}),
  (:Frame {frame: 0, name: 'outer', category: 'op'}), (:Frame {frame: 1, name: 'inner', category: 'op'}),
  (:Segment {name: 'outer', category: 'op', source_index: 0, frame: 0, chain: 0, start_ns: 0, end_ns: 10})
    -[:SEQUENTIAL $order]->
  (:Segment {name: 'outer', category: 'op', source_index: 0, frame: 0, chain: 0, start_ns: 10, end_ns: 20})
    -[:SEQUENTIAL $order]->
  (:Segment {name: 'inner', category: 'op', source_index: 1, frame: 1, chain: 0, start_ns: 20, end_ns: 30})
    -[:SEQUENTIAL $order]->
  (:Segment {name: 'outer', category: 'op', source_index: 0, frame: 0, chain: 0, start_ns: 30, end_ns: 40})
    -[:SEQUENTIAL $order]->
  (:Segment {name: 'outer', category: 'op', source_index: 9, frame: 0, chain: 0, start_ns: 40, end_ns: 45})
    -[:SEQUENTIAL $order]->
  (:Segment {kind: 'gap', name: 'untraced CPU time', category: 'gap', chain: 0, start_ns: 45, end_ns: 60})
"""
SINKS = """
CREATE (:Step {run: $run, number: 1, rank: 0, start_ns: 0, end_ns: 100, window_end_ns: 100}),
  (:Lane {run: $run, lane: 0, matters: false}), (:Lane {run: $run, lane: 1, matters: true}),
  (:Lane {run: $run, lane: 2, matters: true}), (:Lane {run: $run, lane: 3, matters: true}),
  (:Lane {run: $run, lane: 4, matters: true}),
  (:Chain {chain: 0, lane: 0, start_ns: 0, end_ns: 100}), (:Segment {chain: 0, start_ns: 0, end_ns: 100}),
  (:Chain {chain: 1, lane: 1, start_ns: 0, end_ns: 100}),
  (:Segment {chain: 1, lane: 1, kind: 'gap', start_ns: 0, end_ns: 100}),
  (:Chain {chain: 2, lane: 2, start_ns: 0, end_ns: 100}),
  (:Segment {chain: 2, lane: 2, start_ns: 100, end_ns: 100}),
  (:Chain {chain: 3, lane: 3, start_ns: 50, end_ns: 120}),
  (:Segment {chain: 3, lane: 3, start_ns: 50, end_ns: 100}),
  (:Segment {chain: 3, lane: 3, start_ns: 100, end_ns: 120}),
  (:Chain {chain: 4, lane: 4, start_ns: 0, end_ns: 100}),
  (:Segment {chain: 4, lane: 4, start_ns: 0, end_ns: 100})
"""


@pytest.fixture
def gpu_step(database: Database) -> Iterator[None]:
    with stored(database, RUN, GPU_STEP):
        yield


@pytest.mark.usefixtures("gpu_step")
@pytest.mark.parametrize("window", CLIPPED)
def test_window_clips_path(window: tuple[int, int, int], database: Database) -> None:
    rows = _ask(database, "critical_path", *window)
    assert as_table(rows[["name", "start_ns", "end_ns", "dependency"]]) == CLIPPED[window]


@pytest.mark.usefixtures("gpu_step")
@pytest.mark.parametrize("window", [(0, 130, 2), *CLIPPED])
def test_sums_agree_with_rows(window: tuple[int, int, int], database: Database) -> None:
    rows = _ask(database, "critical_path", *window)
    rows = rows.assign(ns=rows["end_ns"] - rows["start_ns"])
    events, gaps = rows[rows["source_index"].notna()], rows[rows["source_index"].isna()]
    assert _sums(_ask(database, "hotspots", *window), "name") == _sums(events, "name", "ns")
    assert _sums(_ask(database, "path_gaps", *window), "name") == _sums(gaps, "name", "ns")
    if len(rows):
        composition = _ask(database, "path_composition", *window)
        assert _sums(composition, "category") == _sums(rows, "category", "ns")
        assert rows["ns"].sum() == window[1] - window[0]


def _ask(database: Database, name: str, start_ns: int, end_ns: int, chain: int) -> pd.DataFrame:
    return ask(database, name, run=RUN, start_ns=start_ns, end_ns=end_ns, chain=chain)


def _sums(frame: pd.DataFrame, key: str, value: str = "duration_ns") -> dict[str, int]:
    return {str(name): int(total) for name, total in frame.groupby(key)[value].sum().items()}


def test_lag_before_event_of_no_length(database: Database) -> None:
    with stored(database, RUN, NO_LENGTH):
        rows = _ask(database, "critical_path", 0, 50, 2)
        gaps = _ask(database, "path_gaps", 0, 50, 2)
    assert as_table(rows[["name", "start_ns", "end_ns"]])[1:] == [
        "A 0 10",
        "launch_latency 10 30",
        "waiting_for_GPU 30 35",
        "B 35 50",
    ]
    assert _sums(gaps, "name") == {"launch latency": 20, "waiting for GPU": 5}


def test_neighbouring_pieces_are_one_row(database: Database) -> None:
    with stored(database, RUN, PIECES):
        rows = _ask(database, "critical_path", 0, 60, 0)
        spots = _ask(database, "hotspots", 0, 60, 0)
    assert as_table(rows[["position", "source_index", "name", "start_ns", "end_ns", "dependency"]])[1:] == [
        "0 0 outer 0 20 root",
        "1 1 inner 20 30 SEQUENTIAL",
        "2 0 outer 30 40 SEQUENTIAL",
        "3 9 outer 40 45 SEQUENTIAL",
        "4 - untraced_CPU_time 45 60 SEQUENTIAL",
    ]
    assert as_table(spots[["name", "duration_ns", "count"]])[1:] == ["outer 35 2", "inner 10 1"]


def test_sink_is_work_that_ends_the_window_on_a_lane_that_matters(database: Database) -> None:
    with stored(database, RUN, SINKS):
        assert find_window(asking(database), RUN, RunPart(1)) == RunWindow(0, 100, 3)


@pytest.mark.usefixtures("gpu_step")
def test_unknown_windows(database: Database) -> None:
    with pytest.raises(InputError, match=r"no step 7; present: 1, 2"):
        find_window(asking(database), RUN, RunPart(7))
    with pytest.raises(StoreError, match="no work that ends its window"):
        find_window(asking(database), "no such run")


def test_long_walk(database: Database) -> None:
    graph = """
        CREATE (:Run {name: $run})
        WITH range(0, 4999) AS numbers UNWIND numbers AS i
        CREATE (:Chain {run: $run, chain: i, lane: i % 2, rank: 0, start_ns: i * 10, end_ns: i * 10 + 10}),
          (:Segment {run: $run, chain: i, lane: i % 2, rank: 0, kind: 'work', name: 'A' + (i % 3),
            category: 'cpu_op', source_index: i, frame: i % 3, start_ns: i * 10, end_ns: i * 10 + 10})
        WITH collect(i) AS all
        FOREACH (j IN range(0, 2) | CREATE (:Frame {run: $run, frame: j, name: 'A' + j, category: 'cpu_op'}))
        WITH all UNWIND all AS i
        MATCH (cause:Chain {run: $run, chain: i}), (effect:Chain {run: $run, chain: i + 1})
        CREATE (cause)-[:LEADS_TO {at_ns: cause.end_ns}]->(effect)"""
    with stored(database, RUN, graph):
        assert len(_ask(database, "path_hops", 0, 50_000, 4_999)) == 5_000
        spots = _ask(database, "hotspots", 0, 50_000, 4_999)
    assert spots[["name", "count"]].to_numpy().tolist() == [["A0", 1667], ["A1", 1667], ["A2", 1666]]
