"""Every finding has a code that is documented, with the level that the document states."""

import ast
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

from tracegraph.ingest.findings import Integrity
from tracegraph.ingest.integrity.codes import CODES
from tracegraph.ingest.integrity.table import integrity_table

ROOT = Path(__file__).parents[2]
LEVELS = ("error", "warning", "info")


def _texts(path: Path) -> Iterator[tuple[str | None, ...]]:
    """Texts at the beginning of each tuple and of each call's arguments: where a code can stand."""
    for node in ast.walk(ast.parse(path.read_text())):
        values = node.args if isinstance(node, ast.Call) else getattr(node, "elts", [])
        yield tuple(
            value.value if isinstance(value, ast.Constant) and isinstance(value.value, str) else None
            for value in values
        )


def _stated() -> dict[str, set[str]]:
    """Levels by code, of every call and row that gives both as texts."""
    found: dict[str, set[str]] = {}
    for path in (ROOT / "ingest").rglob("*.py"):
        for texts in _texts(path):
            for code, level in pairwise(texts):
                if code not in (None, *LEVELS) and level in LEVELS:
                    found.setdefault(code, set()).add(level)
    return found


def test_every_code_in_the_source_is_in_the_table_with_its_level() -> None:
    stated = _stated()
    assert len(stated) > 25
    assert {code: {CODES[code].level} for code in stated if code in CODES} == stated


def test_every_code_in_the_table_is_in_the_source() -> None:
    used = {
        text
        for path in (ROOT / "ingest").rglob("*.py")
        if path.name != "codes.py"
        for texts in _texts(path)
        for text in texts
    }
    assert [code for code in CODES if code not in used] == []


def test_the_document_is_the_generated_one() -> None:
    assert (ROOT / "docs" / "integrity.md").read_text() == integrity_table()


def test_what_is_lost_comes_first() -> None:
    integrity = Integrity("file")
    integrity.add("note", "info", 1, "", 0.9)
    integrity.add("small", "warning", 1, "", 0.1)
    integrity.add("large", "warning", 1, "", 0.5)
    integrity.add("known", "error", 1, "", 0.5)
    integrity.add("unknown", "error", 1, "")
    integrity.add("none", "error", 0, "")
    assert [row["code"] for row in integrity.rows()] == ["unknown", "known", "large", "small", "note"]
    assert integrity.rows()[2]["share"] == 0.5
