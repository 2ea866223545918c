"""docs/workflow.md: its commands run in their order, and print what it shows."""

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
BLOCKS = re.findall(
    r"```sh\n(.*?)```\n(?:```text\n(.*?)```)?", (ROOT / "docs" / "workflow.md").read_text(), re.DOTALL
)


def test_the_commands_run_and_print_what_is_shown(tmp_path: Path) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    workspace = str(tmp_path / "workspace")
    environment = {**os.environ, "PATH": path, "TRACEGRAPH_WORKSPACE": workspace, "COLUMNS": "100"}
    try:
        for commands, shown in BLOCKS:
            done = subprocess.run(
                ["bash", "-euo", "pipefail", "-c", commands],
                cwd=tmp_path,
                env=environment,
                capture_output=True,
                text=True,
                check=False,
            )
            assert (done.returncode, done.stderr) == (0, ""), commands
            printed = [line.rstrip() for line in done.stdout.splitlines()]
            assert [line for line in shown.splitlines() if line not in printed] == [], commands
    finally:
        subprocess.run(["tracegraph", "db", "stop"], env=environment, check=False, capture_output=True)
    assert (tmp_path / "flame.svg").read_text().startswith("<")
    assert len(BLOCKS) == 9
