"""Which way of adding a run is taken, by the sizes alone."""

import pytest
from hostile import hostile_graph

from tracegraph.store.managed.rebuild.estimate import Size, bolt_s, bulk_s, cheaper, cheaper_first, size_of

NONE, SMALL, MILLION = Size(), Size(1_000, 3_000), Size(1_200_000, 3_000_000)
LARGE = Size(713_000, 1_270_000)
FEW_RUNS, SIXTY_RUNS = Size(100_000, 190_000), Size(1_087_000, 1_897_000)


@pytest.mark.parametrize(
    ("new", "replaced", "others", "way"),
    [
        (SMALL, NONE, SMALL, "bolt"),  # a restart takes longer
        (SMALL, NONE, MILLION, "bolt"),
        (MILLION, NONE, SMALL, "bulk"),
        (MILLION, MILLION, MILLION, "bulk"),
        (LARGE, NONE, FEW_RUNS, "bulk"),
        (LARGE, NONE, SIXTY_RUNS, "bulk"),  # measured: 69 s of CPU instead of 74 to 92
        (LARGE, NONE, SIXTY_RUNS + SIXTY_RUNS + SIXTY_RUNS, "bolt"),
        (MILLION, NONE, Size(12_000_000, 30_000_000), "bolt"),  # too much would be imported again
    ],
)
def test_the_cheaper_way_is_taken(new: Size, replaced: Size, others: Size, way: str) -> None:
    assert cheaper(new, replaced, others) == way


@pytest.mark.parametrize(("new", "way"), [(SMALL, "bolt"), (Size(27_000, 47_000), "bolt"), (LARGE, "bulk")])
def test_a_first_run_is_imported_where_it_is_large(new: Size, way: str) -> None:
    assert cheaper_first(new) == way


def test_replacing_costs_over_bolt_only() -> None:
    assert bolt_s(SMALL, MILLION) > bolt_s(SMALL, NONE)
    assert bulk_s(SMALL + MILLION) > bulk_s(SMALL)


def test_the_size_counts_rows() -> None:
    tables = hostile_graph("size", list("abcdef"))
    rows = sum(table.num_rows for table in tables.relationships.values())
    assert size_of(tables) == Size(tables.count_nodes(), rows)
