"""A workspace keeps runs whole under any name, and says clearly what it cannot use."""

import json
import os
from pathlib import Path

import pytest
from export import from_tables
from hostile import hostile_graph

from tracegraph.base.errors import InputError, StoreError
from tracegraph.store.managed.server.home import prepare
from tracegraph.store.tables import GraphTables
from tracegraph.store.workspace import Workspace, open_workspace

NAMES = [
    "plain",
    "../up",
    "..",
    ".",
    ".hidden",
    "a/b",
    "nul\x00",
    "space and ümlaut",
    "CON:",
    "%2E",
    "-rf",
    "*",
]


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return open_workspace(tmp_path / "made" / "on demand")


def small(run: str, first: str = "a") -> GraphTables:
    return hostile_graph(run, [first, *"bcdef"])


def keep(workspace: Workspace, run: str, first: str = "a", created: str = "1") -> Path:
    return workspace.save_run(small(run, first), {"run": run, "created": created})


@pytest.mark.parametrize("name", NAMES)
def test_any_name_is_one_folder_below_runs(name: str, workspace: Workspace) -> None:
    folder = keep(workspace, name)
    assert folder.parent == workspace.runs_dir
    assert not folder.name.startswith(".")
    assert from_tables(workspace.load_run(name)) == from_tables(small(name))
    assert workspace.manifests() == [{"run": name, "created": "1"}]
    workspace.delete_run(name)
    assert workspace.manifests() == []


def test_what_a_killed_command_left_of_a_new_workspace_is_used(tmp_path: Path) -> None:
    (tmp_path / "workspace.new").write_text("{")
    for _ in range(2):
        open_workspace(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"workspace.json", "runs", "server.lock"}


def test_names_do_not_meet(workspace: Workspace) -> None:
    assert len({workspace.run_folder(name) for name in NAMES}) == len(NAMES)


@pytest.mark.parametrize("name", ["", "x" * 300, "ü" * 100])
def test_a_name_that_no_folder_can_have_is_refused(name: str, workspace: Workspace) -> None:
    with pytest.raises(InputError, match="run name"):
        workspace.run_folder(name)


def test_runs_are_listed_oldest_first(workspace: Workspace) -> None:
    for name, created in (("b", "2"), ("c", "3"), ("a", "1")):
        keep(workspace, name, created=created)
    assert [entry["run"] for entry in workspace.manifests()] == ["a", "b", "c"]


@pytest.mark.parametrize("failing", ["save", "sync"])
def test_a_failed_save_leaves_the_old_run(
    failing: str, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    keep(workspace, "run", "old")
    with monkeypatch.context() as patch:
        patch.setattr(*{"save": (GraphTables, "save"), "sync": ("os.fsync",)}[failing], fail)
        with pytest.raises(StoreError, match="No space left"):
            keep(workspace, "run", "new")
    assert from_tables(workspace.load_run("run")) == from_tables(small("run", "old"))
    keep(workspace, "run", "new")
    assert from_tables(workspace.load_run("run")) == from_tables(small("run", "new"))
    assert [path.name for path in workspace.runs_dir.iterdir()] == ["run"]


def test_an_absent_run_is_named(workspace: Workspace) -> None:
    assert workspace.manifest("absent") is None
    with pytest.raises(StoreError, match="'absent'"):
        workspace.load_run("absent")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ('{"schema_version": 999}', "newer"),
        ('{"schema_version": 0}', "older"),
        ("[]", "damaged"),
        ("", "damaged"),
    ],
)
def test_a_workspace_of_another_version_is_refused(content: str, words: str, workspace: Workspace) -> None:
    (workspace.root / "workspace.json").write_text(content)
    with pytest.raises(StoreError, match=words):
        open_workspace(workspace.root)


def test_a_damaged_manifest_is_named(workspace: Workspace) -> None:
    (keep(workspace, "run") / "manifest.json").write_text("{")
    with pytest.raises(StoreError, match=r"manifest\.json is damaged"):
        workspace.manifests()


def test_a_workspace_below_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="Not a directory"):
        open_workspace(tmp_path / "file" / "workspace")


def test_a_new_workspace_is_private(workspace: Workspace) -> None:
    assert workspace.root.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("mode", [0o755, 0o777])
def test_what_an_existing_folder_gets_is_private(mode: int, tmp_path: Path) -> None:
    tmp_path.chmod(mode)
    before = os.umask(0)
    try:
        for _ in range(2):
            workspace = open_workspace(tmp_path)
            keep(workspace, "run")
            prepare(workspace, workspace.neo4j_home)
            with workspace.spool() as spool:
                assert _reached(tmp_path) == set()
                assert spool.stat().st_mode & 0o777 == 0o700
            for left in ("runs", "neo4j", "workspace.json", "server.lock"):  # as an earlier version made them
                (tmp_path / left).chmod(mode)
        open_workspace(tmp_path)
    finally:
        os.umask(before)
    assert _reached(tmp_path) == set()
    assert tmp_path.stat().st_mode & 0o777 == mode
    kept = [path for path in workspace.run_folder("run").iterdir() if path.is_file()]
    assert {path.stat().st_mode & 0o777 for path in kept} == {0o600}


def _reached(folder: Path) -> set[str]:
    """What others can read below a folder that they may enter."""
    found: set[str] = set()
    for path in folder.iterdir():
        mode = path.stat().st_mode
        if path.is_dir():
            found |= _reached(path) | {path.name} if mode & 0o077 else set()
        elif mode & 0o077:
            found.add(path.name)
    return found


def test_manifests_are_readable_json(workspace: Workspace) -> None:
    folder = keep(workspace, "run")
    assert json.loads((folder / "manifest.json").read_text())["run"] == "run"
