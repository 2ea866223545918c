"""The stored path against an independent longest path over all stored edges, and mutants that must show.

The oracle gets work, lags and edges from the database but no binding flags; it is compared with two walks in
Cypher: over the chains (the query module) and over the binding relationships (here).
"""

from collections.abc import Callable
from pathlib import Path

import oracle
import pandas as pd
import pytest

from tracegraph.base.progress import silent
from tracegraph.ingest.pipeline import ingest_run
from tracegraph.queries.catalog import asking
from tracegraph.queries.module import load
from tracegraph.queries.runs import find_window
from tracegraph.queries.shapes.path.rows import unfold_segments
from tracegraph.store.connection import Database
from tracegraph.store.load.load_run import load_run

TRACES = Path(__file__).parents[2] / "examples" / "traces"
OTHERS = ("slow_loader", "train_small", "two_threads")
REAL = (
    "torch_cpu/gpt_10k.json.gz",
    "a2_megatron_tp2_v100_2rank/rank0.pt.trace.json",
    "a2_megatron_tp2_v100_2rank/rank1.pt.trace.json",
    "b1_hta_alexnet_cuda_sync.json.gz",
    "b2_hta_cuda_event_sync.json.gz",
    "h2_hta_mi250_minitoy_train.json.gz",
)
SEGMENTS = """
MATCH (s:Segment {run: $run}) WHERE s.chain >= 0
RETURN id(s) AS id, s.lane AS lane, s.start_ns AS start_ns, s.end_ns AS end_ns, s.work_ns AS work_ns,
  s.kind AS kind, s.chain AS chain ORDER BY lane, start_ns, end_ns, chain, s.source_index
"""
EDGES = """
MATCH (a:Segment {run: $run})-[d:SEQUENTIAL|INVOCATION|SYNCHRONIZATION|CROSS_THREAD]->(b) WHERE a.chain >= 0
RETURN id(a) AS cause, id(b) AS effect, d.lag_ns AS lag_ns, d.mechanism AS mechanism
"""
BINDING_WALK = """
MATCH (sink:Segment {run: $run, chain: $chain, end_ns: $end_ns}) WHERE sink.start_ns < $end_ns
MATCH (sink)((b)<-[d:SEQUENTIAL|INVOCATION|SYNCHRONIZATION|CROSS_THREAD WHERE d.binding]-(a)){0,}(z)
WITH DISTINCT z
RETURN z.lane AS lane, z.start_ns AS start_ns, z.end_ns AS end_ns, z.kind AS kind
"""
FLAGGED = """
MATCH (s:Segment {run: $run}) WHERE s.chain >= 0 AND s.on_critical_path
RETURN s.lane AS lane, s.start_ns AS start_ns, s.end_ns AS end_ns
"""
Stretch = tuple[int, int, int]


def sequence(frame: pd.DataFrame) -> list[Stretch]:
    """Segments with a length, in time order, as (start, end, lane)."""
    lasting = frame[frame["start_ns"] < frame["end_ns"]]
    return sorted(zip(lasting["start_ns"], lasting["end_ns"], lasting["lane"], strict=True))


def disagreements(database: Database, run: str) -> list[str]:
    """What differs between the oracle and what is stored; empty when all agree."""
    parameters = {"run": run}
    segments, edges = database.read(SEGMENTS, parameters), database.read(EDGES, parameters)
    arguments = vars(find_window(asking(database), run))
    chain = arguments["chain"]
    position = {node: i for i, node in enumerate(segments["id"].tolist())}
    sinks = segments[(segments["chain"] == chain) & (segments["end_ns"] == arguments["end_ns"])]
    sink = int(sinks[sinks["start_ns"] < sinks["end_ns"]].index[0])
    rows = zip(edges["cause"], edges["effect"], edges["lag_ns"], edges["mechanism"], strict=True)
    graph = [oracle.Edge(position[a], position[b], int(lag), rule) for a, b, lag, rule in rows]
    answer = oracle.longest_path(segments["work_ns"].tolist(), graph, arguments["start_ns"], sink)
    expected = sequence(segments.loc[answer.path])
    by_chains = sequence(unfold_segments(load("path_segments").run(database, run=run, **arguments)))
    by_binding = database.read(BINDING_WALK, {**parameters, **arguments})
    # A cause that waits is complete at its start: where the path changes chains, the lag covers its time.
    path = segments.loc[answer.path]
    leaves = path["chain"] != path["chain"].shift(-1, fill_value=chain)
    kept = path[~(leaves & (path["kind"] == "wait"))]
    flagged = database.read(FLAGGED, parameters)
    checks = {
        "starts": answer.starts == segments["start_ns"].tolist(),
        "walk over chains": by_chains == sequence(kept),
        "stored flags": sequence(flagged) == sequence(kept),
        "walk over binding relationships": sequence(by_binding) == expected,
    }
    return [name for name, agrees in checks.items() if not agrees]


def store(database: Database, path: Path) -> str:
    """Store a trace and give its run's name."""
    tables, _ = ingest_run([path], f"oracle-{path.name}", silent)
    load_run(database, tables)
    return tables.run


@pytest.mark.parametrize(
    "name", ["simulated_gpu", *(pytest.param(name, marks=pytest.mark.exhaustive) for name in OTHERS)]
)
def test_own_traces(database: Database, stored_example: Callable[[str], str], name: str) -> None:
    assert disagreements(database, stored_example(name)) == []


@pytest.mark.parametrize("name", REAL)
def test_real_traces(database: Database, shared_trace: Callable[[str], Path], name: str) -> None:
    assert disagreements(database, store(database, shared_trace(name))) == []


MUTANTS = {
    "one binding flag moved": """
        MATCH (:Segment)-[bound {binding: true}]->(s:Segment {run: $run, on_critical_path: true})
        MATCH (:Segment)-[other {binding: false}]->(s)
        WITH bound, other ORDER BY s.start_ns LIMIT 1
        SET bound.binding = false, other.binding = true RETURN count(*) AS changed
    """,
    "one lag + 1": """
        MATCH (:Segment)-[bound {binding: true}]->(s:Segment {run: $run, on_critical_path: true})
        WITH bound ORDER BY s.start_ns SKIP 5 LIMIT 1
        SET bound.lag_ns = bound.lag_ns + 1 RETURN count(*) AS changed
    """,
    "one edge removed": """
        MATCH (:Segment)-[bound {binding: true}]->(s:Segment {run: $run, on_critical_path: true})
        WITH bound ORDER BY s.start_ns SKIP 5 LIMIT 1
        DELETE bound RETURN count(*) AS changed
    """,
}


@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_mutant_is_seen(database: Database, mutant: str) -> None:
    run = store(database, TRACES / "simulated_gpu.json.gz")
    assert database.write(MUTANTS[mutant], {"run": run})["changed"].tolist() == [1]
    assert disagreements(database, run) != []
