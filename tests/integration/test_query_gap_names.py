"""Every query that names the gaps of a path gives a lag the name that ingest gave it."""

import re

from graphs import stored

from tracegraph.queries.catalog import ask
from tracegraph.store.connection import Database
from tracegraph.vocabulary.gaps import UNKNOWN

RUN = "tiny-gap-names"
WINDOW = {"run": RUN, "start_ns": 0, "end_ns": 100, "chain": 1}
HAND_OVER = """
CREATE (:Run {{name: $run, state: 'ready', window_start_ns: 0, window_end_ns: 100}}),
  (:Step {{run: $run, rank: 0, number: 1, start_ns: 0, end_ns: 100, window_end_ns: 100}}),
  (:Lane {{run: $run, lane: 0, kind: 'thread', name: 'one', matters: true}}),
  (:Lane {{run: $run, lane: 1, kind: 'thread', name: 'other', matters: true}}),
  (c0:Chain {{chain: 0, start_ns: 0, end_ns: 50}}),
  (c1:Chain {{chain: 1, lane: 1, start_ns: 60, end_ns: 100}}),
  (c0)-[:LEADS_TO {{at_ns: 50}}]->(c1),
  (:Segment {{name: 'A', category: 'cpu_op', source_index: 0, chain: 0, start_ns: 0, end_ns: 50}})
    -[:{kind} {{binding: true, gap_ns: 10, evidence: 'recorded', gap_name: '{gap}'}}]->
  (:Segment {{name: 'B', category: 'cpu_op', source_index: 1, chain: 1, lane: 1, start_ns: 60, end_ns: 100}})
"""
"""A on one lane leads to B on the other, 10 ns later."""


def test_path_gaps_and_steps_agree(database: Database) -> None:
    assert lag_before(database, HAND_OVER.format(kind="INVOCATION", gap="as ingest says")) == "as ingest says"


def test_the_lag_of_a_window_that_nothing_begins_is_unknown(database: Database) -> None:
    bound = HAND_OVER.format(kind="SEQUENTIAL", gap="any")
    unbound = re.sub(r"-\[:SEQUENTIAL [^\]]*\]->", ",", bound)
    unbound = re.sub(r"\(c0\)-\[:LEADS_TO [^\]]*\]->\(c1\),", "", unbound)
    assert lag_before(database, unbound) == UNKNOWN


def lag_before(database: Database, graph: str) -> str:
    """Name of the lag before B, the same in all queries."""
    with stored(database, RUN, graph):
        rows = ask(database, "critical_path", **WINDOW)
        gaps = ask(database, "path_gaps", **WINDOW)
        spots = ask(database, "step_hotspots", run=RUN)
    (named,) = gaps["name"]
    assert rows["name"].tolist()[-2:] == [named, "B"]
    of_step = spots.loc[spots["category"].eq("gap"), ["name", "duration_ns"]]
    assert of_step.to_numpy().tolist() == gaps[["name", "duration_ns"]].to_numpy().tolist()
    return str(named)
