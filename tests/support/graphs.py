"""Tiny graphs for tests of queries, written as Cypher, and results as text."""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files

import pandas as pd

from tracegraph.queries.catalog import asking, find
from tracegraph.queries.runs import fill, parse
from tracegraph.store.connection import Database

_RECORDED = {"evidence": "recorded", "confidence": 1.0, "binding": True}
_WAITING = {**_RECORDED, "gap_name": "waiting for GPU"}
_OF_RANKS = {**_RECORDED, "mechanism": "collective"}
EDGES = {
    "order": {**_RECORDED, "mechanism": "program order", "lag_ns": 0, "gap_ns": 0},
    "other": {**_RECORDED, "mechanism": "program order", "lag_ns": 0, "gap_ns": 50, "binding": False},
    "queue": {**_RECORDED, "mechanism": "stream order", "lag_ns": 0, "gap_ns": 0},
    "launch": {**_RECORDED, "mechanism": "launch", "lag_ns": 10, "gap_ns": 10, "gap_name": "launch latency"},
    "sync": {**_WAITING, "mechanism": "device synchronize", "lag_ns": 5, "gap_ns": 5},
    "late": {**_OF_RANKS, "lag_ns": 2, "gap_ns": 2, "gap_name": "waiting for another rank"},
    "soon": {**_OF_RANKS, "lag_ns": 0, "gap_ns": 0},
}
"""Properties of dependencies, as parameters that a graph's text may use."""

GPU_STEP = """
CREATE
  (run:Run {name: $run, state: 'ready', created: '2024-05-01', ranks: 1, events: 7, nodes: 20,
    window_start_ns: 0, window_end_ns: 130, cross_thread: 'evidence', alternatives: '[]', what_next: '[]'}),
  (file:Trace {run: $run, rank: 0, file: 'tiny.json', sha256: '00', clock_offset_ns: 0})-[:OF_RUN]->(run),
  (:Step {run: $run, number: 1, rank: 0, start_ns: 0, end_ns: 120, window_end_ns: 130, name: 'train 1',
    marker: 'train *'}),
  (:Step {run: $run, number: 2, rank: 0, start_ns: 45, end_ns: 90, window_end_ns: 100, name: 'train 2',
    marker: 'train *'}),
  (:Lane {run: $run, lane: 0, rank: 0, kind: 'thread', name: 'main', pid: '1', tid: '1', matters: true}),
  (:Lane {run: $run, lane: 1, rank: 0, kind: 'stream', name: 'stream', device: 0, stream: 7, matters: true}),
  (:Lane {run: $run, lane: 2, rank: 0, kind: 'thread', name: 'idle', pid: '1', tid: '2', matters: false}),

  (step:Event:Annotation {name: 'step', category: 'user_annotation', source_index: 0,
    start_ns: 0, end_ns: 130}),
  (a:Event:CpuOp:Segment {name: 'A', category: 'cpu_op', source_index: 1, start_ns: 0, end_ns: 40, chain: 0,
    frame: 4}),
  (call:Event:Runtime:Segment {name: 'launch', category: 'cuda_runtime', source_index: 2, start_ns: 40,
    end_ns: 50, chain: 0, frame: 5}),
  (sync:Event:Runtime {name: 'sync', category: 'cuda_runtime', source_index: 3, start_ns: 50, end_ns: 110}),
  (before:Segment {name: 'sync', category: 'cuda_runtime', source_index: 3, start_ns: 50,
    end_ns: 55, chain: 0, frame: 6}),
  (wait:Segment {kind: 'wait', name: 'waiting for GPU', category: 'gap', start_ns: 55, end_ns: 105,
    chain: 0, frame: 10}),
  (gemm:Event:Kernel:Segment {name: 'gemm', category: 'kernel', kernel_type: 'computation', source_index: 4,
    lane: 1, start_ns: 60, end_ns: 100, chain: 1, frame: 8}),
  (copy:Event:Memcpy:Segment {name: 'copy', category: 'gpu_memcpy', kernel_type: 'memory', source_index: 6,
    lane: 1, start_ns: 100, end_ns: 104, chain: 1, slack_ns: 6, frame: 9}),
  (after:Segment {name: 'sync', category: 'cuda_runtime', source_index: 3, start_ns: 105,
    end_ns: 110, chain: 2, margin_ns: 3, frame: 6}),
  (b:Event:CpuOp:Segment {name: 'B', category: 'cpu_op', source_index: 5, start_ns: 110, end_ns: 130,
    chain: 2, frame: 7}),
  (idle:Segment {kind: 'gap', name: 'untraced CPU time', category: 'gap', lane: 2, start_ns: 0, end_ns: 130,
    chain: 3, frame: 11}),

  (c0:Chain {chain: 0, start_ns: 0, end_ns: 105}),
  (c1:Chain {chain: 1, lane: 1, start_ns: 60, end_ns: 104}),
  (c2:Chain {chain: 2, start_ns: 105, end_ns: 130}),
  (c3:Chain {chain: 3, lane: 2, start_ns: 0, end_ns: 130}),
  (f0:Frame {frame: 0, depth: 0, name: 'main', category: 'thread'}),
  (f1:Frame {frame: 1, depth: 0, name: 'stream', category: 'stream', lane: 1}),
  (f2:Frame {frame: 2, depth: 0, name: 'idle', category: 'thread', lane: 2}),
  (f3:Frame {frame: 3, parent: 0, depth: 1, name: 'step', category: 'user_annotation'})-[:CALLED_FROM]->(f0),
  (f4:Frame {frame: 4, parent: 3, depth: 2, name: 'A', category: 'cpu_op'})-[:CALLED_FROM]->(f3),
  (f5:Frame {frame: 5, parent: 3, depth: 2, name: 'launch', category: 'cuda_runtime'})-[:CALLED_FROM]->(f3),
  (f6:Frame {frame: 6, parent: 3, depth: 2, name: 'sync', category: 'cuda_runtime'})-[:CALLED_FROM]->(f3),
  (f7:Frame {frame: 7, parent: 3, depth: 2, name: 'B', category: 'cpu_op'})-[:CALLED_FROM]->(f3),
  (f8:Frame {frame: 8, parent: 5, depth: 3, name: 'gemm', category: 'kernel'})-[:CALLED_FROM]->(f5),
  (f9:Frame {frame: 9, parent: 1, depth: 1, name: 'copy', category: 'gpu_memcpy', lane: 1})
    -[:CALLED_FROM]->(f1),
  (f10:Frame {frame: 10, parent: 6, depth: 3, name: 'waiting for GPU', category: 'gap'})-[:CALLED_FROM]->(f6),
  (f11:Frame {frame: 11, parent: 2, depth: 1, name: 'untraced CPU time', category: 'gap', lane: 2})
    -[:CALLED_FROM]->(f2),

  (c0)-[:LEADS_TO {at_ns: 50, dependency: 'INVOCATION', mechanism: 'launch', lag_ns: 10, gap_ns: 10}]->(c1),
  (c1)-[:LEADS_TO {at_ns: 100, dependency: 'SYNCHRONIZATION', lag_ns: 5, gap_ns: 5}]->(c2),

  (a)-[:SEQUENTIAL $order]->(call)-[:SEQUENTIAL $order]->(before)-[:SEQUENTIAL $order]->(wait),
  (call)-[:INVOCATION $launch]->(gemm)-[:SEQUENTIAL $queue]->(copy), (call)-[:LAUNCHED]->(gemm),
  (gemm)-[:SYNCHRONIZATION $sync]->(after)-[:SEQUENTIAL $order]->(b), (wait)-[:SEQUENTIAL $other]->(after),
  (a)-[:CHILD_OF]->(step), (call)-[:CHILD_OF]->(step), (sync)-[:CHILD_OF]->(step), (b)-[:CHILD_OF]->(step),
  (before)-[:PART_OF]->(sync), (after)-[:PART_OF]->(sync), (wait)-[:PART_OF]->(sync)
"""
"""The CPU launches a kernel and waits for it; another thread idles. The path: A, launch, gemm, sync, B."""

_DEFAULTS = """
MATCH (n) WHERE n.run IS NULL AND (n:Event OR n:Segment OR n:Chain OR n:Frame) OR (n:Lane AND n.run = $run)
SET n.run = $run, n.rank = coalesce(n.rank, 0), n.lane = coalesce(n.lane, 0),
  n.duration_ns = n.end_ns - n.start_ns,
  n.kind = CASE WHEN n:Segment THEN coalesce(n.kind, 'work') WHEN n:Lane THEN coalesce(n.kind, 'thread') END
"""
_LONGEST = """
MATCH (l:Lane {run: $run})
SET l.longest_ns = reduce(longest = null, one IN
  COLLECT { MATCH (e:Event {run: $run, lane: l.lane}) RETURN coalesce(e.self_ns, e.duration_ns) } |
  CASE WHEN longest >= one THEN longest ELSE one END)
"""
"""What ingest says of the longest event of a lane."""
_PAUSES = """
MATCH (s:Segment {run: $run})
OPTIONAL MATCH (s)<-[d:SEQUENTIAL|INVOCATION|SYNCHRONIZATION|CROSS_THREAD WHERE d.binding]-(before:Segment)
WITH s, coalesce(d.gap_name, 'unknown') AS gap_name, CASE
    WHEN d IS NULL THEN $before_all
    WHEN before.chain = s.chain THEN before.end_ns
    ELSE s.start_ns - coalesce(d.gap_ns, 0)
  END AS since_ns
FOREACH (_ IN CASE WHEN since_ns < s.start_ns THEN [1] END |
  SET s:Pause, s.gap_since_ns = since_ns, s.gap_name = gap_name)
FOREACH (_ IN CASE WHEN s.kind <> 'work' THEN [1] END | SET s:Pause)
"""
"""What ingest says of pauses, from the edges."""
_FRAMES = """
MATCH (s:Segment {run: $run}) WHERE s.frame IS NULL
WITH s.rank AS rank, s.lane AS lane, s.name AS name,
  CASE s.kind WHEN 'work' THEN s.category ELSE 'gap' END AS category, collect(s) AS segments
ORDER BY rank, lane, name, category
WITH collect({rank: rank, lane: lane, name: name, category: category, segments: segments}) AS frames
UNWIND range(0, size(frames) - 1) AS at
WITH frames[at] AS one, 1000 + at AS frame
CREATE (:Frame {run: $run, frame: frame, rank: one.rank, lane: one.lane, depth: 0, name: one.name,
  category: one.category})
FOREACH (s IN one.segments | SET s.frame = frame)
"""
"""A frame for all segments alike that have none."""
_PATH_EVENTS = """
MATCH (r:Run {name: $run})
MATCH (:Chain {run: $run, chain: r.end_chain})<-[hops:LEADS_TO*0..]-(c:Chain)
WITH c.chain AS chain, coalesce(last(hops).at_ns, r.window_end_ns) AS exit_ns
MATCH (s:Segment {run: $run, chain: chain, kind: 'work'}) WHERE s.start_ns < exit_ns AND s.start_ns < s.end_ns
WITH s.frame AS frame, count(DISTINCT s.source_index) AS count
MATCH (f:Frame {run: $run, frame: frame})
SET f.path_events = count
"""
"""What ingest says of frames, from the path."""
_BEFORE_ALL = -1_000_000
"""When the gap before what has no cause began: with the window, whichever a test asks about."""
_END = """
MATCH (r:Run {name: $run})
MATCH (l:Lane {run: $run, matters: true})
WITH r.window_start_ns AS start_ns, r.window_end_ns AS end_ns, collect(l.lane) AS lanes
"""
"""The window and lanes of a run, whose path ends as that of a step with this window would."""


@contextmanager
def stored(database: Database, run: str, graph: str) -> Iterator[None]:
    """Store a graph for the block; nodes get rank 0, lane 0, kind `work` or `thread` unless they say."""
    try:
        database.write(graph, {"run": run, **EDGES})
        database.write(_DEFAULTS, {"run": run})
        database.write(
            "MATCH (e:Event {run: $run}) WHERE e.kernel_type IS NOT NULL SET e:GpuWork", {"run": run}
        )
        database.write(_LONGEST, {"run": run})
        database.write(_FRAMES, {"run": run})
        database.write(_PAUSES, {"run": run, "before_all": _BEFORE_ALL})
        path_end = (files("tracegraph.queries") / "cypher" / "parts" / "path_end.cypher").read_text()
        for chain in database.read(_END + path_end, {"run": run})["chain"]:
            database.write(
                "MATCH (r:Run {name: $run}) SET r.end_chain = $chain", {"run": run, "chain": int(chain)}
            )
        database.write(_PATH_EVENTS, {"run": run})
        yield
    finally:
        database.write(
            "MATCH (n) WHERE n.run = $run OR (n:Run AND n.name = $run) DETACH DELETE n", {"run": run}
        )


def check_table(database: Database, run: str, case: str, text: str) -> None:
    """A case is a query and its parameters, `NAME key=value …`; the text is the table that it must give.

    Only the columns that the text's first line names are compared; all must be those of the query's header.
    """
    name, *assignments = case.split()
    query = find(name)
    given = parse(query, {"run": run} | dict(one.split("=") for one in assignments))
    expected = [line.strip() for line in text.strip().splitlines()]
    result = query.run(database, fill(asking(database), query, given))
    found = as_table(result[expected[0].split()])
    assert found == expected, "\n".join(found)
    assert tuple(result.columns) == tuple(column.name for column in query.columns)


def as_table(frame: pd.DataFrame) -> list[str]:
    """A result as lines: the columns' names, then the rows, cells joined by a space, nothing as `-`."""
    rows = [list(frame.columns), *frame.astype(object).itertuples(index=False)]
    return [" ".join("-" if pd.isna(cell) else str(cell).replace(" ", "_") for cell in row) for row in rows]
