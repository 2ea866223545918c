"""`tracegraph report` on simulated traces, judged by the oracle's own scripts where they are at hand."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tracegraph.cli.main import main
from tracegraph.store.workspace import Workspace


def run(script: Path, *arguments: str | Path) -> str:
    command = [sys.executable, str(script), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.usefixtures("database")
@pytest.mark.parametrize(
    ("name", "options"),
    [("mixed", ["--int-us"]), ("cpu", ["--regime", "cpu", "--int-us"])],
)
def test_recall_and_overlap(
    oracle_folder: Path, workspace: Workspace, tmp_path: Path, name: str, options: list[str]
) -> None:
    run(oracle_folder / "synth_kineto.py", tmp_path / name, "--events", "20000", *options)
    trace, output = tmp_path / f"{name}_rank0.json", tmp_path / "report"
    arguments = ["--workspace", workspace.root, "--quiet", "report", trace, "-o", output]
    assert main([str(word) for word in arguments]) == 0
    path, truth = output / "critical_path.csv", tmp_path / f"{name}_truth.json"
    score = json.loads(run(oracle_folder / "score.py", truth, path, "--traces", trace, "--json"))
    assert min(score["recall"], score["overlap"]) >= 0.999
    assert score["total"] == pytest.approx(1, abs=5e-4)
    assert score["tiling"] == pytest.approx(1, abs=5e-4)
    run(oracle_folder / "check_outputs.py", output)
