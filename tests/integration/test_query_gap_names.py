"""Every query that names the gaps of a path gives a lag the name that ingest gave it."""

import pytest
from graphs import stored

from tracegraph.queries.catalog import ask
from tracegraph.store.connection import Database
from tracegraph.store.ddl import statements
from tracegraph.store.gaps import GAP_NAMES
from tracegraph.store.mechanisms import MECHANISMS

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
    -[:{kind} {{binding: true, gap_ns: 10, lag_ns: 10, evidence: 'recorded', {names}}}]->
  (:Segment {{name: 'B', category: 'cpu_op', source_index: 1, chain: 1, lane: 1, start_ns: 60, end_ns: 100}})
"""
"""A on one lane leads to B on the other, 10 ns later."""


CASES = [
    *((rule.kind, f"mechanism: '{rule.name}'", rule.gap) for rule in MECHANISMS),
    *(("INVOCATION", f"mechanism: 'launch', gap_name: '{name}'", name) for name in GAP_NAMES),
]
"""Kind, names on the edge and name of the gap: for each rule, then for each name that is not its usual."""


@pytest.fixture(scope="module", autouse=True)
def indexes(database: Database) -> None:
    for statement in statements():
        database.write(statement)


@pytest.mark.parametrize(("kind", "names", "gap"), CASES)
def test_path_gaps_and_steps_agree(kind: str, names: str, gap: str, database: Database) -> None:
    with stored(database, RUN, HAND_OVER.format(kind=kind, names=names)):
        rows = ask(database, "critical_path", **WINDOW)
        gaps = ask(database, "path_gaps", **WINDOW)
        spots = ask(database, "step_hotspots", run=RUN)
    assert rows["name"].tolist() == ["A", gap, "B"]
    assert gaps[["name", "duration_ns"]].to_numpy().tolist() == [[gap, 10]]
    of_step = spots.loc[spots["category"].eq("gap"), ["name", "duration_ns"]]
    assert of_step.to_numpy().tolist() == [[gap, 10]]
