"""docs/workflow.md: its commands run one after the other in one shell, and print what is shown."""

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tracegraph.store.session import find_server
from tracegraph.store.workspace import open_workspace

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "workflow.md"
TEXT = PAGE.read_text(encoding="utf-8")
BLOCKS = re.compile(r"^```(?P<kind>\w+)(?P<mark>[^\n]*)\n(?P<code>.*?)^```\n", re.DOTALL | re.M)
LIMIT_S = 300
LEFT_OUT = "..."
"""A line of what is shown that stands for any number of lines."""


def test_every_block_is_executed_shown_or_marked() -> None:
    kinds = [(block["kind"], block["mark"].strip()) for block in BLOCKS.finditer(TEXT)]
    assert set(kinds) == {("sh", ""), ("text", ""), ("sh", "no-run"), ("python", "no-run")}
    assert TEXT.count("```") == 2 * len(kinds)
    assert kinds.count(("sh", "")) >= 10


def test_what_needs_torch_is_python() -> None:
    for block in BLOCKS.finditer(TEXT):
        if block["kind"] == "python":
            ast.parse(block["code"])


@pytest.mark.exhaustive
def test_the_commands_print_what_is_shown(tmp_path: Path) -> None:
    """A failing command ends the shell: its exit code and what it said are in the failure."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "TRACEGRAPH_WORKSPACE": str(tmp_path / "workspace"),
        "TRACEGRAPH_LINGER": "10",
    }
    environment.pop("COLUMNS", None)
    asked = [block for block in BLOCKS.finditer(TEXT) if block["kind"] == "sh" and not block["mark"].strip()]
    try:
        for block in asked:
            done = subprocess.run(
                ["bash", "-c", f"set -e\n{block['code']}"],
                cwd=tmp_path,
                env=environment,
                capture_output=True,
                text=True,
                check=False,
                timeout=LIMIT_S,
            )
            assert done.returncode == 0, (block["code"], done.stderr)
            shown = shown_after(block)
            if shown is not None:
                assert is_shown(done.stdout, shown), (block["code"], done.stdout)
        assert find_server(open_workspace(tmp_path / "workspace")) is None
    finally:
        subprocess.run(["tracegraph", "db", "stop"], env=environment, capture_output=True, check=False)
    assert (tmp_path / "report" / "report.html").is_file()
    assert (tmp_path / "path.svg").is_file()


@pytest.mark.parametrize(
    ("printed", "shown", "same"),
    [
        ("a \nb\nc\n", "a\n...\nc\n", True),
        ("a\nc\n", "a\n...\nc\n", True),
        ("a\nb\n", "a\n", False),
        ("a.b\n", "a.b\n", True),
        ("axb\n", "a.b\n", False),
        ("\na\nb\n", "a\n...\n", True),
    ],
)
def test_what_is_shown_may_leave_lines_out(printed: str, shown: str, same: bool) -> None:
    assert is_shown(printed, shown) is same


def shown_after(block: re.Match[str]) -> str | None:
    """What the page shows below a block: the text block that follows at once."""
    following = BLOCKS.match(TEXT, block.end())
    return following["code"] if following is not None and following["kind"] == "text" else None


def is_shown(printed: str, shown: str) -> bool:
    """Whether the lines are those shown, but for spaces at their ends and empty lines around all."""
    lines = "".join(f"{line.rstrip()}\n" for line in printed.strip("\n").splitlines())
    pattern = "".join(
        r"(?:.*\n)*?" if line == LEFT_OUT else f"{re.escape(line.rstrip())}\n" for line in shown.splitlines()
    )
    return re.fullmatch(pattern, lines) is not None
