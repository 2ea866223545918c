"""The managed server's life: started once, found again, stopped, and back after every kind of kill."""

import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import psutil
import pytest

from tracegraph.base.errors import StoreError
from tracegraph.store.connection_settings import ConnectionSettings
from tracegraph.store.managed.java.config import Ports
from tracegraph.store.managed.server import server
from tracegraph.store.managed.server.server import ServerState
from tracegraph.store.session import find_server, open_database, start_server, stop_server
from tracegraph.store.workspace import Workspace, open_workspace

MANAGED = ConnectionSettings()
_HOLD = """
import sys, time
from pathlib import Path
from tracegraph.store.connection_settings import ConnectionSettings
from tracegraph.store.session import open_database
from tracegraph.store.workspace import open_workspace
with open_database(open_workspace(Path(sys.argv[1])), ConnectionSettings()) as database:
    database.write("CREATE (:Survivor)")
    print("open", flush=True)
    time.sleep(600)
"""


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    """A workspace whose server these tests may kill."""
    workspace = open_workspace(tmp_path_factory.mktemp("server"))
    yield workspace
    stop_server(workspace)


def server_pid(workspace: Workspace) -> int:
    state = find_server(workspace)
    assert state is not None
    return state.pid


def count(workspace: Workspace) -> int:
    with open_database(workspace, MANAGED) as database:
        return int(database.read("MATCH (n:Survivor) RETURN count(n) AS n")["n"].iloc[0])


def transaction_log(workspace: Workspace) -> Path:
    folder = workspace.neo4j_home / "data" / "transactions" / "neo4j"
    return max(folder.glob("neostore.transaction.db.*"))


def listening(state: ServerState) -> set[tuple[str, int]]:
    """Addresses and ports that a server listens on."""
    return {
        (item.laddr.ip.removeprefix("::ffff:"), item.laddr.port)
        for item in psutil.Process(state.pid).net_connections("inet")
        if item.status == psutil.CONN_LISTEN
    }


def tear(log: Path, start: int) -> None:
    """Spoil the middle of what follows `start`, as a full disk does."""
    whole = log.read_bytes()
    third = (len(whole) - start) // 3
    assert third > 50
    log.write_bytes(whole[: start + third] + b"\xff" * third + whole[start + 2 * third :])


def test_two_commands_share_one_server_and_the_last_stops_it(own: Workspace) -> None:
    def use(seconds: float) -> int:
        with open_database(own, MANAGED) as database:
            time.sleep(seconds)
            assert database.read("RETURN 1 AS one")["one"].tolist() == [1]
            return server_pid(own)

    begun = time.monotonic()
    with ThreadPoolExecutor(2) as pool:
        pids = set(pool.map(use, [0, 2]))
    print(f"two commands, start to stop: {time.monotonic() - begun:.1f} s")
    assert len(pids) == 1
    assert find_server(own) is None
    assert not psutil.pid_exists(pids.pop())


@pytest.mark.exhaustive
def test_it_comes_back_after_every_kind_of_kill(own: Workspace) -> None:
    command = subprocess.Popen(
        [sys.executable, "-c", _HOLD, str(own.root)], stdout=subprocess.PIPE, text=True
    )
    assert command.stdout is not None
    assert command.stdout.readline() == "open\n"
    pid = server_pid(own)
    with pytest.raises(StoreError, match="another command uses"):
        stop_server(own)
    # The command dies without a word: its server stays, is found, serves and is stopped by the next one.
    command.kill()
    command.wait()
    with open_database(own, MANAGED) as database:
        assert server_pid(own) == pid
        # The server dies on a full disk: the next command starts another, and what was committed is there.
        log = transaction_log(own)
        whole = log.stat().st_size
        database.write("CREATE (:Torn {text: $text})", {"text": "x" * 1000})
        psutil.Process(pid).kill()
        psutil.wait_procs([psutil.Process(pid)] if psutil.pid_exists(pid) else [], timeout=10)
    tear(log, whole)
    assert find_server(own) is None
    assert count(own) == 1
    # A server that no state file knows is ended, since it holds the files.
    start_server(own)
    own.server_file.unlink()
    assert count(own) == 1
    assert find_server(own) is None


@pytest.mark.usefixtures("database")
def test_a_server_is_private_and_serves_no_browser_to_commands(workspace: Workspace) -> None:
    state = find_server(workspace)
    assert state is not None
    assert listening(state) == {("127.0.0.1", state.bolt)}
    assert workspace.password_file.stat().st_mode & 0o777 == 0o600
    password = workspace.password_file.read_text().strip()
    assert not [p for p in psutil.process_iter(["cmdline"]) if password in " ".join(p.info["cmdline"] or [])]


@pytest.mark.exhaustive
def test_a_kept_server_serves_the_browser_and_gets_ports_that_are_free(
    own: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The first choice of ports is taken by another server before ours starts.
    free = server._free_ports()
    with closing(socket.create_server(("127.0.0.1", 0))) as listener:
        taken = listener.getsockname()[1]
        choices = iter([Ports(taken, free.http)])
        real = server._free_ports
        monkeypatch.setattr(server, "_free_ports", lambda: next(choices, None) or real())
        begun = time.monotonic()
        state = start_server(own)
        print(f"start with one retry: {time.monotonic() - begun:.1f} s")
    with open_database(own, MANAGED):
        pass
    assert server_pid(own) == state.pid
    assert listening(state) == {("127.0.0.1", state.bolt), ("127.0.0.1", state.http)}
    with urllib.request.urlopen(str(state.ports.browser)) as page:
        assert b"<title>Neo4j Browser" in page.read()
    begun = time.monotonic()
    assert stop_server(own)
    print(f"stop: {time.monotonic() - begun:.2f} s")
    assert not stop_server(own)


@pytest.mark.exhaustive
def test_a_commands_server_is_kept_as_it_is_while_in_use_and_else_replaced(own: Workspace) -> None:
    with open_database(own, MANAGED) as database:
        pid = server_pid(own)
        state = start_server(own)
        assert (state.pid, state.keep, state.ports.browser) == (pid, True, None)
        assert database.read("RETURN 1 AS one")["one"].tolist() == [1]
    assert stop_server(own)
    command = subprocess.Popen(
        [sys.executable, "-c", _HOLD, str(own.root)], stdout=subprocess.PIPE, text=True
    )
    assert command.stdout is not None
    assert command.stdout.readline() == "open\n"
    left = server_pid(own)
    command.kill()
    command.wait()
    state = start_server(own)
    assert (state.pid != left, state.ports.browser is not None) == (True, True)
    assert stop_server(own)


@pytest.mark.exhaustive
def test_a_failed_start_shows_the_servers_words(tmp_path: Path) -> None:
    workspace = open_workspace(tmp_path)
    (workspace.neo4j_home / "data").mkdir(parents=True)
    (workspace.neo4j_home / "data" / "databases").write_text("a file where a folder must be")
    with pytest.raises(StoreError, match=r"Neo4j ended while starting: .*databases"):
        start_server(workspace)
    assert find_server(workspace) is None


@pytest.mark.exhaustive
def test_a_terminated_command_leaves_no_server(own: Workspace) -> None:
    command = [sys.executable, "-c", "from tracegraph.cli.main import main; raise SystemExit(main())"]
    command += ["--workspace", str(own.root), "cypher", "UNWIND range(1, 100000000000) AS i RETURN sum(i)"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        while find_server(own) is None:
            assert process.poll() is None
            time.sleep(0.1)
        process.terminate()
        assert process.wait(60) == 130
    assert find_server(own) is None


@pytest.mark.exhaustive
def test_a_database_that_cannot_be_opened_is_named_at_once(own: Workspace) -> None:
    with open_database(own, MANAGED):
        pass
    stop_server(own)
    (own.neo4j_home / "data" / "databases" / "neo4j" / "neostore").write_text("broken")
    with pytest.raises(StoreError, match=r"cannot open its database: .*Unable to start.*debug\.log"):
        start_server(own)
    assert find_server(own) is None
