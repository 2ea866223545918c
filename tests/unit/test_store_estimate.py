"""Which way of adding a run is taken, by the sizes alone."""

import pytest
from hostile import hostile_graph

from tracegraph.store.managed.estimate import Size, bolt_s, bulk_s, cheaper, size_of

NONE, SMALL, MILLION = Size(), Size(1_000, 3_000), Size(1_200_000, 3_000_000)


@pytest.mark.parametrize(
    ("new", "replaced", "others", "way"),
    [
        (SMALL, NONE, SMALL, "bolt"),  # a restart takes longer
        (SMALL, NONE, MILLION, "bolt"),
        (MILLION, NONE, SMALL, "bulk"),
        (MILLION, MILLION, MILLION, "bulk"),
        (MILLION, NONE, Size(12_000_000, 30_000_000), "bolt"),  # too much would be imported again
    ],
)
def test_the_cheaper_way_is_taken(new: Size, replaced: Size, others: Size, way: str) -> None:
    assert cheaper(new, replaced, others) == way


def test_replacing_costs_over_bolt_only() -> None:
    assert bolt_s(SMALL, MILLION) > bolt_s(SMALL, NONE)
    assert bulk_s(SMALL + MILLION) > bulk_s(SMALL)


def test_the_size_counts_rows() -> None:
    tables = hostile_graph("size", list("abcdef"))
    rows = sum(table.num_rows for table in tables.relationships.values())
    assert size_of(tables) == Size(tables.count_nodes(), rows)
