"""Stragglers of operation logs: known answers, published ones, and a plain re-simulation as the oracle."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from operation_logs import MESSAGES, SHARED, Job, Key, usual

from tracegraph.ingest.integrity_findings import Integrity
from tracegraph.ingest.operations.stragglers import find_stragglers
from tracegraph.ingest.readers import read_trace

PUBLISHED = {
    "AR": {
        "recorded_ns": 46.649176e9,
        "without_delays_ns": 46.336373e9,
        "ideal_ns": 23.484700e9,
        "slowdown": 1.97305,
        "worst_workers": 1.0017,
        "last_stage": -0.0012,
        "stage": {"0": 1.97919, "1": 0.99711, "2": 0.99560, "3": 1.00237},
        "dp_rank": {"0": 1.97304, "1": 1.01089, "2": 1.01115, "3": 1.01114},
        "optype": {
            "backward-compute": 1.58051,
            "forward-compute": 1.36889,
            "grads-reduce-scatter": 1.01078,
            "params-all-gather": 1.00548,
        },
    },
    "ST": {
        "recorded_ns": 2.214448e9,
        "without_delays_ns": 2.172697e9,
        "ideal_ns": 1.843296e9,
        "slowdown": 1.17870,
        "worst_workers": 0.0314,
        "last_stage": 1.2194,
        "stage": {"0": 0.99805, "1": 0.98306, "2": 0.98249, "3": 1.23226},
        "dp_rank": {"0": 1.17308, "1": 1.17787},
        "optype": {
            "forward-compute": 1.08750,
            "backward-compute": 1.07416,
            "embedding-grads-all-reduce": 1.00955,
            "grads-reduce-scatter": 1.00267,
        },
    },
}
"""What the authors of the paper state of two of its jobs."""


def measured(log: pd.DataFrame, tmp_path: Path) -> dict[str, Any]:
    path = tmp_path / "job.operations.parquet"
    log.to_parquet(path)
    found = find_stragglers(read_trace(path, Integrity("")).operations.to_pandas())
    assert found is not None
    return found


def by_level(found: dict[str, Any], level: str, value: str = "slowdown") -> dict[str, float]:
    return {row["group"]: row[value] for row in found["rows"] if row["level"] == level}


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_values_come_out_within_a_thousandth(
    name: str, shared_trace: Callable[[str], Path]
) -> None:
    trace = read_trace(shared_trace(f"o1_bytedance_straggler/trace-{name}.parquet"), Integrity(""))
    found = find_stragglers(trace.operations.to_pandas())
    assert found is not None
    for key, value in PUBLISHED[name].items():
        if isinstance(value, dict):
            told = by_level(found, key)
            assert {one: told[one] for one in value} == pytest.approx(value, rel=1e-3)
        elif key in ("worst_workers", "last_stage"):
            assert found[key] == pytest.approx(value, abs=5e-4)
        else:
            assert found[key] == pytest.approx(value, rel=1e-3)
    slow = by_level(found, "worker")
    ranks, stages = by_level(found, "dp_rank"), by_level(found, "stage")
    places = {row["group"]: row for row in found["rows"] if row["level"] == "worker"}
    assert slow == {
        rank: min(ranks[str(row["dp_rank"])], stages[str(row["stage"])]) for rank, row in places.items()
    }


def test_an_even_job_has_no_stragglers(tmp_path: Path) -> None:
    job = Job(2, 3, 4)
    found = measured(job.log(2, job.times(2, usual())), tmp_path)
    assert found["slowdown"] == pytest.approx(1, abs=1e-6)
    assert by_level(found, "worker") == pytest.approx(dict.fromkeys("012345", 1.0), abs=1e-6)


def test_one_slow_worker_is_named_with_what_it_costs(tmp_path: Path) -> None:
    """It computes 4 × (40 + 80) ms, the other half of that; with all at the mean, both 4 × (30 + 60) ms."""
    job = Job(2, 1, 4)
    found = measured(job.log(2, job.times(2, usual({(1, 0): 2.0}))), tmp_path)
    assert found["without_delays_ns"] - found["ideal_ns"] == pytest.approx(120e6, abs=100)
    worst = next(row for row in found["rows"] if row["level"] == "worker")
    assert (worst["group"], worst["dp_rank"], worst["stage"]) == ("1", 1, 0)
    assert worst["gain_ns"] == pytest.approx(120e6, abs=100)
    assert found["worst_workers"] == worst["share"] == pytest.approx(1, abs=1e-6)
    assert by_level(found, "dp_rank") == pytest.approx({"0": 1.0, "1": found["slowdown"]}, abs=1e-6)


def test_a_long_last_stage_is_told_apart_from_a_slow_worker(tmp_path: Path) -> None:
    job = Job(2, 3, 4)
    slow = {(0, 2): 1.5, (1, 2): 1.5}
    found = measured(job.log(2, job.times(2, usual(slow))), tmp_path)
    assert found["last_stage"] > 0.9
    assert found["worst_workers"] < 0.1
    assert max(by_level(found, "stage"), key=by_level(found, "stage").__getitem__) == "2"


def test_what_the_host_delays_is_shown_beside_and_not_a_straggler(tmp_path: Path) -> None:
    job = Job(1, 2, 3)
    own = job.times(1, usual())
    late: dict[tuple[int, Key], float] = {(0, ("forward-compute", 0, 0, 0)): 30e6}
    found = measured(job.log(1, own, late), tmp_path)
    assert found["recorded_ns"] - found["without_delays_ns"] == pytest.approx(30e6 - 1e6, abs=1e6 + 10)
    assert found["slowdown"] == pytest.approx(1, abs=1e-6)


@st.composite
def jobs(draw: st.DrawFn) -> tuple[Job, dict[tuple[int, Key], float], int]:
    job = Job(draw(st.integers(1, 3)), draw(st.integers(1, 3)), draw(st.integers(2, 5)))
    numbers = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    steps = draw(st.integers(1, 2))
    base = usual()
    own = job.times(steps, lambda k, key: float(round(base(k, key) * numbers.uniform(0.5, 2))))
    # Members of one message or collective end together.
    return (
        job,
        {(k, key): own[k, job.members[key][0]] for k, key in own} | _ends_alike(job, own, steps),
        steps,
    )


def _ends_alike(job: Job, own: dict[tuple[int, Key], float], steps: int) -> dict[tuple[int, Key], float]:
    return {(k, key): own[k, min(members)] for k in range(steps) for key, members in job.members.items()}


@given(jobs())
def test_measures_equal_those_of_a_plain_re_simulation(
    drawn: tuple[Job, dict[tuple[int, Key], float], int],
) -> None:
    job, own, steps = drawn
    log = job.log(steps, own)
    rows = log.rename(columns={"dp_rank": "data_rank", "optype": "type", "seq_id": "sequence", "mc": "chunk"})
    rows = rows.rename(columns={"gmc": "model_chunk"}).assign(
        start_ns=np.rint(log["start_ts"] * 1e9).astype(np.int64),
        end_ns=np.rint((log["start_ts"] + log["duration"]) * 1e9).astype(np.int64),
    )
    found = find_stragglers(rows)
    assert found is not None
    same = ideal_times(own)
    t0, t1 = job.length(steps, own), job.length(steps, same)
    assert found["without_delays_ns"] == pytest.approx(t0, abs=1000)
    assert found["ideal_ns"] == pytest.approx(t1, abs=1000)

    def put_back(chosen: Callable[[Key], bool]) -> float:
        mixed = {at: own[at] if chosen(at[1]) else same[at] for at in own}
        return job.length(steps, mixed) / t1

    for stage in range(job.stages):
        expected = put_back(lambda key, stage=stage: key[2] == stage)  # type: ignore[misc]
        assert by_level(found, "stage")[str(stage)] == pytest.approx(expected, abs=1e-5)
    for rank in range(job.ranks):
        expected = put_back(lambda key, rank=rank: key[3] == rank)  # type: ignore[misc]
        assert by_level(found, "dp_rank")[str(rank)] == pytest.approx(expected, abs=1e-5)
    expected = put_back(lambda key: key[0] in MESSAGES[:2])
    if job.stages > 1:
        assert by_level(found, "optype")["forward-pp-comm"] == pytest.approx(expected, abs=1e-5)
    without = job.length(steps, {at: same[at] if at[1][2] == job.stages - 1 else own[at] for at in own})
    if t0 - t1 > 1e6:
        assert found["last_stage"] == pytest.approx((t0 - without) / (t0 - t1), abs=1e-3)


def ideal_times(own: dict[tuple[int, Key], float]) -> dict[tuple[int, Key], float]:
    """All operations of a type at the mean of work, or the median of transfers."""
    values: dict[str, list[float]] = {}
    for (_, (name, *_)), took in own.items():
        values.setdefault(name, []).append(took)
    median = (*MESSAGES, *SHARED, "layernorm-grads-all-reduce")
    middle = {name: (np.median if name in median else np.mean)(took) for name, took in values.items()}
    return {at: float(middle[at[1][0]]) for at in own}


def test_steps_that_differ_are_left_out_and_rows_of_another_order_have_no_measure() -> None:
    job = Job(1, 2, 2)
    log = job.log(3, job.times(3, usual()))
    rows = pa.Table.from_pandas(log).to_pandas()
    rows = rows.rename(
        columns={"dp_rank": "data_rank", "optype": "type", "seq_id": "sequence", "mc": "chunk"}
    )
    rows = rows.rename(columns={"gmc": "model_chunk"}).assign(
        start_ns=(rows["start_ts"] * 1e9).round().astype("int64"),
        end_ns=((rows["start_ts"] + rows["duration"]) * 1e9).round().astype("int64"),
    )
    found = find_stragglers(rows.drop(index=rows.index[(rows["step"] == 11) & (rows["type"] == "optimizer")]))
    assert found is not None
    assert (found["steps"], found["left_out"]) == (2, [11])
    twice = pd.concat([rows, rows[rows["type"] == "optimizer"]])
    assert find_stragglers(twice) is None
