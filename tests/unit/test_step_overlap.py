"""Communication behind computing, by step: against counting each ns, and where the usual formula fails."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from module_rows import rows_of

from tracegraph.queries.catalog import find
from tracegraph.queries.shapes.links.step_overlap import step_overlap
from tracegraph.queries.shapes.peak.missing_inputs import WAITS_INSIDE

SPANS = st.lists(st.tuples(st.integers(0, 80), st.integers(0, 20)), min_size=1, max_size=8)
WINDOWS = st.lists(st.tuples(st.integers(0, 80), st.integers(1, 40)), min_size=1, max_size=4)


def overlap(computing: Any, talking: Any, windows: Any, ranks: int = 2) -> pd.DataFrame:
    """The rows for stretches (start, length) on rank 0 and windows of steps (start, length)."""
    work = [
        {"what": what, "begin_ns": [a for a, _ in spans], "end_ns": [a + b for a, b in spans]}
        for what, spans in (("computation", computing), ("communication", talking))
    ]
    steps = [
        {"number": number, "start_ns": start, "window_end_ns": start + length}
        for number, (start, length) in enumerate(windows)
    ]
    values = {"start_ns": 0, "end_ns": 1000}
    files = rows_of("traces", *({"rank": rank} for rank in range(ranks)))
    return step_overlap(values, rows_of("busy_stretches", *work), rows_of("steps", *steps), files)


@given(SPANS, SPANS, WINDOWS)
def test_each_ns_counts_once(computing: Any, talking: Any, windows: Any) -> None:
    found = overlap(computing, talking, windows).set_index("step")
    at = np.arange(200)
    computes, talks = (
        np.any([(at >= a) & (at < a + b) for a, b in spans], axis=0) for spans in (computing, talking)
    )
    for number, (start, length) in enumerate(windows):
        inside = (at >= start) & (at < start + length)
        a, b, both = (int((flags & inside).sum()) for flags in (computes, talks, computes & talks))
        if not b:
            assert number not in found.index
            continue
        row = found.loc[number]
        assert (row["computing_ns"], row["communication_ns"], row["overlap_ns"]) == (a, b, both)
        assert (row["exposed_ns"], row["hidden_share"]) == (b - both, pytest.approx(both / b))
        assert pd.isna(row["overlap_efficiency"]) if not a else row["overlap_efficiency"] == both / min(a, b)


def test_without_steps_there_is_one_row_and_without_communication_none() -> None:
    found = overlap([(0, 10)], [(5, 10)], [])
    assert found[["step_ns", "overlap_ns", "exposed_ns"]].to_numpy().tolist() == [[1000, 5, 5]]
    assert overlap([(0, 10)], [(5, 0)], []).empty
    assert find("step_overlap").empty_when == "no communication runs on a GPU in the window"


def test_one_file_cannot_tell_waits_for_other_ranks() -> None:
    lacks = [overlap([(0, 10)], [(5, 10)], [], ranks)["lacks"].tolist() for ranks in (1, 2)]
    assert lacks == [[WAITS_INSIDE], [None]]
