"""Close races between causes of GPU work."""

import numpy as np
import pytest
import tiny
from tiny import Model, Row, call, kernel

from tracegraph.vocabulary.mechanisms import MECHANISMS


def clear_cases(count: int) -> list[Row]:
    """Launches on an idle stream with lags of 3 to 5 µs, and queued work 1 to 1.4 µs after the one before."""
    rows: list[Row] = []
    for i in range(count):
        at, number = 200 * i, 2 * i + 1
        end = at + 52 + 4 + (i % 5) * 0.5 - 1
        rows += [call("l", at, at + 2, number), kernel("idle", end - 50, end, number)]
        rows += [call("l", at + 3, at + 5, number + 1)]
        rows += [kernel("queued", end + 1 + (i % 5) * 0.1, end + 60, number + 1)]
    return rows


def race(launch_gap: float, stream_gap: float, cases: int = 20) -> Model:
    """Work that starts `launch_gap` after its call and `stream_gap` after the work before it."""
    at = 200 * cases
    first = [call("l", at, at + 2, 901), kernel("before", at + 6, at + 100 - stream_gap, 901)]
    rows = [*first, call("l", at + 90 - launch_gap, at + 100 - launch_gap, 902)]
    return tiny.model(*clear_cases(cases), *rows, kernel("racer", at + 100, at + 150, 902))


def winner(model: Model) -> tuple[str, int]:
    """Mechanism that binds the racer, and its margin."""
    racer = int(np.flatnonzero(model.events.name[model.segments.event] == "racer")[-1])
    edge = model.binding.edge[racer]
    return MECHANISMS[model.dependencies.mechanism[edge]].name, int(model.binding.margin[racer])


@pytest.mark.parametrize(
    ("launch_gap", "stream_gap", "expected"),
    [
        (4, 3, "launch"),  # a usual launch latency against a stream gap of thrice the usual
        (9, 1.2, "stream order"),  # the other way round
        (4, 40, "launch"),
        (40, 1.2, "stream order"),
        (3, 1, "stream order"),  # both arrive at the start as usual: the one whose lags vary less
    ],
)
def test_the_likelier_lag_wins(launch_gap: float, stream_gap: float, expected: str) -> None:
    assert winner(race(launch_gap, stream_gap))[0] == expected


def test_two_usual_lags_are_an_open_race() -> None:
    assert winner(race(4, 1.2))[1] == 0
    assert winner(race(4, 60))[1] > 10_000


def test_without_clear_cases_the_later_arrival_wins() -> None:
    assert winner(race(7, 3, cases=2))[0] == "stream order"
