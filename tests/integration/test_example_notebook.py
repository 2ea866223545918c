"""The notebooks in examples run from their first cell to their last, and show what is stored in them.

After a change that is meant, store what they show and look at it:
`TRACEGRAPH_KEEP_SNAPSHOTS=1 pytest --all tests/integration/test_example_notebook.py`
"""

import os
import re
import sys
import tempfile
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
)
LIMIT_S = 300
MOST_BYTES = 300_000
"""How large a notebook may be."""
NOT_WORDS = re.compile(r"<style.*?</style>|<[^>]*>", re.DOTALL)
"""What of HTML and of pictures is no word: styles, and tags with places and colours."""
FORMS = ("text/html", "image/svg+xml", "text/plain")
"""The forms of a value, of which the first that it has is compared."""
PLACES = re.compile(r"/(?:tmp|home|root|Users|var|usr|opt)/")
"""Beginnings of paths on the machine that ran the notebooks."""


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_it_is_whole_and_stored_with_what_it_shows(name: str) -> None:
    notebook = read(name)
    nbformat.validate(notebook)
    cells = code_cells(notebook)
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    assert "tracegraph-card" in cells[0].outputs[0].data["text/html"]
    assert "No one thing bounds the run" in cells[0].outputs[0].data["text/html"]
    assert "<svg" in cells[-1].outputs[0].data["image/svg+xml"]
    text = (EXAMPLES / name).read_text(encoding="utf-8")
    assert len(text.encode()) < MOST_BYTES
    own = (str(EXAMPLES.parent), str(Path.home()), tempfile.gettempdir(), sys.prefix)
    assert [place for place in own if place in text] == []
    assert PLACES.findall(text) == []


@pytest.mark.exhaustive
def test_the_first_look_shows_what_is_stored(folder: Path) -> None:
    check_run("notebook.ipynb", folder)
    assert (folder / "report" / "report.html").exists()


@pytest.mark.exhaustive
def test_the_one_for_users_of_hta_shows_what_is_stored(folder: Path) -> None:
    """Every feature that docs/hta.md names is asked, and what the example has is shown."""
    notebook = check_run("hta_users.ipynb", folder)
    code = "\n".join(cell.source for cell in code_cells(notebook))
    named = re.findall(r"\| `run\.(\w+)", HTA_PAGE.read_text(encoding="utf-8"))
    assert [name for name in named if f"run.{name}(" not in code] == []
    assert len(named) > 20
    texts = [one.get("text/html", "") for one in outputs(notebook)]
    assert [name for name in SHOWN if not any(name in text for text in texts)] == []
    assert "Time of the GPUs" in (folder / "gpu_time.html").read_text(encoding="utf-8")
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


def check_run(name: str, folder: Path) -> Any:
    """Run a notebook, compare what its cells show with what is stored, and return it as it is then."""
    notebook = read(name)
    stored = words(notebook)
    metadata = dict(notebook.metadata)
    nbclient.NotebookClient(
        notebook,
        timeout=LIMIT_S,
        kernel_name="python3",
        record_timing=False,
        resources={"metadata": {"path": str(folder)}},
    ).execute()
    assert find_server(open_workspace(folder / "workspace")) is None
    notebook.metadata = metadata  # the kernel adds its version of Python
    for cell in code_cells(notebook):  # on stderr is progress, which depends on the machine
        cell.outputs = [one for one in cell.outputs if one.get("name") != "stderr"]
    if os.environ.get("TRACEGRAPH_KEEP_SNAPSHOTS"):
        nbformat.write(notebook, EXAMPLES / name)
        stored = words(read(name))
    assert words(notebook) == stored
    return notebook


def code_cells(notebook: Any) -> list[Any]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def outputs(notebook: Any) -> Iterator[Any]:
    """What the cells show, by MIME type."""
    for cell in code_cells(notebook):
        yield from (one.data for one in cell.outputs if "data" in one)


def words(notebook: Any) -> list[list[str]]:
    """The words that each cell shows."""
    return [[word for one in cell.outputs for word in words_of(one)] for cell in code_cells(notebook)]


def words_of(output: Any) -> list[str]:
    if "data" not in output:
        return str(output.text).split()
    shown = next(output.data[form] for form in FORMS if form in output.data)
    return NOT_WORDS.sub(" ", shown).split()
