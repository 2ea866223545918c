"""What the shell's completion offers: names of commands, queries and runs, without a server."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.shell_completion import ShellComplete

from tracegraph.cli.main import cli
from tracegraph.queries.catalog import queries
from tracegraph.store.workspace import open_workspace

RUNS = ["first-run", "second-run"]


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A workspace that keeps RUNS."""
    opened = open_workspace(tmp_path)
    for number, run in enumerate(RUNS):
        folder = opened.run_folder(run)
        folder.mkdir(parents=True)
        (folder / "manifest.json").write_text(json.dumps({"run": run, "created": str(number)}))
    monkeypatch.delenv("NEO4J_URI", raising=False)
    return str(tmp_path)


def offered(*words: str) -> list[str]:
    """What is offered for the last of the words."""
    *before, begun = words
    found = ShellComplete(cli, {}, "tracegraph", "_TRACEGRAPH_COMPLETE").get_completions(before, begun)
    return [one.value for one in found]


def test_names_of_queries() -> None:
    assert offered("query", "hot") == [name for name in queries() if name.startswith("hot")]
    assert offered("query", "--describe", "") == list(queries())


@pytest.mark.parametrize(
    "command",
    [
        ("query", "hotspots", "--run"),
        ("cypher", "RETURN $run", "--run"),
        ("report", "--run"),
        ("runs", "show"),
        ("diff",),
        ("diff", "first-run"),
    ],
)
def test_names_of_runs(command: tuple[str, ...], workspace: str) -> None:
    assert offered("--workspace", workspace, *command, "") == RUNS
    assert offered("--workspace", workspace, *command, "s") == ["second-run"]
    assert offered("--workspace", workspace, "--uri", "bolt://127.0.0.1:1", *command, "") == []


def test_the_workspace_of_the_environment(workspace: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACEGRAPH_WORKSPACE", workspace)
    assert offered("runs", "delete", "f") == ["first-run"]
    monkeypatch.setenv("NEO4J_URI", "bolt://127.0.0.1:1")
    assert offered("runs", "delete", "f") == []


def test_no_workspace_is_made(tmp_path: Path) -> None:
    assert offered("--workspace", str(tmp_path / "new"), "report", "--run", "") == []
    assert not (tmp_path / "new").exists()


def test_names_of_commands_import_nothing_heavy() -> None:
    program = (
        "import sys; from click.shell_completion import ShellComplete; from tracegraph.cli.main import cli; "
        "print([i.value for i in ShellComplete(cli, {}, 't', '_T').get_completions([], 'r')]); "
        "print('pandas' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["['report', 'runs', 'render']", "False"]
