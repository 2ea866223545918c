"""The same run stored again is taken as it is; another one waits until nobody reads what it replaces."""

import threading
import time
from pathlib import Path

import pytest
from stored_traces import take_for_own
from storing_runs import store_run

from tracegraph.base.progress import Progress, silent
from tracegraph.ingest.options import IngestOptions
from tracegraph.ingest.pipeline import ingest_run
from tracegraph.store.connection import Database
from tracegraph.store.connection_settings import ConnectionSettings
from tracegraph.store.read_locks import reading_runs
from tracegraph.store.session import open_database, stop_server
from tracegraph.store.workspace import Workspace, open_workspace

MANAGED = ConnectionSettings()
TRACES = Path(__file__).parents[2] / "examples" / "traces"
NODES = "MATCH (n {run: $run}) RETURN min(id(n)) AS first, max(id(n)) AS last"
NEWEST = (
    "MATCH (r:Run {state: 'ready'}) WHERE r.name IN $names "
    "RETURN r.name AS name, r.created AS created ORDER BY created"
)


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    return open_workspace(tmp_path_factory.mktemp("taken"))


def ingest(
    workspace: Workspace,
    trace: str,
    cross_thread: str | None = None,
    progress: Progress = silent,
    run: str | None = None,
) -> None:
    options = IngestOptions(cross_thread=cross_thread)
    made = ingest_run([TRACES / f"{trace}.json.gz"], run or trace, silent, options)
    store_run(workspace, MANAGED, *made, progress)


def test_the_same_is_taken_and_becomes_the_newest(workspace: Workspace, database: Database) -> None:
    first, second = "taken-first", "taken-second"
    newest = {"names": [first, second]}
    take_for_own(database, workspace)
    ingest(workspace, "two_threads", run=first)
    nodes = database.read(NODES, {"run": first}).to_dict("records")
    created = database.read(NEWEST, newest)["created"].tolist()
    ingest(workspace, "two_threads", run=first)
    assert database.read(NEWEST, newest)["created"].tolist() == created
    ingest(workspace, "simulated_gpu", run=second)
    assert database.read(NEWEST, newest)["name"].tolist() == [first, second]
    ingest(workspace, "two_threads", run=first)
    assert database.read(NEWEST, newest)["name"].tolist() == [second, first]
    assert database.read(NODES, {"run": first}).to_dict("records") == nodes
    assert workspace.manifests()[-1]["created"] == database.read(NEWEST, newest)["created"].iloc[-1]


@pytest.mark.exhaustive
def test_another_waits_for_readers_and_says_so(own: Workspace) -> None:
    said: list[str] = []
    reader = open_workspace(own.root)  # as of another process: it has locks of its own
    ingest(own, "two_threads")
    with open_database(own, MANAGED) as database, reading_runs(reader):
        before = database.read(NODES, {"run": "two_threads"}).to_dict("records")
        replacing = threading.Thread(
            target=ingest, args=(own, "two_threads", "none", lambda text, *_: said.append(text))
        )
        replacing.start()
        while "waiting until no other command reads the run that is replaced" not in said:
            assert replacing.is_alive(), said
            time.sleep(0.05)
        assert database.read(NODES, {"run": "two_threads"}).to_dict("records") == before
    replacing.join(120)
    assert not replacing.is_alive()
    with open_database(own, MANAGED) as database:
        assert database.read(NODES, {"run": "two_threads"}).to_dict("records") != before
    stop_server(own)
