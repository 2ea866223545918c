"""The server or the disk fails, or is not the one expected: one clear line, and the next command works."""

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import psutil
import pytest
from commands import Command, run
from export import from_database, from_tables
from hostile import hostile_graph
from relay import Relay
from storing_runs import store_run, store_small_run

from tracegraph.base.errors import StoreError
from tracegraph.base.locks import lock
from tracegraph.store import connection
from tracegraph.store.compacting import compact
from tracegraph.store.connection_settings import ConnectionSettings
from tracegraph.store.load.delete_run import delete_run
from tracegraph.store.managed.java import java
from tracegraph.store.managed.rebuild.estimate import LOADS
from tracegraph.store.managed.server import server
from tracegraph.store.schema import ddl
from tracegraph.store.schema.schema import INDEXES
from tracegraph.store.session import find_server, open_database, stop_server
from tracegraph.store.workspace import Workspace, open_workspace

pytestmark = pytest.mark.exhaustive
TRACE = Path(__file__).parents[2] / "examples" / "traces" / "simulated_gpu.json.gz"
MANAGED = ConnectionSettings()
ENDLESS = "UNWIND range(1, 100000000000) AS i RETURN sum(i)"
DISK_MIB = 160
AT_ONCE_S = 30
GONE_S = 4.0
"""A load ends so soon after its server: within two seconds, where the machine is not busy."""


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    """A workspace that holds the small run `first`."""
    workspace = open_workspace(tmp_path_factory.mktemp("faults"))
    store_small_run(workspace, "first")
    yield workspace
    stop_server(workspace)


def check_runs(workspace: Workspace, *names: str) -> None:
    with open_database(workspace, MANAGED) as database:
        ready = database.read("MATCH (r:Run {state: 'ready'}) RETURN r.name AS name ORDER BY name")
        assert ready["name"].tolist() == sorted(names)
        for name in names:
            assert from_database(database, name) == from_tables(workspace.load_run(name))


def kill_server(workspace: Workspace) -> None:
    state = find_server(workspace)
    assert state is not None
    psutil.Process(state.pid).kill()


def test_a_server_killed_during_a_load(own: Workspace) -> None:
    command = Command(own.root, "ingest", TRACE, "--run", "second", "--load", "bolt")
    command.wait_for("storing relationships")
    kill_server(own)
    killed = time.monotonic()
    code, line = command.end()
    assert time.monotonic() - killed < GONE_S
    assert (code, "Neo4j ended while this command used it" in line) == (3, True), line
    assert not [line for line in command.lines if "retried" in line]
    check_runs(own, "first")
    assert run(own.root, "ingest", TRACE, "--run", "second")[0] == 0
    check_runs(own, "first", "second")


def test_a_server_killed_during_a_query(own: Workspace) -> None:
    command = Command(own.root, "cypher", ENDLESS)
    while find_server(own) is None or not _is_busy(own):
        time.sleep(0.1)
    kill_server(own)
    code, line = command.end()
    assert (code, "Neo4j ended while this command used it" in line) == (3, True), line
    assert run(own.root, "runs")[0] == 0


def _is_busy(workspace: Workspace) -> bool:
    with open_database(workspace, MANAGED) as database:
        running = database.read(
            "SHOW TRANSACTIONS YIELD currentQuery WHERE currentQuery STARTS WITH 'UNWIND r'"
        )
    return len(running) > 0


@pytest.mark.parametrize("stage", ["storing nodes", "storing relationships"])
def test_a_cut_connection_leaves_a_run_that_the_next_ingest_completes(
    stage: str, own: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "_CONNECT_LIMIT_S", 2.0)
    tables = hostile_graph("cut", list("abcdef"))
    manifest = {"run": "cut", "created": "1", "sources": [{"sha256": "00"}]}
    elsewhere = open_workspace(tmp_path)
    with open_database(own, MANAGED) as database:
        state = find_server(own)
        assert state is not None
        relay = Relay(state.bolt)

        def cut(text: str, done: int, total: int) -> None:
            if text == stage:
                relay.cut()

        behind = replace(database.settings, uri=f"bolt://127.0.0.1:{relay.port}")
        with pytest.raises(StoreError, match=f"{relay.port} cannot be reached"):
            store_run(elsewhere, behind, tables, manifest, cut)
        states = database.read("MATCH (r:Run {name: 'cut'}) RETURN r.state AS state")["state"].tolist()
        assert (states, elsewhere.manifest("cut")) == (["loading"], None)
        store_run(elsewhere, database.settings, tables, manifest)
        assert from_database(database, "cut") == from_tables(tables)
        delete_run(database, "cut")


def test_stale_files_of_dead_commands_do_no_harm(own: Workspace) -> None:
    own.server_file.write_text(
        f'{{"pid": {os.getpid()}, "bolt": 9, "http": 9, "linger_s": null, "database": "rebuilt"}}'
    )
    for path in (own.use_lock, own.server_lock, own.ingest_lock):
        path.write_text("4711")
    check_runs(own, "first", "second")


def test_a_database_that_cannot_be_opened_is_made_anew_from_the_kept_runs(own: Workspace) -> None:
    stop_server(own)
    home, broken = own.neo4j_home, own.root / "neo4j.broken"
    online = "SHOW INDEXES YIELD name, state WHERE state = 'ONLINE'"
    (home / "data" / "databases" / "neo4j" / "neostore").write_text("broken")
    check_runs(own, "first", "second")
    with open_database(own, MANAGED) as database:
        assert len(database.read(online)) >= len(INDEXES)
        for index in ddl.names() - {"tracegraph_run_name"}:
            database.write(f"DROP INDEX {index}")
    # A kill before the indexes: they are made up for.
    (home / "generation.json").unlink()
    with open_database(own, MANAGED) as database:
        assert len(database.read(online)) >= len(INDEXES)
    # A kill between the two steps of the exchange: the old home is taken back, and restored again.
    shutil.rmtree(home)
    assert (broken / "data" / "databases" / "neo4j" / "neostore").read_text() == "broken"
    check_runs(own, "first", "second")


def test_a_wrong_server_is_refused_in_one_line(own: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    # The real server calls itself a version that is asked for by this setting.
    real = java.server_command
    flag = "-Dinternal.neo4j.custom.version=4.4.0"
    monkeypatch.setattr(java, "server_command", lambda *a, **b: [real(*a, **b)[0], flag, *real(*a, **b)[1:]])
    with lock(own.server_lock):
        state = server._launch(own, server._free_ports(), "neo4j", keep=True)
    password = own.password_file.read_text().strip()
    try:
        while not server._listens(state.bolt):
            assert find_server(own) is not None
            time.sleep(0.1)
        for secret, words in ((password, "needs Neo4j 5 or newer"), ("wrong-word", "refuses the login")):
            code, line = run(own.root, "--uri", state.ports.uri, "--password", secret, "runs")
            assert (code, words in line) == (3, True), line
    finally:
        stop_server(own)


@contextmanager
def small_disk(folder: Path) -> Iterator[None]:
    mount = ["mount", "-t", "tmpfs", "-o", f"size={DISK_MIB}m", "tmpfs", str(folder)]
    if os.geteuid() != 0 or shutil.which("mount") is None:
        pytest.skip("only root can mount a small disk")
    done = subprocess.run(mount, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"a small disk cannot be mounted here: {done.stderr.strip()}")
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def test_a_load_that_filled_the_disk_gives_its_space_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with small_disk(tmp_path):
        workspace = open_workspace(tmp_path)
        store_small_run(workspace, "first")
        command = Command(tmp_path, "ingest", TRACE, "--run", "second", "--load", "bolt")
        command.wait_for("storing relationships")
        command.kill()
        stop_server(workspace)
        held = workspace.neo4j_home / "data" / "transactions" / "neo4j" / "held"
        held.write_bytes(bytes(max(0, shutil.disk_usage(tmp_path).free - (1 << 20))))
        assert run(tmp_path, "runs")[0] == 3
        # A kill between the steps: the next command goes on.
        with monkeypatch.context() as patch:
            patch.setattr("tracegraph.store.managed.rebuild.restore.build_home", interrupted)
            with pytest.raises(KeyboardInterrupt):
                compact(workspace)
        assert not (workspace.neo4j_home / "data").exists()
        check_runs(workspace, "first")
        assert not held.exists()
        code, line = run(tmp_path, "ingest", TRACE, "--run", "second")
        assert code == 0, line
        check_runs(workspace, "first", "second")


def interrupted(*_: object) -> None:
    raise KeyboardInterrupt


def test_a_full_disk_is_named_and_harms_nothing(tmp_path: Path) -> None:
    with small_disk(tmp_path):
        workspace = open_workspace(tmp_path)
        store_small_run(workspace, "first")
        filler = tmp_path / "filler"
        with filler.open("wb") as file:
            free = shutil.disk_usage(tmp_path).free
            file.write(bytes(max(0, free - (1 << 20))))
        for load in LOADS:
            code, line = run(tmp_path, "ingest", TRACE, "--run", "second", "--load", load)
            assert (code, f"the disk with {tmp_path} is full" in line) == (3, True), line
        begun = time.monotonic()
        code, line = run(tmp_path, "runs")
        assert (code, f"the disk with {tmp_path} is full" in line) == (3, True), line
        assert time.monotonic() - begun < AT_ONCE_S
        filler.unlink()
        check_runs(workspace, "first")
        code, line = run(tmp_path, "ingest", TRACE, "--run", "second")
        assert code == 0, line
        check_runs(workspace, "first", "second")
