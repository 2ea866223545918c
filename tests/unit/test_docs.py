"""The documents say what the code says."""

import re
import runpy
from pathlib import Path

from hta_differences import document
from oracle import RULES

from tracegraph.cli.main import COMMANDS
from tracegraph.queries.catalog import queries
from tracegraph.queries.notebook import PY2NEO
from tracegraph.queries.topics import TOPICS
from tracegraph.store.schema.schema import DEPENDENCIES
from tracegraph.store.schema.schema_table import schema_table
from tracegraph.vocabulary.gaps import GAP_NAMES
from tracegraph.vocabulary.mechanisms import MECHANISMS
from tracegraph.workbench import Run

ROOT = Path(__file__).parents[2]
BEHIND_OTHERS = {"docs/plotting.md"}
"""Pages that only another page leads to: docs/architecture.md."""


def test_the_schema_table_is_the_generated_one() -> None:
    assert (ROOT / "docs" / "schema.md").read_text() == schema_table()


def test_the_differences_from_hta_are_those_that_tests_check() -> None:
    assert (ROOT / "docs" / "differences_from_hta.md").read_text() == document()


def test_the_calls_for_users_of_hta_exist() -> None:
    page = (ROOT / "docs" / "hta.md").read_text()
    methods = re.findall(r"`run\.(\w+)\(", page)
    asked = re.findall(r"`tracegraph query (\w+)", page)
    assert [name for name in methods if not hasattr(Run, name)] == []
    assert [name for name in asked if name not in queries()] == []
    assert min(len(methods), len(asked)) > 20


def test_the_page_of_commands_says_what_each_does_and_what_it_takes_today() -> None:
    page = (ROOT / "docs" / "commands.md").read_text()
    assert [name for name in COMMANDS if f"| `tracegraph {name}" not in page] == []
    written = runpy.run_path(str(ROOT / "docs" / "commands.py"))["with_commands"](page)
    assert written == page, "docs/commands.md is old: run `python docs/commands.py`"


def test_the_readme_is_short_and_leads_to_every_page() -> None:
    readme = (ROOT / "README.md").read_text()
    assert len(readme.splitlines()) <= 150
    linked = set(re.findall(r"\]\((docs/[a-z_]+\.md)\)", readme))
    pages = {page.relative_to(ROOT).as_posix() for page in (ROOT / "docs").glob("*.md")}
    assert pages - linked == BEHIND_OTHERS


def test_every_query_has_one_topic() -> None:
    named = [name for topic in TOPICS for name in topic.queries]
    assert sorted(named) == sorted(queries())
    assert {f"{topic.name}.md" for topic in TOPICS} == {
        page.name for page in (ROOT / "docs" / "queries").iterdir()
    }


def test_every_rule_is_documented_in_the_order_that_decides_ties() -> None:
    listed = [row[0] for row in rows_of_rules() if row[1] in DEPENDENCIES]
    assert sorted(listed) == sorted(mechanism.name for mechanism in MECHANISMS)
    assert [mechanism.name for mechanism in MECHANISMS] == list(RULES) == listed


def test_every_gap_is_documented() -> None:
    assert sorted(row[0] for row in rows_of_rules() if row[1] not in DEPENDENCIES) == sorted(GAP_NAMES)


def test_the_page_on_reports_lists_the_gaps() -> None:
    page = (ROOT / "docs" / "report.md").read_text()
    listed = re.search(r"Gaps of the path are (.*?)\n\n", page, re.DOTALL)
    assert listed is not None
    assert sorted(re.findall(r"`([^`]*)`", listed[1])) == sorted(GAP_NAMES)


def test_the_advice_on_py2neo_is_the_pinned_version() -> None:
    project = (ROOT / "pyproject.toml").read_text()
    assert project.count(f'"{PY2NEO}"') == 2  # the extra and the tests
    assert f"`pip install {PY2NEO}`" in (ROOT / "docs" / "servers.md").read_text()


def rows_of_rules() -> list[list[str]]:
    lines = (ROOT / "docs" / "rules.md").read_text().splitlines()
    return [[cell.strip(" `") for cell in line.split("|")[1:]] for line in lines if line.startswith("| `")]
