"""What holds for every .cypher file, asked from the server: it plans, and it returns what it declares."""

from collections.abc import Callable

import pytest

from tracegraph.queries.module import CypherModule, load, names
from tracegraph.store.connection import Database

MODULES = {name: load(name) for name in names()}
EXAMPLES: dict[str, object] = {"INTEGER": 1, "FLOAT": 1.0, "STRING": "none", "BOOLEAN": True}
UNBOUNDED = {"AllNodesScan", "CartesianProduct", "DirectedAllRelationshipsScan"}
LABEL_SCANS = {"stored_runs", "newest_ready_run"}
"""Queries over all runs, of which there are few."""


@pytest.fixture(autouse=True, scope="module")
def few_runs(database: Database, stored_example: Callable[[str], str]) -> None:
    """Statistics of few runs: a scan by a label looks cheapest then, and plans outlive them."""
    for name in ("simulated_gpu", "slow_loader"):
        stored_example(name)
    with database.session() as session:
        session.run("CALL db.prepareForReplanning(60)").consume()


@pytest.mark.parametrize("name", MODULES)
def test_plan_reads_by_index(name: str, database: Database) -> None:
    operators = set(_operators(database.explain(MODULES[name].text, _examples(MODULES[name]))))
    assert not operators & UNBOUNDED
    assert "NodeByLabelScan" not in operators or name in LABEL_SCANS


@pytest.mark.parametrize("name", MODULES)
def test_columns_are_those_declared(name: str, database: Database) -> None:
    module = MODULES[name]
    returned = list(database.read(module.text, _examples(module)).columns)
    assert returned == [column.name for column in module.columns]


def _examples(module: CypherModule) -> dict[str, object]:
    return {parameter.name: EXAMPLES[parameter.type] for parameter in module.parameters}


def _operators(plan: dict[str, object]) -> list[str]:
    children = plan.get("children", [])
    assert isinstance(children, list)
    own = str(plan["operatorType"]).partition("@")[0]
    return [own, *(operator for child in children for operator in _operators(child))]
