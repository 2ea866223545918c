"""Sizes of DDP's buckets, predicted from a recording of one of them and measured in turns, over gloo."""

import gzip
import json
from pathlib import Path
from statistics import median

import pandas as pd
import pytest
from stored_traces import take_for_own

from tracegraph.base.gradient_buckets import ACCUMULATES, fill_buckets
from tracegraph.store.connection import Database
from tracegraph.store.connection_settings import ConnectionSettings
from tracegraph.store.workspace import Workspace
from tracegraph.workbench import Workbench
from tracegraph.workbench.run import Run

SWEEP = Path(__file__).parents[1] / "data" / "bucket_sweep"
RECORDED_MB, OTHERS_MB, STEPS = 0.5, (1.0, 5.0, 25.0), 6
ALL_MB = 100.0
"""DDP closes the first bucket of these jobs at the size that it was given, not at 1 MiB."""


@pytest.fixture(scope="module")
def run(database: Database, workspace: Workspace) -> Run:
    take_for_own(database, workspace)
    bench = Workbench(workspace, ConnectionSettings())
    return bench.ingest(SWEEP / f"{RECORDED_MB:g}", "bucket-sweep")


@pytest.fixture(scope="module")
def predicted(run: Run) -> pd.DataFrame:
    return run.ddp_bucket_sizes(first_mb=ALL_MB)


def change_ms(predicted: pd.DataFrame, size_mb: float, column: str) -> list[float]:
    """How much longer than recorded a step of each rank is, ms."""
    recorded = predicted[predicted["bucket_mb"].isna()].set_index("rank")["step_ns"]
    found = predicted[predicted["bucket_mb"].eq(size_mb)].set_index("rank")[column]
    return [float(one) / 1e6 for one in found - recorded]


def measured_ms(size_mb: float) -> tuple[float, float, float]:
    """The median of the paired differences from the recorded size, and its 95 % interval, ms."""
    times = json.loads((SWEEP / "times.json").read_text())["step_ms"]
    pairs = zip(times[f"{size_mb:g}"], times[f"{RECORDED_MB:g}"], strict=True)
    found = sorted(one - other for one, other in pairs)
    off = round(1.96 * len(found) ** 0.5 / 2)  # of the rank of a median, by the binomial distribution
    return found[len(found) // 2 - off - 1], median(found), found[len(found) // 2 + off]


@pytest.mark.parametrize("size_mb", [5.0, 25.0])
def test_the_range_holds_the_measured_difference(predicted: pd.DataFrame, size_mb: float) -> None:
    _, measured, _ = measured_ms(size_mb)
    least_of, most_of = (change_ms(predicted, size_mb, name) for name in ("least_ns", "most_ns"))
    for least, most in zip(least_of, most_of, strict=True):
        assert least < measured < most


def test_a_difference_that_was_not_measured_is_predicted_to_be_small(predicted: pd.DataFrame) -> None:
    low, _, high = measured_ms(1.0)
    assert low < 0 < high
    for name in ("least_ns", "step_ns", "most_ns"):
        assert all(abs(change) < 1.5 for change in change_ms(predicted, 1.0, name))
        assert any(low < change < high for change in change_ms(predicted, 1.0, name))


def test_the_recorded_size_is_predicted_as_it_was(predicted: pd.DataFrame) -> None:
    assert [abs(change) < 0.3 for change in change_ms(predicted, RECORDED_MB, "step_ns")] == [True, True]
    counts = predicted[predicted["rank"].eq(0)].set_index("bucket_mb")["buckets"]
    assert [counts[size] for size in (RECORDED_MB, *OTHERS_MB)] == [11, 7, 3, 1]


def test_buckets_over_gloo_are_ready_when_the_host_calls(run: Run) -> None:
    found = run.ddp_buckets(rank=0)
    calls = rows_of(RECORDED_MB, "c10d::allreduce_")
    assert found["ready_ns"].to_list() == [round(1000 * float(str(one["ts"]))) for one in calls]
    assert found["bytes"].to_list() == [4 * size for size in found["elements"]]
    assert found.groupby("step")["bytes"].sum().to_list() == [13_994_024] * STEPS


@pytest.mark.parametrize(("size_mb", "within_ms"), [(RECORDED_MB, 0.4), (1.0, 0.4), (5.0, 1.5), (25.0, 2.0)])
def test_a_replay_says_what_the_query_says(run: Run, size_mb: float, within_ms: float) -> None:
    found = run.ddp_bucket_sizes(bucket_mb=size_mb)
    changes = change_ms(found, size_mb, "step_ns")
    replayed = run.what_if(bucket=size_mb).prediction.corrected.gain_ns / 1e6 / STEPS
    assert -replayed == pytest.approx(sum(changes) / len(changes), abs=within_ms)


@pytest.mark.parametrize("size_mb", OTHERS_MB)
def test_buckets_are_filled_as_ddp_fills_them(size_mb: float) -> None:
    gradients = [(bytes_of(one), 0.0) for one in rows_of(RECORDED_MB, ACCUMULATES)]
    in_step = gradients[: len(gradients) // STEPS]
    filled = [size for size, _ in fill_buckets(in_step, ALL_MB, size_mb)]
    assert filled == [bytes_of(one) for one in rows_of(size_mb, "gloo:all_reduce")]


def rows_of(size_mb: float, name: str) -> list[dict[str, object]]:
    """The rows of a name in a recording, by time."""
    entries = json.loads(gzip.decompress((SWEEP / f"{size_mb:g}" / "rank0.json.gz").read_bytes()))
    return sorted((one for one in entries["traceEvents"] if one["name"] == name), key=lambda one: one["ts"])


def bytes_of(row: dict[str, object]) -> int:
    """The bytes of the first input of a row, in float32."""
    args = row["args"]
    assert isinstance(args, dict)
    size = 4
    for length in args["Input Dims"][0]:
        size *= length
    return size
