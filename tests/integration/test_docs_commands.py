"""The commands and Cypher of README and docs run, page by page, in order, and print what is shown."""

from pathlib import Path

import pytest
from pages import PAGES, ROOT, Shell, blocks_of

from tracegraph.store.session import find_server
from tracegraph.store.workspace import open_workspace

SCRIPTS = {
    page.relative_to(ROOT).as_posix(): blocks
    for page in PAGES
    if (
        blocks := [block for block in blocks_of(page) if block.kind in ("sh", "cypher") and not block.not_run]
    )
}
ESSENTIAL = {"README.md"}
WRITTEN = {
    "README.md": ["report/report.html", "path.svg"],
    "docs/workflow.md": ["report/report.html", "path.svg"],
    "docs/cypher.md": ["flame.svg"],
}
"""What the commands of a page leave, by the names that the page gives."""


@pytest.mark.parametrize(
    "place",
    [pytest.param(one, marks=() if one in ESSENTIAL else pytest.mark.exhaustive) for one in SCRIPTS],
)
def test_the_commands_print_what_is_shown(place: str, tmp_path: Path) -> None:
    """A failing command ends its block: what it said is in the failure."""
    shell = Shell(tmp_path)
    if any(block.kind == "cypher" for block in SCRIPTS[place]):  # its answers are about one run of several
        for name in ("two_threads", "simulated_gpu"):
            shell.run("tracegraph", "ingest", f"examples/traces/{name}.json.gz")
    try:
        for block in SCRIPTS[place]:
            shell.check(block)
        stopped = SCRIPTS[place][-1].code.endswith("tracegraph db stop\n")
        assert (find_server(open_workspace(shell.workspace)) is None) or not stopped
    finally:
        shell.close()
    assert [name for name in WRITTEN.get(place, []) if not (tmp_path / name).is_file()] == []


def test_the_pages_with_commands_are_there() -> None:
    assert {"README.md", "docs/workflow.md", "docs/cypher.md", "docs/what_if.md", "docs/ci.md"} <= set(
        SCRIPTS
    )
    assert sum(block.kind == "cypher" and block.shown is not None for block in SCRIPTS["docs/cypher.md"]) == 5
    assert sum(block.kind == "sh" for block in SCRIPTS["docs/workflow.md"]) >= 10
