"""The profiler's steps against HTA's, but for the last, which HTA leaves out by default (S1)."""

import hta
import pytest


@pytest.mark.parametrize("trace", hta.FILES)
def test_steps_are_those_that_hta_finds(trace: str, hta_runs: hta.HtaRuns) -> None:
    rows = hta_runs.rows("profiler_steps", trace)
    ours = sorted(set(rows["step"]))
    cut = hta.expected(trace, "profiler_steps")
    whole = hta.expected(trace, "profiler_steps", "full")
    assert cut is not None
    if whole is None:  # with one step or none HTA cuts nothing
        assert ours == cut["step"].tolist()
        return
    assert ours == whole["step"].tolist()
    # Where a GPU twin of its annotation begins later, part of the last step stays, with its number (W11).
    twin = trace == "a4"
    assert cut["step"].tolist() == (ours if twin else ours[:-1])


@pytest.mark.parametrize("trace", hta.FILES)
def test_each_rank_has_each_step_once(trace: str, hta_runs: hta.HtaRuns) -> None:
    rows = hta_runs.rows("profiler_steps", trace)
    assert not rows.duplicated(["rank", "step"]).any()
    assert (rows["duration_ns"] == rows["end_ns"] - rows["start_ns"]).all()
    assert (rows["name"] == [f"ProfilerStep#{step}" for step in rows["step"]]).all()
    if len(rows):
        assert rows.groupby("step").size().eq(len(hta.files_of(trace))).all()


@pytest.mark.parametrize(("trace", "late"), [("a1", {0, 6}), ("a2", {0}), ("a3", {2})])
def test_stragglers_are_those_that_the_others_waited_for(
    trace: str, late: set[int], hta_runs: hta.HtaRuns
) -> None:
    """HTA fails with these names of kernels, and with the names mended says rank 2 of a1 (W7)."""
    theirs = hta.expected(trace, "potential_stragglers_any_nccl")
    assert hta.expected(trace, "potential_stragglers") is None
    assert (None if theirs is None else int(theirs["rank"][0])) == {"a1": 2, "a2": None, "a3": 2}[trace]
    ours = hta_runs.rows("potential_stragglers", trace).sort_values("caused_ns", ascending=False)
    first = ours.head(len(late))
    assert (set(first["rank"]), first["caused_share"].sum() >= 0.9) == (late, True)
    # As the times at which members arrive say, collective by collective.
    skew = hta_runs.rows("collectives", trace).groupby("last_rank")["skew_ns"].sum()
    assert set(skew.nlargest(len(late)).index) == late
