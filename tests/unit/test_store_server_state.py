"""The managed server's files: settings, state, locks; no server runs here."""

import json
import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tracegraph.base.locks import lock, try_lock, waiting_lock
from tracegraph.store.managed.java import java
from tracegraph.store.managed.java.config import Ports, configuration
from tracegraph.store.managed.server import home, server
from tracegraph.store.workspace import Workspace, open_workspace


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return open_workspace(tmp_path)


def test_the_server_is_private_and_takes_no_files() -> None:
    settings = dict(line.split("=", 1) for line in configuration(Ports(1, 2), "other").splitlines())
    expected = {
        "initial.dbms.default_database": "other",
        "server.default_listen_address": "127.0.0.1",
        "server.bolt.listen_address": "127.0.0.1:1",
        "server.http.listen_address": "127.0.0.1:2",
        "server.https.enabled": "false",
        "dbms.security.auth_enabled": "true",
        "dbms.usage_report.enabled": "false",
        "dbms.security.allow_csv_import_from_file_urls": "false",
        "internal.dbms.cypher_ip_blocklist": "0.0.0.0/0,::/0",
        "db.logs.query.enabled": "OFF",
        "internal.server.bolt.thread_pool_shutdown_wait_time": "0s",
    }
    assert {name: settings.get(name) for name in expected} == expected


def test_a_server_without_the_browser_has_no_http_port() -> None:
    settings = dict(line.split("=", 1) for line in configuration(Ports(1, None), "neo4j").splitlines())
    assert settings["server.http.enabled"] == "false"
    assert Ports(1, None).browser is None


def test_a_server_gives_back_what_it_no_longer_needs() -> None:
    settings = dict(line.split("=", 1) for line in configuration(Ports(1, None), "neo4j").splitlines())
    assert settings["db.checkpoint"] == "VOLUME"
    assert settings["db.checkpoint.interval.volume"] == "64m"
    assert settings["db.tx_log.rotation.size"] == "32m"
    assert "-XX:+UseSerialGC" in java.server_command(Path("home"), brief=False)


def test_a_brief_server_differs_in_how_java_compiles_only() -> None:
    brief, long = (set(java.server_command(Path("home"), brief=brief)) for brief in (True, False))
    assert {flag.partition("=")[0] for flag in brief - long} == {
        "-XX:TieredStopAtLevel",
        "-XX:ReservedCodeCacheSize",
    }
    assert all(flag.startswith("-XX:Tier4") for flag in long - brief)


def test_a_password_is_as_the_admin_tool_writes_it(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    salt = "e63e5ebc3f2e3513349e83631ec9a24a103c3ade30ac28c25fafd2ba6426c515"
    monkeypatch.setattr("secrets.token_bytes", lambda _: bytes.fromhex(salt))
    workspace.password_file.write_text("575012f460efd04db617a7643caab30e2d242740ec8515d3\n")
    assert not home.is_prepared(workspace.neo4j_home)
    home.prepare(workspace, workspace.neo4j_home)
    assert home.is_prepared(workspace.neo4j_home)
    file = workspace.neo4j_home / "data" / "dbms" / "auth.ini"
    digest = "947b17a2ea0b62a38223ad9ef222637e70ebb92e6431ff3915af81df4e4b4997"
    assert file.read_text() == f"neo4j:SHA-256,{digest},{salt},1024:\n"
    assert file.stat().st_mode & 0o777 == 0o600


def test_every_workspace_has_a_password_of_its_own(tmp_path: Path) -> None:
    files = []
    for name in "ab":
        workspace = open_workspace(tmp_path / name)
        home.prepare(workspace, workspace.neo4j_home)
        files.append(workspace.password_file)
    first, second = (file.read_text().strip() for file in files)
    assert len(first) == len(second) == 48
    assert first != second
    assert [file.stat().st_mode & 0o777 for file in files] == [0o600] * 2


@pytest.mark.parametrize(
    "content",
    [
        None,
        "",
        "{}",
        "[1]",
        '{"pid": "x", "bolt": 1, "http": 2, "linger_s": 0.0}',
        pytest.param(json.dumps({"pid": os.getpid(), "bolt": 1, "http": 2, "linger_s": None}), id="reused"),
        json.dumps({"pid": 2**22 + 1, "bolt": 1, "http": 2, "linger_s": None}),  # no such process
        json.dumps({"pid": -1, "bolt": 1, "http": 2, "linger_s": None}),
    ],
)
def test_a_state_file_alone_is_no_server(content: str | None, workspace: Workspace) -> None:
    if content is not None:
        workspace.server_file.write_text(content)
    assert server.running(workspace) is None
    assert server.stop(workspace) is False
    assert not workspace.server_file.exists()


def test_a_server_is_known_by_its_home(tmp_path: Path) -> None:
    command = java.server_command(tmp_path / "a b", brief=True)
    assert java.is_server(command, tmp_path / "a b")
    assert not java.is_server(command, tmp_path / "a")


@pytest.mark.parametrize(("mib", "heap"), [(256, "-Xmx512m"), (8192, "-Xmx2048m"), (1 << 20, "-Xmx4096m")])
def test_the_heap_fits_the_machine(mib: int, heap: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(java, "memory_mib", lambda: mib)
    assert heap in java.server_command(Path("home"), brief=False)


def test_java_gets_no_flags_of_the_users_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", "-Xmx1m")
    assert "JAVA_TOOL_OPTIONS" not in java.environment(tmp_path)


@pytest.mark.parametrize(
    ("log", "cause"),
    [
        ("", ""),
        ("one\n\ntwo\n", "one | two"),
        (
            "ERROR Failed\n\tat a.b\nCaused by: outer\n\tat c\nCaused by: inner: why\n\t... 3 more\nINFO bye",
            "inner: why",
        ),
    ],
)
def test_the_innermost_cause_is_told(log: str, cause: str) -> None:
    assert java.cause_in(log) == cause


def test_locks_admit_sharers_and_one_owner(tmp_path: Path) -> None:
    path = tmp_path / "made" / "lock"
    with lock(path, shared=True), lock(path, shared=True), try_lock(path) as alone:
        assert not alone
    with try_lock(path) as alone, try_lock(path) as second:
        assert (alone, second) == (True, False)
    with try_lock(path) as alone:
        assert alone


def test_a_waiting_command_says_so(tmp_path: Path) -> None:
    path, said = tmp_path / "lock", threading.Event()
    with ThreadPoolExecutor(1) as pool:
        with lock(path):
            waiting = pool.submit(_enter, path, said.set)
            assert said.wait(10)
            assert not waiting.done()
        waiting.result(10)
    said.clear()
    _enter(path, said.set)
    assert not said.is_set()


def _enter(path: Path, say_waiting: Callable[[], None]) -> None:
    with waiting_lock(path, say_waiting):
        pass
