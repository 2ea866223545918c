"""Unions of stretches of time against counting every nanosecond."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tracegraph.ingest.arrays import Ints
from tracegraph.ingest.intervals import (
    Spans,
    covered,
    ended_before,
    pauses,
    ungrouped,
    union_length,
    without_overlaps,
)

stretches = st.lists(st.tuples(st.integers(0, 2), st.integers(-20, 40), st.integers(0, 12)), max_size=8)


def spans_of(rows: list[tuple[int, int, int]]) -> Spans:
    group, start, length = np.array(rows, dtype=np.int64).reshape(-1, 3).T
    return Spans(group, start, start + length)


def moments(start: Ints, end: Ints) -> set[int]:
    """Every nanosecond in which a stretch is open."""
    pairs = zip(start.tolist(), end.tolist(), strict=True)
    return {moment for begin, until in pairs for moment in range(begin, until)}


@given(stretches)
def test_the_union_is_as_long_as_something_is_open(
    rows: list[tuple[int, int, int]],
) -> None:
    spans = spans_of(rows)
    assert union_length(spans.start, spans.end) == len(moments(spans.start, spans.end))


@given(stretches)
def test_without_overlaps_no_moment_is_lost_or_there_twice(rows: list[tuple[int, int, int]]) -> None:
    spans = spans_of(rows)
    begin, end = without_overlaps(spans.start, spans.end)
    assert len(begin) == len(rows)
    assert moments(begin, end) == moments(spans.start, spans.end)
    assert int((end - begin).sum()) == len(moments(begin, end))
    assert (np.diff(begin) >= 0).all()


@given(stretches)
def test_pauses_are_the_moments_between_in_which_nothing_is_open(rows: list[tuple[int, int, int]]) -> None:
    spans = spans_of(rows)
    begin, until = pauses(spans.start, spans.end)
    assert (until > begin).all()
    whole = range(spans.start.min(), spans.end.max()) if rows else range(0)
    assert moments(begin, until) == set(whole) - moments(spans.start, spans.end)


@given(stretches, stretches)
def test_what_covers_a_span_is_of_its_group_and_counted_once(
    rows: list[tuple[int, int, int]], others: list[tuple[int, int, int]]
) -> None:
    spans, by = spans_of(rows), spans_of(others)
    for i, found in enumerate(covered(spans, by).tolist()):
        mine = by.group == spans.group[i]
        own = set(range(int(spans.start[i]), int(spans.end[i])))
        assert found == len(own & moments(by.start[mine], by.end[mine]))


@given(stretches)
def test_what_ended_before(rows: list[tuple[int, int, int]]) -> None:
    spans = spans_of(sorted(rows, key=lambda row: row[1]))
    ends = spans.end.tolist()
    assert ended_before(spans.end, -99).tolist() == [max(ends[:i], default=-99) for i in range(len(ends))]


def test_ungrouped_spans_are_of_one_group() -> None:
    start, end = np.array([0, 5]), np.array([3, 9])
    assert covered(ungrouped(start, end), ungrouped(end - 4, end)).tolist() == [3, 4]
