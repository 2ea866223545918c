"""Events that last far longer than others of their name: when they are looked for, and which they are."""

import pandas as pd
import pytest

from tracegraph.queries.catalog import find

OUTLIERS = find("outliers")
VALUES = {"run": "r", "start_ns": 100, "end_ns": 200, "part": 0.2, "times": 20.0, "least_count": 5}


def rows_of(*events: tuple[str, list[list[int]]]) -> list[list[object]]:
    """Give the rows that these names make, each with its events' duration, rank and place in the file."""
    named = pd.DataFrame(
        [(name, "cpu_op", rows) for name, rows in events], columns=["name", "category", "events"]
    )
    return OUTLIERS.shaped(VALUES, [pd.DataFrame(), named]).to_numpy().tolist()


@pytest.mark.parametrize(
    ("longest_ns", "names"),
    [
        ([7, None], ["lanes"]),
        ([None, None], ["lanes"]),
        ([], ["lanes"]),
        ([19], ["lanes"]),
        ([7, 20], ["lanes", "long_names"]),
    ],
)
def test_names_are_read_where_a_lane_has_an_event_that_takes_a_fifth(
    longest_ns: list[int | None], names: list[str]
) -> None:
    calls = OUTLIERS.calls(VALUES)
    lanes = pd.DataFrame({"longest_ns": pd.array(longest_ns, dtype="Int64")})
    due = OUTLIERS.due(VALUES, calls, {calls[0]: lanes})
    assert ["lanes", *(call.module.name for call in due)] == names


def test_the_longest_stand_out_from_the_median_of_their_name() -> None:
    short = [[1, 0, place] for place in range(4)]
    assert rows_of(
        ("alone", [[90, 0, 9]]),
        ("even", [[30, 0, place] for place in range(5)]),
        ("odd", [*short, [40, 1, 8], [15, 0, 6], [21, 0, 7], [1, 0, 5], [1, 0, 4]]),
        ("twice", [[50, 1, 3], *short, [50, 0, 8]]),
    ) == [
        ["twice", "cpu_op", 0, 8, 50, 1, 6, 2],
        ["odd", "cpu_op", 1, 8, 40, 1, 9, 2],
    ]


def test_nothing_stands_out_among_few_or_alike() -> None:
    assert rows_of(("few", [[90, 0, 1], [1, 0, 2], [1, 0, 3], [1, 0, 4]])) == []
    assert rows_of(("alike", [[38, 0, 1], *([2, 0, place] for place in range(2, 9))])) == []
