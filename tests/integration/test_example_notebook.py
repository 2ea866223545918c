"""examples/notebook.ipynb runs from its first cell to its last, in a kernel of its own."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tracegraph.store.session import find_server
from tracegraph.store.workspace import open_workspace

nbformat = pytest.importorskip("nbformat", reason="the test extra is not installed")
nbclient = pytest.importorskip("nbclient", reason="the test extra is not installed")
pytest.importorskip("ipykernel", reason="the test extra is not installed")

EXAMPLES = Path(__file__).parents[2] / "examples"
LIMIT_S = 300


@pytest.fixture
def notebook() -> Any:
    return nbformat.read(EXAMPLES / "notebook.ipynb", as_version=nbformat.NO_CONVERT)


def test_it_is_whole_and_stores_no_outputs(notebook: Any) -> None:
    nbformat.validate(notebook)
    assert 8 <= len(notebook.cells) <= 12
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [(cell.outputs, cell.execution_count) for cell in code] == [([], None)] * len(code)


def test_it_runs_from_top_to_bottom(notebook: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    workspace = tmp_path / "workspace"
    monkeypatch.setenv("TRACEGRAPH_WORKSPACE", str(workspace))
    for name in ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_RUNTIME_DIR"):
        monkeypatch.setenv(name, str(tmp_path / name))
    (tmp_path / "traces").symlink_to(EXAMPLES / "traces")
    nbclient.NotebookClient(
        notebook, timeout=LIMIT_S, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}
    ).execute()
    shown = list(outputs(notebook))
    assert ["simulated_gpu-" in shown[0]["text/plain"], "sm90_xmma" in shown[1]["text/html"]] == [True, True]
    assert len([one for one in shown if "<svg" in one.get("image/svg+xml", "")]) == 1
    assert (tmp_path / "report" / "report.html").exists()
    assert find_server(open_workspace(workspace)) is None


def outputs(notebook: Any) -> Iterator[Any]:
    """What the cells show, by MIME type."""
    for cell in notebook.cells:
        yield from (one.data for one in cell.get("outputs", []) if "data" in one)
