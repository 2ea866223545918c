"""What each hotspot costs, and what is critical once it is gone."""

import tiny
from tiny import call, event, kernel

from tracegraph.ingest.causal.graph.model import Model
from tracegraph.ingest.causal.graph.other_assumptions import find_alternatives
from tracegraph.ingest.what_if.predictions.what_next import find_what_next


def gains(model: Model) -> dict[str, tuple[float, float]]:
    """Time on the path and gain of each hotspot, µs."""
    rows = find_what_next(model)
    return {str(r["name"]): (int(str(r["duration_ns"])) / 1000, int(str(r["gain_ns"])) / 1000) for r in rows}


def beside_a_kernel() -> Model:
    return tiny.model(
        event("op", 0, 3),
        call("l", 3, 5, 1),
        kernel("k", 8, 108, 1),
        event("beside", 5, 60),
        call("cudaDeviceSynchronize", 60, 110, 2),
    )


def test_a_gain_ends_where_something_else_is_as_late() -> None:
    assert gains(beside_a_kernel()) == {
        "k": (100, 48),
        "op": (3, 3),
        "l": (2, 2),
        "cudaDeviceSynchronize": (2, 2),
    }


def test_what_follows_is_the_path_without_the_hotspot() -> None:
    first = find_what_next(beside_a_kernel())[0]
    assert first["following"] == [
        {"name": "beside", "category": "cpu_op", "duration_ns": 55_000},
        {"name": "op", "category": "cpu_op", "duration_ns": 3000},
        {"name": "cudaDeviceSynchronize", "category": "cuda_runtime", "duration_ns": 2000},
    ]


def test_waiting_for_another_rank_is_a_hotspot() -> None:
    waiting = event("gloo:all_reduce", 6000, 206_000, category="user_annotation", thread=2, shapes="[[1000]]")
    model = tiny.model(event("op", 0, 6000), waiting, event("op", 206_050, 207_000))
    duration, gain = gains(model)["waiting for another rank"]
    assert duration == gain == 200_000 - 1 - 1008


def test_alternatives_say_what_each_assumption_changes() -> None:
    model = tiny.model(event("a", 0, 100), event("b", 150, 4000, thread=2), event("c", 6000, 6500))
    rows = {str(row["assumption"]): row for row in find_alternatives(model)}
    assert list(rows) == ["evidence", "serialise", "none", "recorded only"]
    assert [name for name, row in rows.items() if row["chosen"]] == ["evidence"]
    assert rows["evidence"]["by_gap_ns"] == {"untraced CPU time": 5_900_000}
    assert rows["serialise"]["by_category_ns"] == {"cpu_op": 4_450_000, "gap": 2_050_000}
    assert rows["serialise"]["hotspots"] == [
        {"name": "b", "category": "cpu_op", "duration_ns": 3_850_000},
        {"name": "c", "category": "cpu_op", "duration_ns": 500_000},
        {"name": "a", "category": "cpu_op", "duration_ns": 100_000},
    ]
