"""The blocks of a page of Markdown, and the shell that runs its commands and compares their output."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
LEFT_OUT = "..."
"""A line of what is shown that stands for any number of lines."""
LIMIT_S = 300
_FENCED = re.compile(
    r"^(?:<!-- not run: (?P<reason>[^\n]+) -->\n)?```(?P<kind>[^\n]*)\n(?P<code>.*?)^```\n", re.DOTALL | re.M
)


@dataclass(frozen=True)
class Block:
    """A fenced block: its kind, why no test runs it (None: one does), its text, and what follows."""

    kind: str
    not_run: str | None
    code: str
    shown: "Block | None"


def blocks_of(page: Path) -> Iterator[Block]:
    """Yield the fenced blocks of a page in their order."""
    text = page.read_text(encoding="utf-8")
    found = [*_FENCED.finditer(text)]
    assert text.count("\n```") + text.startswith("```") == 2 * len(found), f"{page.name}: a fence is open"
    for block in found:
        following = _FENCED.match(text, block.end())
        shown = None if following is None else _block(following, None)
        yield _block(block, shown)


def _block(found: re.Match[str], shown: Block | None) -> Block:
    return Block(found["kind"], found["reason"], found["code"], shown)


def is_shown(printed: str, shown: str) -> bool:
    """Whether the lines are those shown, but for spaces at their ends and empty lines around all."""
    lines = "".join(f"{line.rstrip()}\n" for line in printed.strip("\n").splitlines())
    pattern = "".join(
        r"(?:.*\n)*?" if line == LEFT_OUT else f"{re.escape(line.rstrip())}\n" for line in shown.splitlines()
    )
    return re.fullmatch(pattern, lines) is not None


class Shell:
    """A folder in which a page's commands run as in the project's, with a workspace of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.workspace = folder / "workspace"
        (folder / "examples").symlink_to(ROOT / "examples")
        self.environment = {
            **os.environ,
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "TRACEGRAPH_WORKSPACE": str(self.workspace),
            "TRACEGRAPH_LINGER": "10",
        }
        self.environment.pop("COLUMNS", None)

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        """Run a command and return how it ended and what it said."""
        return subprocess.run(
            command,
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=LIMIT_S,
        )

    def check(self, block: Block) -> None:
        """Run a block of commands or Cypher: it must succeed and print what the page shows below it."""
        if block.kind == "cypher":
            done = self.run("tracegraph", "cypher", block.code, "--format", "csv")
        else:
            done = self.run("bash", "-c", f"set -e\n{block.code}")
        assert done.returncode == 0, (block.code, done.stdout, done.stderr)
        if block.shown is not None and block.shown.kind in ("text", "csv"):
            assert is_shown(done.stdout, block.shown.code), (block.code, done.stdout)

    def close(self) -> None:
        """Stop the server that the commands started."""
        self.run("tracegraph", "db", "stop")
