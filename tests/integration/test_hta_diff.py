"""Events compared by name: HTA's TraceDiff on real traces, and why ours differs where it does."""

import hashlib
import re
from dataclasses import dataclass

import hta
import pandas as pd
import pytest

US = 1_000
COUNTS = {"a": "control_counts", "b": "test_counts"}
TIMES = {"a": "control_total_duration", "b": "test_total_duration"}
AFTER_STEP = """
MATCH (s:Step {run: $run, rank: $rank, number: $step})
MATCH (t:GpuAnnotation {run: $run, rank: $rank, name: 'ProfilerStep#' + $step})
MATCH (f:Trace {run: $run, rank: $rank})
MATCH (e:Event {run: $run, rank: $rank})
WHERE NOT (e:Kernel OR e:Memcpy OR e:Memset OR e:GpuAnnotation OR e:Sync) AND e.step IS NULL
  AND e.start_ns >= s.end_ns AND (e.start_ns + 999) / 1000 < (t.end_ns - f.clock_offset_ns) / 1000
RETURN e.name AS name, count(*) AS count, sum(e.duration_ns) AS duration_ns
"""
"""Events after a step that HTA counts in it, as its twin on the GPU ends later in the file (W11, W1)."""
STREAMS = """
MATCH (e:Event {run: $run, rank: $rank, step: $step}) WHERE e:Kernel OR e:Memcpy OR e:Memset
MATCH (l:Lane {run: $run, lane: e.lane})
RETURN collect(DISTINCT l.stream) AS streams
"""


@dataclass(frozen=True)
class Side:
    """What one of the two is: a trace, a rank and a step."""

    run: str
    rank: int
    step: int


PAIRS = {
    "diff_a1r0_a1r1": (Side("a1", 0, 3), Side("a1", 1, 3)),
    "diff_a2r0_a2r1": (Side("a2", 0, 6), Side("a2", 1, 6)),
    "diff_a3r0_a3r1": (Side("a3", 0, 4), Side("a3", 1, 4)),
    "diff_a5step4_a5step5": (Side("a5", 0, 4), Side("a5", 0, 5)),
    "diff_h1h100_h1mi300": (Side("h1_h100", 0, 6), Side("h1_mi300", 0, 6)),
}
ROUNDED = {"a2", "a5", "h1_h100", "h1_mi300"}
"""Traces whose times have fractions of µs: HTA moves each end inwards to whole µs (W1)."""
TWIN_ENDS_LATER = {"h1_h100", "h1_mi300"}
"""Traces with a step whose twin on the GPU ends after it (W11)."""
ON_STREAM_0 = {"h1_mi300"}
"""Traces whose GPU work is all on stream 0, which HTA does not count (W10)."""
ANNOTATED = {"a2", "a5", "h1_h100", "h1_mi300"}
"""Traces with annotations on the GPU, which HTA counts on the CPU: they state no stream, only a tid."""


def ours(runs: hta.HtaRuns, pair: str, query: str = "trace_diff") -> pd.DataFrame:
    a, b = PAIRS[pair]
    of_b = {f"{name}_b": value for name, value in vars(b).items()}
    return runs.rows(query, a.run, **{"rank": a.rank, "step": a.step, **of_b})


def as_hta(runs: hta.HtaRuns, rows: pd.DataFrame, of: Side, letter: str) -> pd.DataFrame:
    """Our number and time of each name on either device, counted as HTA counts."""
    rows = rows.rename(columns={f"count_{letter}": "count", f"duration_{letter}_ns": "duration_ns"})
    rows = rows[rows["count"] > 0][["name", "device", "category", "count", "duration_ns"]]
    twins = rows["category"].eq("gpu_user_annotation")
    assert twins.any() == (of.run in ANNOTATED)
    # Annotations on the GPU are rows of the CPU to HTA.
    rows = rows.assign(device=rows["device"].mask(twins, "CPU"))
    after = runs.database.read(AFTER_STEP, vars(of))
    assert (not after.empty) == (of.run in TWIN_ENDS_LATER)
    rows = pd.concat([rows, after.assign(device="CPU")])
    streams = runs.database.read(STREAMS, vars(of))["streams"].iloc[0]
    assert (streams == [0]) == (of.run in ON_STREAM_0)
    return rows[rows["device"].eq("CPU") | (of.run not in ON_STREAM_0)]


def check_side(runs: hta.HtaRuns, theirs: pd.DataFrame, rows: pd.DataFrame, of: Side, letter: str) -> None:
    """Equal in number; in time equal to HTA's rounding inwards, which takes less than 2 µs from an event."""
    theirs = theirs[theirs[COUNTS[letter]] > 0].set_index("name")
    found = rows.groupby("name")[["count", "duration_ns"]].sum()
    counts = theirs[COUNTS[letter]].astype("int64")
    assert found["count"].to_dict() == counts.to_dict()
    lost = found["duration_ns"] - (theirs[TIMES[letter]] * US).round().astype("int64").reindex(found.index)
    files = runs.rows("traces", of.run).set_index("rank")
    # A GPU's clock that runs too fast or too slow is put right, and with it how long its work lasts.
    drift = (found["duration_ns"] * abs(files["clock_drift_ppb"][of.rank]) * 1e-9).round() + found["count"]
    rounding = 2 * US * found["count"] if of.run in ROUNDED else 0
    assert (lost >= -drift).all()
    assert (lost <= rounding + drift).all()


@pytest.mark.parametrize("pair", PAIRS)
def test_events_are_those_of_hta(pair: str, hta_runs: hta.HtaRuns) -> None:
    found = ours(hta_runs, pair)
    for of, letter in zip(PAIRS[pair], "ab", strict=True):
        rows = as_hta(hta_runs, found, of, letter)
        for device in ("all", "cpu", "gpu"):
            theirs = hta.expected(pair, f"compare_traces_{device}")
            assert theirs is not None
            of_device = rows if device == "all" else rows[rows["device"] == device.upper()]
            check_side(hta_runs, theirs, of_device, of, letter)


@pytest.mark.parametrize("pair", [pair for pair in PAIRS if pair != "diff_h1h100_h1mi300"])
def test_what_changed_is_what_hta_says(pair: str, hta_runs: hta.HtaRuns) -> None:
    """By name on both devices together; as many is unchanged, however long."""
    rows = ours(hta_runs, pair).groupby("name")[["count_a", "count_b"]].sum()
    change = pd.Series("unchanged", rows.index)
    change = change.mask(rows["count_b"] > rows["count_a"], "increased").mask(rows["count_a"] == 0, "added")
    change = change.mask(rows["count_b"] < rows["count_a"], "decreased").mask(rows["count_b"] == 0, "deleted")
    theirs = hta.expected(pair, "ops_diff_all")
    assert theirs is not None
    for kind, count, sha1 in theirs.itertuples(index=False):
        names = sorted(change.index[change == kind])
        assert len(names) == count
        assert hashlib.sha1("\n".join(names).encode()).hexdigest() == sha1


@pytest.mark.parametrize("pair", PAIRS)
def test_short_names_are_those_of_hta(pair: str, hta_runs: hta.HtaRuns) -> None:
    """Kernels only; HTA leaves the colons of an anonymous namespace behind."""
    theirs = hta.expected(pair, "compare_traces_gpu_short_name")
    assert theirs is not None
    theirs = theirs.assign(name=[re.sub("(::)+", "::", name).lstrip(":") for name in theirs["short_name"]])
    rows = ours(hta_runs, pair, "trace_diff_short")
    rows = rows[rows["device"].eq("GPU") & rows["category"].ne("gpu_user_annotation")]
    for of, letter in zip(PAIRS[pair], "ab", strict=True):
        counts = rows.groupby("name")[f"count_{letter}"].sum() * (of.run not in ON_STREAM_0)
        expected = theirs.groupby("name")[COUNTS[letter]].sum()
        assert counts[counts > 0].to_dict() == expected[expected > 0].to_dict()


def test_runs_without_steps_are_compared(hta_runs: hta.HtaRuns) -> None:
    """HTA refuses c1 and i1, which have no ProfilerStep."""
    rows = hta_runs.rows("trace_diff", "c1", run_b="i1")
    assert set(rows["change"]) >= {"added", "deleted", "slower", "faster"}
    assert rows[["count_a", "count_b"]].sum().gt(0).all()
