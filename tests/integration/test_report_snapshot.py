"""The whole report on each example trace, as text and as numbers, against what was looked at and kept.

After a change that is meant: `TRACEGRAPH_KEEP_SNAPSHOTS=1 pytest tests/integration/test_report_snapshot.py`,
then read the difference.
"""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tracegraph.cli.main import main
from tracegraph.store.workspace import Workspace

SNAPSHOTS = Path(__file__).parents[1] / "snapshots"
TRACES = sorted((Path(__file__).parents[2] / "examples" / "traces").glob("*.json.gz"))
PASSING = ("timings_s", "versions")
"""Numbers of a summary that are others each time."""
pytestmark = pytest.mark.usefixtures("database")


def compare(name: str, text: str) -> None:
    kept = SNAPSHOTS / name
    if os.environ.get("TRACEGRAPH_KEEP_SNAPSHOTS"):
        SNAPSHOTS.mkdir(exist_ok=True)
        kept.write_text(text, encoding="utf-8")
    assert text.splitlines() == kept.read_text(encoding="utf-8").splitlines()


def rounded(value: Any) -> Any:
    """The value with shares as far as machines agree."""
    if isinstance(value, float):
        return float(f"{value:.9g}")
    if isinstance(value, dict):
        return {key: rounded(item) for key, item in value.items()}
    return [rounded(item) for item in value] if isinstance(value, list) else value


@pytest.mark.parametrize("trace", TRACES, ids=lambda trace: trace.name.split(".")[0])
def test_the_report_is_the_kept_one(
    trace: Path,
    tmp_path: Path,
    workspace: Workspace,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    assert main(["--workspace", str(workspace.root), "report", str(trace), "-o", str(tmp_path)]) == 0
    said = capsys.readouterr().out.split("\nFiles\n")[0]
    name = trace.name.removesuffix(".json.gz")
    compare(f"{name}.txt", "\n".join(line.rstrip() for line in said.splitlines()) + "\n")
    summary = json.loads((tmp_path / "summary.json").read_text())
    numbers = {key: rounded(value) for key, value in summary.items() if key not in PASSING}
    compare(f"{name}.json", json.dumps(numbers, indent=1, ensure_ascii=False) + "\n")
