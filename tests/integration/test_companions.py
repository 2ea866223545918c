"""Files that explain a trace: as a run of their own, given with a trace, and attached later."""

from collections.abc import Callable
from pathlib import Path

import pytest
from export import from_database, from_tables
from graphs import check_table, stored
from stored_traces import take_for_own

from tracegraph.base.errors import InputError
from tracegraph.store.connection import Database
from tracegraph.store.connection_settings import ConnectionSettings
from tracegraph.store.workspace import Workspace
from tracegraph.workbench import Workbench

RUN = "tiny-companions"
LOG = "node:1:1 [0] NCCL INFO comm 0xc rank 0 nranks 2 cudaDev 0 busId 1 commId {id} - Init COMPLETE\n"
HEADER = (
    "# nThread 1 nGpus 2\n# Collective test starting: all_reduce_perf\n# size count type time busbw error\n"
)
GRAPH = """
CREATE
  (run:Run {name: $run, state: 'ready', ranks: 2, events: 0, window_start_ns: 0, window_end_ns: 0,
    schema_version: null}),
  (:Trace {run: $run, rank: 0})-[:OF_RUN]->(run),
  (:Communicator {run: $run, comm_id: '0xa', ranks: 2, members: 2, nodes: 2, channels: 2, network: 'Socket',
    evidence: 'recorded', confidence: 1.0}),
  (:Communicator {run: $run, comm_id: '0xb', ranks: 1, members: 1, evidence: 'inferred', confidence: 0.6}),
  (:Channel {run: $run, comm_id: '0xa', number: 0, ring: '[0, 1]', transport: 'NET/Socket/0',
    connections: 2}),
  (:Transfer {run: $run, source: "NCCL's table", comm_id: '0xa', kind: 'all_reduce', ranks: 2, nodes: 2,
    algorithm: 'ring', protocol: 'simple', latency_ns: 100, bandwidth: 1000000000.0})
WITH run
UNWIND range(0, 4) AS k
CREATE (:Transfer {run: $run, source: 'nccl-tests', kind: 'all_reduce', ranks: 2, in_place: false,
  bytes: toInteger(4 ^ (k + 3)), time_ns: toInteger(1000 + 4 ^ (k + 3))})
"""
CASES = {
    "communicators": """
        comm_id ranks members nodes channels network evidence
        0xa 2 2 2 2 Socket recorded
        0xb 1 1 - - - inferred""",
    "channels": """
        comm_id number ring tree transport connections
        0xa 0 [0,_1] - NET/Socket/0 2""",
    "stated_transfers": """
        source kind ranks algorithm bytes time_ns latency_ns
        NCCL's_table all_reduce 2 ring - - 100
        nccl-tests all_reduce 2 - 64 1064 -
        nccl-tests all_reduce 2 - 256 1256 -
        nccl-tests all_reduce 2 - 1024 2024 -
        nccl-tests all_reduce 2 - 4096 5096 -
        nccl-tests all_reduce 2 - 16384 17384 -""",
    "transfer_points": """
        kind source ranks bytes time_ns count is_least
        all_reduce nccl-tests 2 64 1064 1 False
        all_reduce nccl-tests 2 256 1256 1 False
        all_reduce nccl-tests 2 1024 2024 1 False
        all_reduce nccl-tests 2 4096 5096 1 False
        all_reduce nccl-tests 2 16384 17384 1 False""",
    "transfer_fit": """
        kind sizes valid_from valid_to is_alpha_known lacks
        all_reduce 5 64 16384 True -""",
    "transfer_predictions bytes=1024": """
        kind algorithm ranks bytes measured_ns table_ns is_within
        all_reduce ring 2 1024 2024 1124 True
        all_reduce tree 2 1024 - - True
        all_gather ring 2 1024 - - True
        reduce_scatter ring 2 1024 - - True
        gather ring 2 1024 - - True
        scatter ring 2 1024 - - True
        all_to_all ring 2 1024 - - True""",
    "nccl_advice": """
        comm_id ranks finding measured
        0xa 2 sockets Socket""",
}


def test_tables(database: Database) -> None:
    with stored(database, RUN, GRAPH):
        for case, table in CASES.items():
            check_table(database, RUN, case, table)


@pytest.fixture
def bench(database: Database, workspace: Workspace) -> Workbench:
    take_for_own(database, workspace)
    return Workbench(workspace, ConnectionSettings())


def check_same(database: Database, workspace: Workspace, run: str) -> None:
    """The database holds what the kept tables hold."""
    assert from_database(database, run) == from_tables(workspace.load_run(run))


def test_attached_later_replaces_its_own_kind_only(
    bench: Workbench, database: Database, workspace: Workspace, tmp_path: Path
) -> None:
    log, other, tests = (tmp_path / name for name in ("a.log", "b.log", "all_reduce_perf.txt"))
    log.write_text(LOG.format(id="0xa"))
    other.write_text(LOG.format(id="0xb") + LOG.format(id="0xc").replace("rank 0", "rank 1"))
    rows = (f"  {4**k} {4 ** (k - 1)} float {10 + 4**k / 1000:.3f} 1.0 0\n" for k in range(5, 10))
    tests.write_text(HEADER + "".join(rows))
    run = bench.ingest_companions([log], "companions")
    try:
        assert run.communicators()["comm_id"].tolist() == ["0xa"]
        assert run.transfer_fit().empty
        with bench.answers():  # what is attached meanwhile is there for the next question
            assert run.transfer_fit().empty
            bench.attach([tests], run.name)
            assert not run.transfer_fit().empty
        bench.attach([other], run.name)
        assert sorted(run.communicators()["comm_id"]) == ["0xb", "0xc"]
        assert run.transfer_fit()["bytes_per_s"].iloc[0] == pytest.approx(1e9)
        check_same(database, workspace, run.name)
        with pytest.raises(InputError, match="has no trace"):
            run.hotspots()
    finally:
        bench.delete(run.name)


@pytest.mark.exhaustive
def test_with_a_trace(
    bench: Workbench,
    database: Database,
    workspace: Workspace,
    tmp_path: Path,
    stored_example: Callable[[str], str],
) -> None:
    log = tmp_path / "a.log"
    log.write_text(LOG.format(id="0xa"))
    before = bench.run(stored_example("simulated_gpu")).hotspots()
    file = Path(__file__).parents[2] / "examples" / "traces" / "simulated_gpu.json.gz"
    run = bench.ingest(file, "with-companions", companions=[log])
    try:
        assert run.communicators()["comm_id"].tolist() == ["0xa"]
        assert run.hotspots().equals(before)
        check_same(database, workspace, run.name)
    finally:
        bench.delete(run.name)
