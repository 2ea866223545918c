"""The documents say what the code says."""

from pathlib import Path

from oracle import RULES

from tracegraph.cli.main import COMMANDS
from tracegraph.ingest.dependencies.edges import MECHANISMS
from tracegraph.store.schema_table import schema_table

ROOT = Path(__file__).parents[2]


def test_the_schema_table_is_the_generated_one() -> None:
    assert (ROOT / "docs" / "schema.md").read_text() == schema_table()


def test_the_readme_names_every_command() -> None:
    readme = (ROOT / "README.md").read_text()
    assert [name for name in COMMANDS if f"| `tracegraph {name}" not in readme] == []


def test_every_rule_is_documented_in_the_order_that_decides_ties() -> None:
    table = (ROOT / "docs" / "rules.md").read_text()
    listed = [line.split("`")[1] for line in table.splitlines() if line.startswith("| `")]
    assert sorted(listed) == sorted(mechanism.name for mechanism in MECHANISMS)
    assert [mechanism.name for mechanism in MECHANISMS] == list(RULES) == listed
