"""Every finding has a code that is documented, with the level that the document states."""

import ast
from collections.abc import Iterator
from pathlib import Path

from tracegraph.ingest.integrity.codes_page import integrity_table
from tracegraph.ingest.integrity_findings import Integrity
from tracegraph.vocabulary.integrity_codes import CODES

ROOT = Path(__file__).parents[2]
ADDS = ("add", "add_places")


def _calls() -> Iterator[ast.Call]:
    """Every call in the source that may record a finding."""
    for path in (ROOT / "ingest").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ADDS:
                yield node


def _texts() -> set[str]:
    """Every text in the source."""
    return {
        node.value
        for path in (ROOT / "ingest").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }


def test_every_code_that_is_recorded_is_in_the_table() -> None:
    given = [call.args[0] for call in _calls() if len(call.args) > 2]
    codes = {code.value for code in given if isinstance(code, ast.Constant)}
    assert len(codes) > 60
    assert codes <= set(CODES)


def test_every_code_in_the_table_is_in_the_source() -> None:
    assert set(CODES) <= _texts()


def test_the_document_is_the_generated_one() -> None:
    assert (ROOT / "docs" / "integrity.md").read_text() == integrity_table()


def test_what_is_lost_comes_first() -> None:
    integrity = Integrity("file")
    integrity.add("redirected", 1, "", 0.9)
    integrity.add("text_after_end", 1, "", 0.1)
    integrity.add("path_unrecorded", 1, "", 0.5)
    integrity.add("gpu_rows_missing", 1, "", 0.5)
    integrity.add("json_cut", 1, "")
    integrity.add("list_repeated", 0, "")
    ordered = ["json_cut", "gpu_rows_missing", "path_unrecorded", "text_after_end", "redirected"]
    assert [row["code"] for row in integrity.rows()] == ordered
    assert integrity.rows()[2]["share"] == 0.5
