"""The examples' scripts run, and run again with something else."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.mark.exhaustive
def test_report_script_for_one_trace_after_another(tmp_path: Path) -> None:
    """On a workspace of its own: the script stops the server."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "TRACEGRAPH_WORKSPACE": str(tmp_path / "workspace")}
    for name in ("simulated_gpu", "two_threads"):
        command = [EXAMPLES / "report.sh", EXAMPLES / "traces" / f"{name}.json.gz", tmp_path / "report"]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert "tracegraph:" not in done.stderr
        assert f"run {name}-" in done.stdout
        assert f"Run {name}-" in done.stdout
    assert (tmp_path / "report" / "report.html").is_file()
