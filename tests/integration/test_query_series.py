"""Queue lengths and bandwidths over time: a table of one tiny graph, and a plain count on real traces."""

from collections.abc import Iterator
from itertools import accumulate
from typing import Any

import hta
import pandas as pd
import pytest
from graphs import check_table, stored

from tracegraph.queries.catalog import find
from tracegraph.store.connection import Database

RUN = "tiny-series"
GRAPH = """
CREATE
  (run:Run {name: $run, state: 'ready', ranks: 2, window_start_ns: 0, window_end_ns: 100}),
  (:Trace {run: $run, rank: 0})-[:OF_RUN]->(run), (:Trace {run: $run, rank: 1})-[:OF_RUN]->(run),
  (:Lane {run: $run, lane: 0, rank: 0, matters: true}),
  (:Lane {run: $run, lane: 1, rank: 0, kind: 'stream', device: 0, stream: 7, matters: true}),
  (:Lane {run: $run, lane: 2, rank: 1, kind: 'stream', device: 1, stream: 7, matters: true}),
  (:Chain {chain: 0, start_ns: 0, end_ns: 100}),
  (:Segment {chain: 0, name: 'all', category: 'cpu_op', start_ns: 0, end_ns: 100}),

  (l1:Event {name: 'launch', start_ns: 10, end_ns: 12}),
  (l2:Event {name: 'launch', start_ns: 20, end_ns: 22}),
  (l3:Event {name: 'copy', start_ns: 30, end_ns: 32}),
  (l4:Event {rank: 1, name: 'set', start_ns: 1, end_ns: 2}),
  (k1:Event:Kernel {name: 'k', lane: 1, start_ns: 20, end_ns: 40, kernel_type: 'computation',
    queue_at_launch: 1, queue_at_start: 1}),
  (k2:Event:Kernel {name: 'k', lane: 1, start_ns: 40, end_ns: 50, kernel_type: 'computation',
    queue_at_launch: 2, queue_at_start: 1}),
  (c:Event:Memcpy {name: 'c', lane: 1, start_ns: 50, end_ns: 60, kernel_type: 'memory',
    copy_kind: 'Memcpy HtoD', bandwidth_at_start: 5, bandwidth_at_end: 9,
    queue_at_launch: 2, queue_at_start: 0}),
  (:Event:Memcpy {name: 'c', lane: 1, start_ns: 55, end_ns: 70, kernel_type: 'memory',
    copy_kind: 'Memcpy HtoD', bandwidth_at_start: 14, bandwidth_at_end: 0}),
  (:Event:Memcpy {name: 'c', lane: 1, start_ns: 60, end_ns: 70, kernel_type: 'memory',
    copy_kind: 'Memcpy HtoD', bandwidth_at_start: 12, bandwidth_at_end: 9}),
  (:Event:Memcpy {name: 'no size', lane: 1, start_ns: 80, end_ns: 90, kernel_type: 'memory',
    copy_kind: 'Memcpy DtoH'}),
  (s:Event:Memset {name: 's', lane: 2, rank: 1, start_ns: 3, end_ns: 4, kernel_type: 'memory',
    copy_kind: 'Memset', bandwidth_at_start: 7, bandwidth_at_end: 0, queue_at_launch: 1, queue_at_start: 0}),
  (:Event:Memset {name: 'no time', lane: 2, rank: 1, start_ns: 10, end_ns: 10, kernel_type: 'memory',
    bytes: 6, copy_kind: 'Memset', bandwidth: 3000000000,
    bandwidth_at_start: 3000000000, bandwidth_at_end: 0}),
  (graph:Event:Kernel {name: 'of a graph', lane: 1, start_ns: 90, end_ns: 91, kernel_type: 'computation'}),
  (l1)-[:LAUNCHED]->(k1), (l2)-[:LAUNCHED]->(k2), (l3)-[:LAUNCHED]->(c), (l4)-[:LAUNCHED]->(s)
"""
"""At 20 a launch and a begin meet, at 60 the end of a copy and the begin of another, at 70 two ends."""
CASES = {
    "queue_length_series": """
        rank device stream at_ns length lane begins
        0 0 7 10 1 1 False
        0 0 7 20 2 1 False
        0 0 7 20 1 1 True
        0 0 7 30 2 1 False
        0 0 7 40 1 1 True
        0 0 7 50 0 1 True
        1 1 7 1 1 2 False
        1 1 7 3 0 2 True""",
    "queue_length_series rank=1": """
        rank stream at_ns length
        1 7 1 1
        1 7 3 0""",
    "queue_length_series start_ns=20 end_ns=50 limit=3": """
        at_ns length
        20 2
        20 1
        30 2""",
    "queue_length_series start_ns=91 end_ns=100": "at_ns",
    "memory_bandwidth_series": """
        rank copy_kind at_ns bytes_per_s
        0 Memcpy_HtoD 50 5
        0 Memcpy_HtoD 55 14
        0 Memcpy_HtoD 60 9
        0 Memcpy_HtoD 60 12
        0 Memcpy_HtoD 70 9
        0 Memcpy_HtoD 70 0
        1 Memset 3 7
        1 Memset 4 0
        1 Memset 10 3000000000
        1 Memset 13 0""",
    "memory_bandwidth_series rank=0 start_ns=60 end_ns=70": """
        copy_kind at_ns bytes_per_s
        Memcpy_HtoD 60 9
        Memcpy_HtoD 60 12""",
    "memory_bandwidth_series start_ns=71 limit=5": "at_ns",
}
LAUNCHED = """
MATCH (e:Event {run: $run}) WHERE e.kernel_type IS NOT NULL
MATCH (call:Event)-[:LAUNCHED]->(e)
RETURN id(call) AS call, e.lane AS lane, call.start_ns AS launched, e.start_ns AS begun
"""
COPIED = """
MATCH (e:Event {run: $run}) WHERE e.category IN ['gpu_memcpy', 'gpu_memset'] AND e.bytes IS NOT NULL
RETURN e.rank AS rank, e.name AS name, e.start_ns AS start, e.end_ns AS end, e.bytes AS bytes,
  e.bandwidth AS bandwidth
"""


@pytest.fixture(scope="module")
def graph(database: Database) -> Iterator[Database]:
    with stored(database, RUN, GRAPH):
        yield database


@pytest.mark.parametrize("case", CASES)
def test_table(case: str, graph: Database) -> None:
    check_table(graph, RUN, case, CASES[case])


@pytest.mark.parametrize("trace", ["a3", "c2", "h1_h100", "h1_mi300"])
def test_a_real_trace(trace: str, hta_runs: hta.HtaRuns) -> None:
    check_trace(hta_runs, trace)


def check_trace(runs: hta.HtaRuns, trace: str) -> None:
    """A plain count over rows of the graph gives the series."""
    queue = runs.rows("queue_length_series", trace, limit=100_000_000, end_ns=1 << 62, start_ns=0)
    expected = _queue(runs.database.read(LAUNCHED, {"run": trace}))
    assert len(queue) == sum(map(len, expected.values()))
    for lane, rows in queue.groupby("lane"):
        found = [*zip(rows["at_ns"], rows["begins"], rows["length"], strict=True)]
        assert found == expected[int(str(lane))]
        assert found[-1][2] == 0
    copies = runs.rows("memory_bandwidth_series", trace, limit=100_000_000, end_ns=1 << 62, start_ns=0)
    rates = _rates(runs.database.read(COPIED, {"run": trace}))
    assert [*copies.groupby(["rank", "copy_kind"]).groups] == sorted(rates)
    for key, rows in copies.groupby(["rank", "copy_kind"]):
        # In which order several ends of one moment come is nobody's business: what is left then counts.
        assert rows.groupby("at_ns")["bytes_per_s"].last().to_dict() == rates[key]
        assert rows["bytes_per_s"].iloc[-1] == 0
    short = runs.rows("queue_length_series", trace)
    assert len(short) == min(len(queue), 10_000)
    assert find("queue_length_series").complete({"run": trace, "start_ns": 0, "end_ns": 1})["limit"] == 10_000


def _queue(launched: pd.DataFrame) -> dict[int, list[tuple[int, bool, int]]]:
    """Of each lane the moments of launches and begins, with what is then launched and not begun."""
    works = launched.groupby("call")["lane"].transform("size")
    moments: dict[int, list[tuple[int, bool]]] = {}
    for row in launched[works == 1].itertuples():
        moments.setdefault(row.lane, []).extend([(row.launched, False), (row.begun, True)])
    found: dict[int, list[tuple[int, bool, int]]] = {}
    for lane, points in moments.items():
        length = 0
        for at, begins in sorted(points):
            length += -1 if begins else 1
            found.setdefault(lane, []).append((at, begins, length))
    return found


def _rates(copied: pd.DataFrame) -> dict[Any, dict[int, int]]:
    """Of each rank and kind the moments at which copies end or begin, with what runs from then on, B/s."""
    changes: dict[Any, dict[int, int]] = {}
    for row in copied[(copied["end"] > copied["start"]) | copied["bandwidth"].notna()].itertuples():
        stated = not pd.isna(row.bandwidth)
        rate = int(row.bandwidth) if stated else round(row.bytes * (1e9 / (row.end - row.start)))
        end = row.end if row.end > row.start else row.start + 1 + int(row.bytes * (1e9 / rate))
        of = changes.setdefault((row.rank, row.name.split(" (")[0]), {})
        for at, change in ((row.start, rate), (end, -rate)):
            of[at] = of.get(at, 0) + change
    return {
        key: dict(zip(sorted(of), accumulate(of[at] for at in sorted(of)), strict=True))
        for key, of in changes.items()
    }
