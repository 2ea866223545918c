"""docs/python.md: its blocks run one after the other and print what is shown; the README's runs, too."""

import io
import re
from contextlib import closing, redirect_stdout
from pathlib import Path

import pytest

from tracegraph.store.session import find_server
from tracegraph.store.workspace import open_workspace

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "python.md"
BLOCKS = re.compile(r"^```python\n(?P<code>.*?)^```\n(?:```text\n(?P<shown>.*?)^```\n)?", re.DOTALL | re.M)


@pytest.mark.exhaustive
def test_the_blocks_print_what_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("py2neo", reason="the py2neo extra is not installed")
    monkeypatch.setenv("TRACEGRAPH_WORKSPACE", str(tmp_path / "workspace"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    text = PAGE.read_text(encoding="utf-8")
    first, *others = BLOCKS.finditer(text)
    assert text.count("```python") == 1 + len(others) > 10
    names: dict[str, object] = {}
    assert printed(text, first, names) == lines(first["shown"])
    with closing(names["bench"]):
        for block in others:
            assert printed(text, block, names) == lines(block["shown"] or ""), block["code"]
        readme = (ROOT / "README.md").read_text(encoding="utf-8")
        (block,) = BLOCKS.finditer(readme)
        assert "kernel" in "".join(printed(readme, block, {}))
        assert (tmp_path / "report" / "steps.csv").exists()
        listed = (ROOT / "docs" / "files.md").read_text(encoding="utf-8")
        written = sorted(file.name for file in (tmp_path / "report").iterdir())
        assert [name for name in written if f"`{name}`" not in listed] == []
    assert (tmp_path / "path.svg").exists()
    assert find_server(open_workspace(tmp_path / "workspace")) is None


def printed(text: str, block: re.Match[str], names: dict[str, object]) -> list[str]:
    """What a block prints; its lines have the numbers of the page in a traceback."""
    before = "\n" * text.count("\n", 0, block.start("code"))
    out = io.StringIO()
    with redirect_stdout(out):
        exec(compile(before + block["code"], PAGE, "exec"), names)
    return lines(out.getvalue())


def lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.splitlines()]
