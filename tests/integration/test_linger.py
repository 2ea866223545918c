"""How long Java lives: a server for some time after its last use, an import as long as its command."""

import json
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest
from commands import Command, run

from tracegraph.base.errors import StoreError
from tracegraph.cli.main import main
from tracegraph.cli.server_ahead import begin_server
from tracegraph.ingest.sources.source import Source
from tracegraph.store.connection_settings import ConnectionSettings
from tracegraph.store.managed.server import server
from tracegraph.store.session import begun_ahead, find_server, open_database, stop_server
from tracegraph.store.workspace import Workspace, open_workspace
from tracegraph.workbench.methods.server_ahead import needs_server

TRACE = Path(__file__).parents[2] / "examples" / "traces" / "simulated_gpu.json.gz"
SOON_S = 20.0  # a server takes some seconds to end; a busy machine more
LONG_QUERY = "UNWIND range(1, 100000000000) AS i RETURN sum(i)"


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    """A workspace whose server nobody keeps."""
    workspace = open_workspace(tmp_path_factory.mktemp("linger"))
    yield workspace
    stop_server(workspace)


def ask(workspace: Workspace, linger: str) -> int:
    return main(["--workspace", str(workspace.root), "--linger", linger, "cypher", "RETURN 1"])


def becomes(wanted: Callable[[], bool]) -> bool:
    limit = time.monotonic() + SOON_S
    while not wanted() and time.monotonic() < limit:
        time.sleep(0.05)
    return wanted()


def javas(workspace: Workspace) -> list[int]:
    """Numbers of the Java processes of a workspace."""
    named = [(process, process.info["cmdline"] or [""]) for process in psutil.process_iter(["cmdline"])]
    return [
        process.pid
        for process, command in named
        if Path(command[0]).name == "java" and any(str(workspace.root) in word for word in command)
    ]


def test_a_server_lingers_and_says_so_once(own: Workspace, capsys: pytest.CaptureFixture[str]) -> None:
    assert ask(own, "10") == 0
    first = find_server(own)
    assert first is not None
    assert "Neo4j stays ready for 10 idle minutes" in capsys.readouterr().err
    assert ask(own, "10") == 0
    assert (find_server(own), capsys.readouterr().err) == (first, "")
    assert ask(own, "0") == 0
    assert (find_server(own), javas(own), capsys.readouterr().err) == (None, [], "")


def test_a_wrong_query_leaves_the_server(own: Workspace) -> None:
    wrong = ["--workspace", str(own.root), "--linger", "10", "cypher", "RETRUN 1"]
    assert main(wrong) == 2
    assert find_server(own) is not None
    assert stop_server(own)


def test_a_lingering_server_ends_by_itself(own: Workspace) -> None:
    assert ask(own, "0.02") == 0
    assert becomes(lambda: not javas(own))
    assert (find_server(own), own.server_file.exists()) == (None, False)


@pytest.mark.exhaustive
def test_a_lingering_server_is_in_nobodys_way(own: Workspace) -> None:
    assert ask(own, "10") == 0
    assert run(own.root, "--linger", "10", "ingest", TRACE, "--run", "second", "--load", "bulk")[0] == 0
    lingering = find_server(own)
    assert lingering is not None
    assert lingering.linger_s == 600.0
    assert run(own.root, "--linger", "10", "db", "compact")[0] == 0
    assert run(own.root, "--linger", "10", "runs", "delete", "second")[0] == 0
    assert stop_server(own)


@pytest.mark.exhaustive
def test_the_server_of_a_killed_command_ends(own: Workspace) -> None:
    command = Command(own.root, "--linger", "0", "cypher", LONG_QUERY)
    assert becomes(lambda: find_server(own) is not None)
    command.kill_alone()
    assert becomes(lambda: not javas(own))


@pytest.mark.exhaustive
def test_the_server_of_a_command_killed_while_it_starts_ends(own: Workspace) -> None:
    command = Command(own.root, "--linger", "0", "cypher", "RETURN 1")
    assert becomes(lambda: bool(javas(own)))
    command.kill_alone()
    assert becomes(lambda: not javas(own))


def test_a_report_on_a_small_trace_has_its_server_begin_before_it_is_imported(tmp_path: Path) -> None:
    workspace = open_workspace(tmp_path)
    options = {"workspace": tmp_path, "linger": 10.0, "uri": None}
    left_alone = [
        ("ingest", [str(TRACE)], options),
        ("report", [], options),
        ("report", [str(TRACE), "--load", "bulk"], options),
        ("report", ["https://example.org/trace.json.gz"], options),
        ("report", [str(TRACE)], {**options, "uri": "bolt://localhost:1"}),
        ("report", [str(TRACE)], {**options, "linger": 0.0}),
    ]
    for command, words, given in left_alone:
        begin_server(command, words, given)
        assert find_server(workspace) is None
    begin_server("report", [str(TRACE)], options)
    begun = find_server(workspace)
    assert begun is not None
    assert begun.linger_s == 600.0
    assert stop_server(workspace)


def test_a_large_first_run_is_imported_without_a_server(tmp_path: Path, own: Workspace) -> None:
    large = tmp_path / "large.json"
    with large.open("wb") as file:
        file.truncate(11_000_000)  # packed it would have more than a million bytes
    first = open_workspace(tmp_path / "first")
    assert not needs_server(first, [Source(str(large))])
    assert needs_server(first, [Source(str(large))], "bolt")
    assert needs_server(own, [Source(str(large))])
    assert needs_server(first, [Source(str(TRACE))])
    assert not needs_server(first, [Source(str(TRACE))], "bulk")


@pytest.mark.exhaustive
def test_a_server_that_does_not_come_up_is_ended(own: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "_START_LIMIT_S", 0.0)
    with begun_ahead(own):
        pass
    with pytest.raises(StoreError, match="did not answer"), open_database(own, ConnectionSettings()):
        pass
    assert becomes(lambda: not javas(own))


@pytest.mark.exhaustive
@pytest.mark.parametrize("has_server", [False, True])
def test_the_import_of_a_killed_command_ends(own: Workspace, tmp_path: Path, has_server: bool) -> None:
    workspace = own if has_server else open_workspace(tmp_path)
    command = Command(workspace.root, "ingest", TRACE, "--run", "killed", "--load", "bulk")
    command.wait_for("importing into Neo4j")
    assert becomes(lambda: bool(javas(workspace)))
    command.kill_alone()
    assert becomes(lambda: not javas(workspace))


@pytest.mark.exhaustive
def test_a_used_server_outlives_its_linger(own: Workspace) -> None:
    command = Command(own.root, "--linger", "0.01", "cypher", LONG_QUERY)
    assert becomes(lambda: find_server(own) is not None)
    os.utime(own.server_file, (0.0, 0.0))
    time.sleep(3.0)
    assert json.loads(own.server_file.read_text())["linger_s"] == pytest.approx(0.6)
    assert javas(own)
    assert command.interrupt() < SOON_S
