"""Buckets of gradients: a tiny graph with a late rank, a bucket outside backward, and one of a lone rank."""

from graphs import check_table, stored

from tracegraph.store.connection import Database

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
  (thread:Event {name: 'gloo:all_reduce', collective_kind: 'all_reduce', bytes: 4, start_ns: 510,
    end_ns: 530}),
  (:Event {name: 'launch', start_ns: 290, end_ns: 295})-[:LAUNCHED]->(second),
  (:Event {name: 'launch', start_ns: 200, end_ns: 205})-[:LAUNCHED]->(first),
  (met:Collective {run: $run, operation: 0}),
  (second)-[:MEMBER_OF {arrived_ns: 310, waited_ns: 40, transfer_ns: 30, exposed_wait_ns: 5,
    exposed_transfer_ns: 6}]->(met)
"""
TABLE = """
    step pass bucket elements bytes ready_ns start_ns end_ns waited_ns transfer_ns exposed_ns
    1 1 0 3 12 200 210 280 - - 30
    1 1 1 7 28 290 310 380 40 30 11
    2 1 0 - 4 510 510 530 - - -"""


def test_buckets_are_what_is_reduced_in_backward_passes_by_when_it_is_ready(database: Database) -> None:
    with stored(database, RUN, GRAPH):
        check_table(database, RUN, "ddp_buckets", TABLE)
