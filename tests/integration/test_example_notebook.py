"""The notebooks in examples run from their first cell to their last, in a kernel of their own."""

import re
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
HTA_PAGE = EXAMPLES.parent / "docs" / "hta.md"
NOTEBOOKS = ("notebook.ipynb", "hta_users.ipynb")
SHOWN = (
    "idle_share",
    "host_wait",
    "next_name",
    "computation overlapping communication",
    "full_ns",
    "Time of the GPUs",
)
LIMIT_S = 300


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_it_is_whole_and_stores_no_outputs(name: str) -> None:
    notebook = read(name)
    nbformat.validate(notebook)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert len(code) >= 6
    assert [(cell.outputs, cell.execution_count) for cell in code] == [([], None)] * len(code)


def test_the_first_look_runs_from_top_to_bottom(folder: Path) -> None:
    shown = run_all(read("notebook.ipynb"), folder)
    assert ["simulated_gpu-" in shown[0]["text/plain"], "sm90_xmma" in shown[1]["text/html"]] == [True, True]
    assert len([one for one in shown if "<svg" in one.get("image/svg+xml", "")]) == 1
    assert (folder / "report" / "report.html").exists()


@pytest.mark.exhaustive
def test_the_one_for_users_of_hta_runs_from_top_to_bottom(folder: Path) -> None:
    """Every feature that docs/hta.md names is asked, and what the example has is shown."""
    notebook = read("hta_users.ipynb")
    shown = run_all(notebook, folder)
    code = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "code")
    named = re.findall(r"\| `run\.(\w+)", HTA_PAGE.read_text(encoding="utf-8"))
    assert [name for name in named if f"run.{name}(" not in code] == []
    assert len(named) > 20
    texts = [one.get("text/html", "") for one in shown]
    assert [name for name in SHOWN if not any(name in text for text in texts)] == []
    assert (folder / "hta_report" / "overlay.json.gz").exists()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to run in, with the example traces and a workspace of its own."""
    monkeypatch.setenv("TRACEGRAPH_WORKSPACE", str(tmp_path / "workspace"))
    for name in ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_RUNTIME_DIR"):
        monkeypatch.setenv(name, str(tmp_path / name))
    (tmp_path / "traces").symlink_to(EXAMPLES / "traces")
    return tmp_path


def read(name: str) -> Any:
    return nbformat.read(EXAMPLES / name, as_version=nbformat.NO_CONVERT)


def run_all(notebook: Any, folder: Path) -> list[Any]:
    """What its cells show, once all have run and the server is gone."""
    nbclient.NotebookClient(
        notebook, timeout=LIMIT_S, kernel_name="python3", resources={"metadata": {"path": str(folder)}}
    ).execute()
    assert find_server(open_workspace(folder / "workspace")) is None
    return list(outputs(notebook))


def outputs(notebook: Any) -> Iterator[Any]:
    """What the cells show, by MIME type."""
    for cell in notebook.cells:
        yield from (one.data for one in cell.get("outputs", []) if "data" in one)
