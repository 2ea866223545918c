"""`tracegraph report` on simulated traces, judged by the oracle's own script where it is at hand."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ORACLE = Path(__file__).parents[2].parent / "shared" / "oracle"
COMMAND = [sys.executable, "-c", "from tracegraph.cli.main import main; raise SystemExit(main())"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not ORACLE.exists():
        pytest.skip(f"the oracle is not here: {ORACLE} does not exist")
    return tmp_path_factory.mktemp("oracle")


def run(*command: str | Path) -> str:
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize(
    ("name", "options"),
    [("mixed", ["--int-us"]), ("cpu", ["--regime", "cpu", "--int-us"])],
)
def test_recall_and_overlap(folder: Path, name: str, options: list[str]) -> None:
    run(sys.executable, ORACLE / "synth_kineto.py", folder / name, "--events", "20000", *options)
    trace, output = folder / f"{name}_rank0.json", folder / f"{name}_report"
    run(*COMMAND, "--workspace", folder / "workspace", "--quiet", "report", trace, "-o", output)
    path = output / "critical_path.csv"
    truth = folder / f"{name}_truth.json"
    score = json.loads(run(sys.executable, ORACLE / "score.py", truth, path, "--traces", trace, "--json"))
    assert min(score["recall"], score["overlap"]) >= 0.999
    assert score["total"] == pytest.approx(1, abs=5e-4)
    assert score["tiling"] == pytest.approx(1, abs=5e-4)
    run(sys.executable, ORACLE / "check_outputs.py", output)
