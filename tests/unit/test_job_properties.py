"""Random jobs whose makespan, waits and counterfactuals are known by an independent, direct simulation."""

import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rank_parts import read_part
from tiny import Row, call, event, kernel
from tiny_job import ALL_REDUCE, write_trace

from tracegraph.ingest.causal.graph.path_rows import path_rows
from tracegraph.ingest.ranks.job import Job, build_job
from tracegraph.ingest.ranks.matching import find_shift
from tracegraph.ingest.tables.collectives import member_times
from tracegraph.ingest.what_if.graph.graph import graph_of
from tracegraph.workbench.what_if.answer import Question, answer
from tracegraph.workbench.what_if.assumptions import INFINITE_BANDWIDTH, NO_STRAGGLERS

LAUNCH, TRANSFER = 5, 10
Works = Sequence[Sequence[int]]


def simulate(works: Works, transfer: int = TRANSFER) -> tuple[list[list[int]], list[int]]:
    """When each rank comes to each all-reduce (by step, then rank), and when all leave it; µs."""
    begin, arrivals, leaves = 0, [], []
    for step in zip(*works, strict=True):
        arrivals.append([begin + work + LAUNCH for work in step])
        begin = max(arrivals[-1]) + transfer
        leaves.append(begin)
    return arrivals, leaves


def rows_of(rank: int, works: Works, skew: int) -> list[Row]:
    arrivals, leaves = simulate(works)
    found: list[Row] = []
    for number, (arrived, left) in enumerate(zip(arrivals, leaves, strict=True)):
        begin, arrive, leave = skew + (leaves[number - 1] if number else 0), skew + arrived[rank], skew + left
        group = {"group": "0", "group_ranks": str([*range(len(works))]), "group_sequence": number}
        found += [
            event("work", begin, arrive - LAUNCH),
            call("cudaLaunchKernel", arrive - LAUNCH, arrive - LAUNCH + 2, number + 1),
            kernel(ALL_REDUCE, arrive, leave, number + 1, **group),
            call("cudaStreamSynchronize", arrive - LAUNCH + 2, leave, 100 + number),
        ]
    return found


def job_of(works: Works, skews: Sequence[int]) -> Job:
    with tempfile.TemporaryDirectory() as folder:
        files = [
            write_trace(Path(folder) / f"rank{rank}.json", rows_of(rank, works, skews[rank]), rank)
            for rank in range(len(works))
        ]
        return build_job([read_part(file) for file in files])


@st.composite
def jobs(draw: st.DrawFn) -> tuple[Works, list[int]]:
    ranks, steps = draw(st.integers(2, 4)), draw(st.integers(2, 4))
    works = draw(
        st.lists(
            st.lists(st.integers(20, 300), min_size=steps, max_size=steps), min_size=ranks, max_size=ranks
        )
    )
    skews = [0, *draw(st.lists(st.integers(-2000, 2000), min_size=ranks - 1, max_size=ranks - 1))]
    return works, skews


@given(jobs(), st.data())
def test_path_waits_clocks_and_gains_are_those_of_the_simulation(
    made: tuple[Works, list[int]], data: st.DataObject
) -> None:
    works, skews = made
    job = job_of(works, skews)
    arrivals, leaves = simulate(works)
    assert [clock.offset_ns for clock in job.clocks.values()] == [-1000 * skew for skew in skews]
    rows = path_rows(job.model)
    assert (rows["end_ns"].iloc[-1] - rows["start_ns"].iloc[0]) == 1000 * leaves[-1]
    on_path = (rows["end_ns"] - rows["start_ns"])[rows["name"].eq("work")].sum()
    assert on_path == 1000 * sum(map(max, zip(*works, strict=True)))
    meetings = job.model.meetings
    assert meetings is not None
    waited = member_times(job.model, meetings).waited_once
    by_rank = np.bincount(job.model.events.rank[meetings.event], waited, len(works))
    assert by_rank.tolist() == [
        1000 * sum(max(step) - step[rank] for step in arrivals) for rank in range(len(works))
    ]
    graph, rank = graph_of(job.model), data.draw(st.integers(0, len(works) - 1))
    # Without waits for other ranks each of them runs on its own; the path is the longest of these.
    each, waits = len(works[0]), by_rank.any()
    unwaiting = [Question(remove_wait=("waiting for another rank",), overhead="none")] if waits else []
    idle = [[0] * len(mine) if one == rank else mine for one, mine in enumerate(works)]
    for question, left in (
        (Question(remove=(f"name=work,rank={rank}",), overhead="none"), simulate(idle)[1][-1]),
        (Question(assume=(INFINITE_BANDWIDTH,), overhead="none"), simulate(works, transfer=0)[1][-1]),
        *((one, max(map(sum, works)) + each * (LAUNCH + TRANSFER)) for one in unwaiting),
    ):
        assert answer(graph, "job", question).prediction.corrected.predicted_ns == 1000 * left


@pytest.mark.parametrize(
    ("late", "shrunk"),
    [([111, 121, 131, 121], 1.0), ([150, 160, 170, 160], 400 / 640)],
    ids=["as single events scatter", "always"],
)
def test_no_rank_is_called_late_by_chance(late: list[int], shrunk: float) -> None:
    """Rank 1 works 84 and 240 µs longer in sum, 3.6 and 10.4 standard deviations of such a difference."""
    usual = [90, 100, 110, 100]
    graph = graph_of(job_of([usual, late], [0, 0]).model)
    gain = answer(graph, "job", Question(assume=(NO_STRAGGLERS,), overhead="none")).prediction.corrected
    works = [max(one, shrunk * other) for one, other in zip(usual, late, strict=True)]
    assert gain.predicted_ns == 1000 * (sum(works) + len(works) * (LAUNCH + TRANSFER))


@given(
    st.lists(st.integers(50, 5_000), min_size=8, max_size=30, unique=True),
    st.integers(0, 3),
    st.integers(-(10**9), 10**9),
)
def test_the_shift_of_uneven_series_is_found_whatever_the_clocks(
    gaps: list[int], shift: int, skew: int
) -> None:
    ends = np.cumsum(gaps) * 1000
    found = find_shift((ends[shift : shift + len(ends) - 3] + skew).tolist(), ends.tolist())
    assert found in (shift, None)


@pytest.mark.parametrize(("gaps", "expected"), [([70, 110, 90, 300, 55, 80], 1), ([100] * 6, None)])
def test_even_steps_do_not_tell_which_of_them_are_one(gaps: list[int], expected: int | None) -> None:
    ends = np.cumsum(gaps) * 1000
    assert find_shift((ends[1:] + 5_000_000).tolist(), ends.tolist()) == expected


def test_who_recorded_fewer_is_matched_by_the_ends() -> None:
    works = [[100, 40, 200, 60, 150, 90], [50, 170, 30, 120, 80, 210]]
    whole = [rows_of(rank, works, 1500 * rank) for rank in range(2)]
    plain = [
        [row | dict.fromkeys(("group", "group_ranks", "group_sequence")) for row in rows] for rows in whole
    ]
    with tempfile.TemporaryDirectory() as folder:
        files = [
            write_trace(Path(folder) / f"rank{rank}.json", rows[4 * rank :], rank)
            for rank, rows in enumerate(plain)
        ]
        job = build_job([read_part(file) for file in files])
    assert job.model.meetings is not None
    assert (len(job.model.meetings), set(job.model.meetings.confidence)) == (5, {0.6})
    assert job.clocks[1].offset_ns == -1_500_000
    assert [(one.count, one.reason) for one in job.unmatched] == [
        (1, "some of the ranks did not record them")
    ]
