"""The queries about several ranks on one tiny graph: the table each must give."""

from collections.abc import Iterator

import pytest
from graphs import check_table, stored

from tracegraph.store.connection import Database

RUN = "tiny-ranks"
TWO_RANKS = """
CREATE
  (run:Run {name: $run, state: 'ready', ranks: 2, window_start_ns: 0, window_end_ns: 160}),
  (:Trace {run: $run, rank: 0})-[:OF_RUN]->(run), (:Trace {run: $run, rank: 1})-[:OF_RUN]->(run),
  (:Lane {run: $run, lane: 0, rank: 0, name: 'zero', matters: true}),
  (:Lane {run: $run, lane: 1, rank: 1, name: 'one', matters: true}),
  (:Step {run: $run, number: 1, rank: 0, start_ns: 0, end_ns: 110, window_end_ns: 110}),
  (:Step {run: $run, number: 1, rank: 1, start_ns: 0, end_ns: 112, window_end_ns: 112}),
  (:Step {run: $run, number: 2, rank: 0, start_ns: 110, end_ns: 160, window_end_ns: 160}),
  (:Step {run: $run, number: 2, rank: 1, start_ns: 112, end_ns: 160, window_end_ns: 160}),

  (a:Segment {name: 'A', category: 'cpu_op', source_index: 0, start_ns: 0, end_ns: 100, chain: 0, frame: 2}),
  (r0:Event:Segment {name: 'reduce', category: 'user_annotation', source_index: 1, start_ns: 100, end_ns: 110,
    chain: 0, frame: 3, step: 1}),
  (r2:Event {name: 'reduce', source_index: 2, start_ns: 110, end_ns: 160, step: 2}),
  (:Segment {kind: 'wait', name: 'waiting for another rank', category: 'gap', start_ns: 110, end_ns: 152,
    chain: 0, frame: 8}),
  (t3:Segment {name: 'reduce', category: 'user_annotation', source_index: 2, start_ns: 152, end_ns: 160,
    chain: 3, frame: 3}),
  (:Segment {lane: 1, rank: 1, name: 'A', category: 'cpu_op', source_index: 0, start_ns: 0, end_ns: 40,
    chain: 1, frame: 5}),
  (r1:Event {lane: 1, rank: 1, name: 'reduce', source_index: 1, start_ns: 40, end_ns: 112, step: 1}),
  (:Segment {lane: 1, rank: 1, kind: 'wait', name: 'waiting for another rank', category: 'gap', start_ns: 40,
    end_ns: 100, chain: 1, frame: 9}),
  (t2:Segment {lane: 1, rank: 1, name: 'reduce', category: 'user_annotation', source_index: 1, start_ns: 102,
    end_ns: 112, chain: 2, frame: 6}),
  (b:Segment {lane: 1, rank: 1, name: 'B at 0x7f', category: 'cpu_op', source_index: 2, start_ns: 112,
    end_ns: 152, chain: 2, frame: 7}),
  (r3:Event:Segment {lane: 1, rank: 1, name: 'reduce', category: 'user_annotation', source_index: 3,
    start_ns: 152, end_ns: 160, chain: 2, frame: 6, step: 2}),

  (a)-[:SYNCHRONIZATION $late]->(t2), (b)-[:SYNCHRONIZATION $soon]->(t3),
  (c0:Chain {chain: 0, start_ns: 0, end_ns: 152}),
  (c1:Chain {chain: 1, lane: 1, rank: 1, start_ns: 0, end_ns: 100}),
  (c2:Chain {chain: 2, lane: 1, rank: 1, start_ns: 102, end_ns: 160}),
  (c3:Chain {chain: 3, start_ns: 152, end_ns: 160}),
  (c0)-[:LEADS_TO {at_ns: 100, dependency: 'SYNCHRONIZATION', gap_ns: 2,
    gap_name: 'waiting for another rank'}]->(c2),
  (c2)-[:LEADS_TO {at_ns: 152, dependency: 'SYNCHRONIZATION', gap_ns: 0}]->(c3),
  (f0:Frame {frame: 0, depth: 0, name: 'zero', category: 'thread'}),
  (f1:Frame {frame: 1, depth: 0, name: 'one', category: 'thread', lane: 1, rank: 1}),
  (:Frame {frame: 2, parent: 0, depth: 1, name: 'A', category: 'cpu_op'})-[:CALLED_FROM]->(f0),
  (f3:Frame {frame: 3, parent: 0, depth: 1, name: 'reduce', category: 'user_annotation'})
    -[:CALLED_FROM]->(f0),
  (f4:Frame {frame: 4, parent: 1, depth: 1, name: 'load', category: 'user_annotation', lane: 1, rank: 1})
    -[:CALLED_FROM]->(f1),
  (:Frame {frame: 5, parent: 1, depth: 1, name: 'A', category: 'cpu_op', lane: 1, rank: 1})
    -[:CALLED_FROM]->(f1),
  (f6:Frame {frame: 6, parent: 1, depth: 1, name: 'reduce', category: 'user_annotation', lane: 1, rank: 1})
    -[:CALLED_FROM]->(f1),
  (:Frame {frame: 7, parent: 4, depth: 2, name: 'B at 0x7f', category: 'cpu_op', lane: 1, rank: 1})
    -[:CALLED_FROM]->(f4),
  (:Frame {frame: 8, parent: 3, depth: 2, name: 'waiting for another rank', category: 'gap'})
    -[:CALLED_FROM]->(f3),
  (:Frame {frame: 9, parent: 6, depth: 2, name: 'waiting for another rank', category: 'gap', lane: 1,
    rank: 1})
    -[:CALLED_FROM]->(f6),

  (o0:Collective {run: $run, operation: 0, name: 'all_reduce', group: '0', group_sequence: 7, size: 2,
    members: 2, missing: '[]', start_ns: 40, rendezvous_ns: 100, end_ns: 112, last_rank: 0, bytes: 24,
    bus_factor: 1.0, evidence: 'recorded', confidence: 1.0}),
  (o1:Collective {run: $run, operation: 1, name: 'all_reduce', members: 2, missing: '[]', start_ns: 110,
    rendezvous_ns: 152, end_ns: 160, last_rank: 1, evidence: 'inferred', confidence: 0.8}),
  (r0)-[:MEMBER_OF {waited_ns: 0, waited_once_ns: 0, exposed_wait_ns: 0, exposed_transfer_ns: 10}]->(o0),
  (r1)-[:MEMBER_OF {waited_ns: 60, waited_once_ns: 60, exposed_wait_ns: 50, exposed_transfer_ns: 12}]->(o0),
  (r2)-[:MEMBER_OF {waited_ns: 42, waited_once_ns: 40, exposed_wait_ns: 40, exposed_transfer_ns: 8}]->(o1),
  (r3)-[:MEMBER_OF {waited_ns: 0, waited_once_ns: 0, exposed_wait_ns: 0, exposed_transfer_ns: 0}]->(o1)
"""
"""Rank 1 waits for rank 0 until 100, then rank 0 for rank 1 until 152; the path changes ranks twice."""

CASES = {
    "rank_waits": """
        rank operations last waited_ns waited_share exposed_wait_ns caused_ns caused_share longest_ns in_short
        0 2 1 40 0.25 40 60 0.6 60 False
        1 2 1 60 0.375 50 40 0.4 42 False""",
    "rank_waits start_ns=150 end_ns=160": """
        rank operations exposed_transfer_ns
        1 1 0
        0 1 8""",
    "rank_waits start_ns=0 end_ns=60": """
        rank operations last waited_ns exposed_wait_ns exposed_transfer_ns caused_ns caused_share longest_ns
        0 0 0 0 0 0 20 1.0 20
        1 0 0 20 20 0 0 0.0 0""",
    "rank_waits start_ns=90 end_ns=150": """
        rank operations last waited_ns exposed_wait_ns exposed_transfer_ns caused_ns longest_ns
        1 1 0 10 10 12 38 40
        0 1 1 38 38 10 10 10""",
    "rank_work step=2": """
        rank name category duration_ns
        0 reduce user_annotation 8
        1 B_at_0x7f cpu_op 40
        1 reduce user_annotation 8""",
    "rank_gaps step=1": """
        rank name duration_ns
        1 waiting_for_another_rank 62""",
    "rank_gaps": """
        rank name duration_ns
        0 waiting_for_another_rank 42
        1 waiting_for_another_rank 62""",
    "step_waits": """
        number rank length_ns operations last waited_ns caused_ns caused_share
        1 0 110 1 1 0 60 1.0
        1 1 112 1 0 60 0 0.0
        2 1 48 1 1 0 40 1.0
        2 0 50 1 0 40 0 0.0""",
    "path_ranks": """
        rank duration_ns share count
        0 108 0.675 2
        1 52 0.325 1""",
    "rank_work": """
        rank name category is_collective duration_ns count
        0 A cpu_op False 100 1
        0 reduce user_annotation True 18 2
        1 A cpu_op False 40 1
        1 B_at_0x7f cpu_op False 40 1
        1 reduce user_annotation True 18 2""",
    "late_causes": """
        rank name category inside duration_ns middle_ns on_path_ns late_ns
        0 A cpu_op - 100 40 100 60
        1 B cpu_op load 40 0 40 40""",
    "collectives": """
        operation name group group_sequence members last_rank skew_ns transfer_ns bytes bus_bandwidth evidence
        0 all_reduce 0 7 2 0 60 12 24 2000000000.0 recorded
        1 all_reduce - - 2 1 42 8 - - inferred""",
    "collectives start_ns=100 end_ns=160": """
        operation start_ns end_ns missing algorithm_bandwidth confidence
        1 110 160 [] - 0.8""",
    "collective_kinds": """
        name group bytes count skew_ns median_skew_ns longest_skew_ns transfer_ns confidence
        all_reduce 0 24 1 60 60 60 12 1.0
        all_reduce - - 1 42 42 42 8 0.8""",
}


@pytest.fixture(scope="module", autouse=True)
def graph(database: Database) -> Iterator[None]:
    with stored(database, RUN, TWO_RANKS):
        yield


@pytest.mark.parametrize("case", CASES)
def test_table(case: str, database: Database) -> None:
    check_table(database, RUN, case, CASES[case])
