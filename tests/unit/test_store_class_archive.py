"""The archive of Neo4j's classes: its name, one try, and commands that go on without. No Java runs here."""

import gzip
import subprocess
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tracegraph.base.locks import lock
from tracegraph.base.progress import silent
from tracegraph.store.managed.java import class_archive, class_list

Run = Callable[..., Any]


def dumping(command: list[str], **_: object) -> SimpleNamespace:
    target = next(flag.partition("=")[2] for flag in command if flag.startswith("-XX:SharedArchiveFile="))
    Path(target).write_text("archive")
    return SimpleNamespace(returncode=0, stdout="")


def refusing(command: list[str], **_: object) -> SimpleNamespace:
    return SimpleNamespace(returncode=1, stdout="Error occurred\nCDS is unsupported\n")


def making_nothing(command: list[str], **_: object) -> SimpleNamespace:
    return SimpleNamespace(returncode=0, stdout="")


def hanging(command: list[str], **_: object) -> SimpleNamespace:
    raise subprocess.TimeoutExpired("java", 300)


def absent(command: list[str], **_: object) -> SimpleNamespace:
    raise FileNotFoundError("no java")


def left_in(folder: Path) -> set[str]:
    return {path.suffix for path in folder.iterdir()} - {".lock"}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("version", lambda _: "21.0.99"),
        ("sysconfig", SimpleNamespace(get_platform=lambda: "linux-other")),
        ("_COLLECTOR", "OtherGC"),
        ("_packed_list", lambda: b"another list"),
        ("unsigned_jars", SimpleNamespace(in_use=lambda _: True)),
    ],
)
def test_what_it_depends_on_gives_it_another_name(
    name: str, value: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = class_archive.archive_path(tmp_path)
    assert before.parent == tmp_path
    assert class_archive.archive_path(tmp_path) == before
    monkeypatch.setattr(class_archive, name, value)
    assert class_archive.archive_path(tmp_path) != before


def test_java_is_told_of_an_archive_that_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert class_archive.flags(tmp_path) == ["-XX:+UseSerialGC"]
    class_archive.archive_path(tmp_path).write_text("")
    assert f"-XX:SharedArchiveFile={class_archive.archive_path(tmp_path)}" in class_archive.flags(tmp_path)
    monkeypatch.setenv(class_archive.RECORD_VARIABLE, "/lists")
    assert class_archive.flags(tmp_path)[1:] == ["-XX:DumpLoadedClassList=/lists/%p.lst"]


def test_it_is_made_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stages: list[str] = []
    monkeypatch.setattr(subprocess, "run", dumping)
    (tmp_path / "classes-killed.partial").mkdir()
    class_archive.make(tmp_path, "a.jar", lambda stage, *_: stages.append(stage))
    assert class_archive.archive_path(tmp_path).read_text() == "archive"
    assert left_in(tmp_path) == {".jsa"}
    assert len(stages) == 1
    class_archive.make(tmp_path, "a.jar", lambda *_: pytest.fail("made again"))


@pytest.mark.parametrize(
    ("run", "reason"),
    [
        (refusing, "ended with 1: Error occurred | CDS is unsupported"),
        (making_nothing, "No such file"),
        (hanging, "timed out after 300 seconds"),
        (absent, "no java"),
    ],
)
def test_a_failure_is_kept_and_not_repeated(
    run: Run, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subprocess, "run", run)
    class_archive.make(tmp_path, "a.jar", silent)
    assert reason in (class_archive.failure(tmp_path) or "")
    assert left_in(tmp_path) == {".failed"}
    class_archive.make(tmp_path, "a.jar", lambda *_: pytest.fail("tried again"))
    class_archive.failure_path(tmp_path).unlink()
    monkeypatch.setattr(subprocess, "run", dumping)
    class_archive.make(tmp_path, "a.jar", silent)
    assert left_in(tmp_path) == {".jsa"}
    assert class_archive.failure(tmp_path) is None


def test_a_kill_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def kill(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(subprocess, "run", kill)
    with pytest.raises(KeyboardInterrupt):
        class_archive.make(tmp_path, "a.jar", silent)
    assert left_in(tmp_path) == set()


def test_without_space_or_right_or_alone_nothing_is_tried(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subprocess, "run", pytest.fail)
    class_archive.make(tmp_path / "absent", "a.jar", silent)
    with lock(tmp_path / "classes.lock"):
        class_archive.make(tmp_path, "a.jar", silent)
    monkeypatch.setattr(class_archive.shutil, "disk_usage", lambda _: SimpleNamespace(free=1 << 20))
    class_archive.make(tmp_path, "a.jar", silent)
    assert left_in(tmp_path) == set()


def test_the_shipped_list_names_what_starts() -> None:
    entries = gzip.decompress(class_archive._packed_list()).decode().splitlines()
    assert entries == sorted(set(entries))
    assert max(map(len, entries)) < 4096
    assert {"org/neo4j/server/CommunityEntryPoint", "org/neo4j/cli/AdminTool"} <= set(entries)


def test_recorded_lists_become_one() -> None:
    lists = [
        "# a comment\njava/lang/Object id: 0\n@lambda-proxy b/B run ()V\n",
        f"\njava/lang/Object id: 7\na/A id: 8\n{'x' * 5000} id: 9\n",
    ]
    assert class_list.merge(lists) == ["@lambda-proxy b/B run ()V", "a/A", "java/lang/Object"]
