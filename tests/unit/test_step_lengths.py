"""How long steps are: of one rank, of a job, and where the GPU is behind its host."""

import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

from tracegraph.queries.shapes.step_lengths import step_lengths

Row = tuple[int, int, int, int]


def steps(*rows: Row, types: str | None = None) -> pd.DataFrame:
    """Rows of `steps`: rank, number, start and end of the window."""
    names = ["rank", "number", "start_ns", "window_end_ns"]
    return pd.DataFrame(rows, columns=names).assign(type=types)


def test_steps_of_a_rank_in_the_order_of_time() -> None:
    rows = steps((0, 8, 100, 130), (0, 7, 0, 100), (1, 7, 0, 900))
    assert step_lengths(rows, 0).to_dict("list") == {
        "number": [7, 8],
        "type": [None, None],
        "length_ns": [100, 30],
    }


def test_no_time_counts_twice_where_the_gpu_is_behind() -> None:
    """The host goes on after 10 ns, the GPU needs 50 for each step; before the last step both wait 20."""
    rows = steps((0, 1, 0, 50), (0, 2, 10, 100), (0, 3, 20, 150), (0, 4, 170, 220))
    assert step_lengths(rows)["length_ns"].tolist() == [50, 50, 50, 50]


def test_a_step_of_a_job_is_the_mean_of_its_ranks_by_their_own_clocks() -> None:
    rows = steps((0, 1, 0, 100), (0, 2, 100, 300), (1, 1, 5_000, 5_200), (1, 2, 5_200, 5_300), (1, 3, 9, 10))
    assert step_lengths(rows)[["number", "length_ns"]].to_numpy().tolist() == [[1, 150], [2, 150]]


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 90)), min_size=1, max_size=9))
def test_the_lengths_cover_what_the_windows_cover(windows: list[tuple[int, int]]) -> None:
    """Counted another way: the moments that lie in some window."""
    starts = sorted(start for start, _ in windows)
    rows = steps(*((0, at, start, start + windows[at][1]) for at, start in enumerate(starts)))
    covered = {
        at
        for _, _, start, end in rows[["rank", "number", "start_ns", "window_end_ns"]].to_numpy()
        for at in range(start, end)
    }
    assert step_lengths(rows)["length_ns"].sum() == len(covered)
