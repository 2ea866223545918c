"""Runs the examples, and reads what they print."""

import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
LIMIT_S = 1200
"""An example takes one to three minutes on a quiet machine."""
ABORTED = "terminate called without an active exception"
"""What a rank says whose threads in torch abort it as it ends: rare, at no fault of the example."""
needs_torch = pytest.mark.skipif(find_spec("torch") is None, reason="torch is not installed")


def run_example(name: str, *arguments: Path) -> str:
    """What an example prints into the folder named last; once more in another where torch aborted a rank."""
    done = _run(name, *arguments)
    if done.returncode and ABORTED in done.stdout + done.stderr:
        done = _run(name, *arguments[:-1], arguments[-1].with_name("again"))
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def _run(name: str, *arguments: Path) -> "subprocess.CompletedProcess[str]":
    """Run an example: the tools of this test's environment come first, and one server serves it."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    command = [EXAMPLES / name / "run.sh", *arguments]
    return subprocess.run(
        command,
        env={**os.environ, "PATH": path, "TRACEGRAPH_LINGER": "10"},
        capture_output=True,
        text=True,
        check=False,
        timeout=LIMIT_S,
    )


def rows_after(said: str, question: str) -> list[list[str]]:
    """The cells of the first table that a question of common/cypher printed."""
    answer = said.split(f"{question}.cypher", 1)[1].split("\n$ ", 1)[0]
    rows = [line.split() for line in answer.splitlines() if line.strip()]
    return [row for row in rows if row[0].isdigit()]


def times_as_fast(said: str) -> list[float]:
    """The measured ratios, in the order in which they were compared."""
    return [float(ratio) for ratio in re.findall(r"^measured .* ([\d.]+) \[[\d.]+–[\d.]+\]$", said, re.M)]
