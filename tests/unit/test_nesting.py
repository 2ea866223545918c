"""Events that outlive the one they start in, beside a stack that is walked event by event."""

import numpy as np
import pytest

from tracegraph.ingest.arrays import Ints
from tracegraph.ingest.causal.events.callstack import _cut_outlived


def _walked(opens: Ints, closes: Ints) -> tuple[list[int], list[int]]:
    """Close what is open as a younger event that closes later opens; also find those events."""
    ends, overrunning = closes.tolist(), []
    stack: list[tuple[int, int]] = []
    for place, (start, end) in enumerate(zip(opens.tolist(), closes.tolist(), strict=True)):
        while stack and stack[-1][0] <= start:
            stack.pop()
        if stack and stack[-1][0] < end:
            overrunning.append(place)
        while stack and stack[-1][0] < end:
            ends[stack.pop()[1]] = start
        if end > start:
            stack.append((end, place))
    return ends, overrunning


@pytest.mark.parametrize("longest", [3, 12, 60])
def test_outlived_events_close_as_on_a_stack(longest: int) -> None:
    random = np.random.default_rng(longest)
    found = 0
    for _ in range(300):
        count = int(random.integers(0, 60))
        opens = random.integers(0, 40, count)
        closes = opens + random.integers(0, longest, count)
        order = np.lexsort((-closes, opens))
        ends, overrunning = _cut_outlived(opens[order], closes[order])
        assert (ends.tolist(), overrunning.tolist()) == _walked(opens[order], closes[order])
        found += len(overrunning)
    assert found
