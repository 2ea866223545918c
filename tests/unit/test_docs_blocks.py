"""Every block of README and docs is run by a test, or says that it is not."""

import ast
import re
from pathlib import Path

import pytest
from pages import PAGES, ROOT, blocks_of, is_shown

OWN_TESTS = {"docs/python.md": "python", "docs/memory.md": "python", "docs/rules.md": ""}
"""Pages whose blocks of that kind have a test of their own: test_docs_python.py, test_rules_document.py."""
SCRIPTS = {"sh", "cypher"}
"""Kinds that test_docs_commands.py runs on every page."""
SHOWN = {"text", "csv"}
INDENTED = {
    "README.md": {"python3 tasks.py demo", "python3 tasks.py test"},  # CI runs both
}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_block_is_run_shown_or_marked(page: Path) -> None:
    place = page.relative_to(ROOT).as_posix()
    own = {OWN_TESTS.get(place), "python" if place == "README.md" else None}
    assert {block.kind for block in blocks_of(page) if not block.not_run} - own <= SCRIPTS | SHOWN


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_commands_stand_in_fenced_blocks(page: Path) -> None:
    """An indented block has no kind, so that no test would run it; docs/commands.md shows usages so."""
    place = page.relative_to(ROOT).as_posix()
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.M)
    indented = re.findall(r"(?<=\n\n)    (\S.*)", text) + re.findall(r"^    (python3? .*)", text, re.M)
    commands = {line.split("  ")[0] for line in indented if re.match(r"(tracegraph|python3?|pip) ", line)}
    usages = place == "docs/commands.md" and all("[OPTIONS]" in command for command in commands)
    assert usages or commands == INDENTED.get(place, set())


def test_python_that_needs_more_than_tracegraph_is_python() -> None:
    marked = [
        block for page in PAGES for block in blocks_of(page) if block.kind == "python" and block.not_run
    ]
    assert len(marked) >= 2
    for block in marked:
        ast.parse(block.code)


@pytest.mark.parametrize(
    ("printed", "shown", "same"),
    [
        ("a \nb\nc\n", "a\n...\nc\n", True),
        ("a\nc\n", "a\n...\nc\n", True),
        ("a\nb\n", "a\n", False),
        ("a.b\n", "a.b\n", True),
        ("axb\n", "a.b\n", False),
        ("\na\nb\n", "a\n...\n", True),
    ],
)
def test_what_is_shown_may_leave_lines_out(printed: str, shown: str, same: bool) -> None:
    assert is_shown(printed, shown) is same
