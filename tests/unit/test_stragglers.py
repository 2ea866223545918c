"""Which ranks others wait for, from the waits of a run and of its steps."""

import pandas as pd

from tracegraph.queries.shapes.stragglers import STRAGGLER_COLUMNS, potential_stragglers

WAITS = pd.DataFrame(
    {
        "rank": [0, 1, 2],
        "caused_ns": [70, 90, 0],
        "caused_share": [0.4375, 0.5625, 0.0],
        "longest_ns": [40, 90, 0],
        "last": [3, 1, 0],
        "operations": [4, 4, 4],
    }
)
BY_STEP = pd.DataFrame({"number": [1, 1, 2, 3, 4], "rank": [0, 1, 0, 1, 2], "caused_ns": [30, 20, 40, 70, 0]})


def test_who_leads_most_steps_comes_first() -> None:
    rows = potential_stragglers({}, WAITS, BY_STEP)
    assert rows[["rank", "steps_led", "steps", "caused_ns"]].values.tolist() == [[0, 2, 3, 70], [1, 1, 3, 90]]
    assert {column.name for column in STRAGGLER_COLUMNS} <= set(rows.columns)


def test_without_steps_who_made_others_wait_longest() -> None:
    rows = potential_stragglers({}, WAITS, BY_STEP.head(0))
    assert rows[["rank", "steps_led", "steps"]].values.tolist() == [[1, 0, 0], [0, 0, 0]]


def test_ranks_that_made_nobody_wait_are_no_stragglers() -> None:
    assert potential_stragglers({}, WAITS.tail(1), BY_STEP.tail(1)).empty
