"""What is said of operators, annotations and launches against HTA's numbers, on all its traces."""

import hashlib

import hta
import numpy as np
import pandas as pd
import pytest
from hta import FILES, HtaRuns, expected

EXACT = ("full", "ns", "")
"""HTA's variants, those first that neither leave out a step nor round."""
STEP_CUT = ("ns", "")
"""Of what HTA tells without the last step only."""
ANNOTATIONS = {
    "user_annotation_breakdown_cpu": "user_annotation",
    "gpu_user_annotation_breakdown": "gpu_user_annotation",
}
KERNEL_CALLS = ("cudaLaunchKernel", "cudaLaunchKernelExC")
MEMORY_CALLS = ("cudaMemcpyAsync", "cudaMemsetAsync")
"""Calls that HTA knows (W13)."""
ROUNDED_US = 2e-3
DEEPER = {
    ("a3", "fbgemm::permute_2D_sparse_data"),
    ("c1", "aten::nonzero"),
    ("h1_h100", "transformers/models/qwen2/modeling_qwen2.py(218): forward"),
    ("i1", "aten::nonzero"),
}
"""HTA keeps the operators of the smallest depth in the call tree and says nothing of the others."""
WITH_SYNC_ROWS = {("b1", "aten::_convolution"), ("b1", "aten::conv2d"), ("b2", "ProfilerStep#100")}
"""HTA counts rows that say what a stream waited for as kernels."""
ONE_STEP = ("i3", "autograd::engine::evaluate_function: BinaryCrossEntropyWithLogitsBackward0")
"""HTA hangs an autograd thread under the steps of the main thread, and keeps those of one step."""
OTHER_OPERATOR = {("i3", name) for name in ("aten::fill_", "aten::sub", "aten::zero_")}
"""Where an operator starts in the µs of the one that it runs in, HTA gives its launch to the outer one."""
AT_ITS_END = {("a3", "aten::mul")}
"""A call of length 0 in the µs in which an operator ends: HTA gives it to that one, we to that around it."""
OTHER_FIRST = {("d2", "aten::_foreach_add")}
"""HTA takes the launch that stands first in the file for the first one; here rows are not in time order."""


def most_exact(trace: str, feature: str, variants: tuple[str, ...] = EXACT) -> pd.DataFrame | None:
    found = (expected(trace, feature, variant) for variant in variants)
    return next((rows for rows in found if rows is not None), None)


def before_last_step(runs: HtaRuns, trace: str) -> dict[int, int]:
    """When HTA stops reading, by rank: at the start of the last row of a step; nothing with one step."""
    if runs.rows("steps", trace)["number"].nunique() < 2:
        return {}
    rows = runs.rows("events_named", trace, name="ProfilerStep#", limit=1_000_000)
    return {int(str(rank)): int(start) for rank, start in rows.groupby("rank")["start_ns"].max().items()}


def sha1(texts: "pd.Series[str]") -> "pd.Series[str]":
    return texts.map(lambda text: hashlib.sha1(text.encode()).hexdigest())


@pytest.mark.parametrize("feature", ANNOTATIONS)
@pytest.mark.parametrize("trace", FILES)
def test_annotations(trace: str, feature: str, hta_runs: HtaRuns) -> None:
    rows = hta_runs.rows("user_annotations", trace, limit=1_000_000)
    ours = rows[rows["category"] == ANNOTATIONS[feature]]
    theirs = most_exact(trace, feature)
    if theirs is None:
        assert ours.empty
        return
    assert len(ours) == len(theirs)
    both = theirs.merge(ours, on=["rank", "name"], validate="one_to_one")
    assert len(both) == len(theirs)
    names = {"sum (us)": "sum_ns", "mean (us)": "mean_ns", "stddev": "std_ns", "min (us)": "min_ns"}
    for theirs_us, ours_ns in (names | {"max (us)": "max_ns"}).items():
        assert np.allclose(both[theirs_us], both[ours_ns] / 1000, rtol=1e-9, atol=ROUNDED_US)


def launches_as_recorded(runs: HtaRuns, trace: str) -> pd.DataFrame:
    """The launches in µs with the corrections of the clocks taken back, as far as whole ns allow."""
    rows = runs.rows("launch_stats", trace, limit=1_000_000)
    files = runs.rows("traces", trace).set_index("rank").loc[rows["rank"]].reset_index(drop=True)
    since = int(runs.rows("run_window", trace)["start_ns"].iloc[0])

    def taken_back(times: "pd.Series[int]", of: str, since_ns: "pd.Series[int] | int") -> "pd.Series[int]":
        moved = (times - files[f"{of}_offset_ns"] - since_ns) / (1 + files[f"{of}_drift_ppb"] * 1e-9)
        return since_ns + moved.round().astype("int64")

    call_start, call_end, start, end = (
        taken_back(times, "rank", since)
        for times in (
            rows["start_ns"],
            rows["start_ns"] + rows["cpu_duration_ns"],
            rows["kernel_start_ns"],
            rows["kernel_start_ns"] + rows["gpu_duration_ns"],
        )
    )
    own_since = taken_back(pd.Series(since, index=rows.index), "rank", since)
    start, end = (taken_back(times, "clock", own_since) for times in (start, end))
    # The file that drifts counts in whole µs.
    drifts = files["clock_drift_ppb"] != 0
    start, end = (
        times.where(~drifts, (times / 1000).round().astype("int64") * 1000) for times in (start, end)
    )
    return rows.assign(
        cpu_duration=(call_end - call_start) / 1000,
        gpu_duration=(end - start) / 1000,
        launch_delay=(start - call_end).clip(lower=0) / 1000,
    )


@pytest.mark.parametrize("trace", FILES)
def test_launches(trace: str, hta_runs: HtaRuns) -> None:
    theirs = most_exact(trace, "cuda_kernel_launch_stats")
    assert theirs is not None
    ours = launches_as_recorded(hta_runs, trace)
    for row in theirs.to_dict("records"):
        names = KERNEL_CALLS + (MEMORY_CALLS if row["include_memory_events"] else ())
        mine = ours[ours["rank"].eq(row["rank"]) & ours["name"].isin(names)]
        check_launches(mine, row)


def check_launches(ours: pd.DataFrame, theirs: dict[str, float]) -> None:
    cpu, gpu, delay = (ours[name] for name in ("cpu_duration", "gpu_duration", "launch_delay"))
    counts = {
        "count": len(ours),
        "short_kernels": int(((cpu <= 50) & (gpu < cpu)).sum()),
        "runtime_outliers": int((cpu > 50).sum()),
        "launch_delay_outliers": int((delay > 100).sum()),
    }
    assert counts == {name: theirs[name] for name in counts}
    for name, values in (("cpu_duration", cpu), ("gpu_duration", gpu), ("launch_delay", delay)):
        said = {"min": values.min(), "max": values.max(), "mean": values.mean(), "std": values.std()}
        for what, value in {**said, "p50": values.median(), "sum": values.sum()}.items():
            rounded = ROUNDED_US * (len(values) if what == "sum" else 1)
            assert np.isclose(theirs[f"{name}_{what}"], value, rtol=1e-9, atol=rounded, equal_nan=True), what


@pytest.mark.parametrize("trace", ["c1", "c2", "d1", "i3"])
def test_launches_without_the_last_step(trace: str, hta_runs: HtaRuns) -> None:
    theirs = expected(trace, "cuda_kernel_launch_stats")
    assert theirs is not None
    ends, ours = before_last_step(hta_runs, trace), launches_as_recorded(hta_runs, trace)
    for row in theirs.to_dict("records"):
        names = KERNEL_CALLS + (MEMORY_CALLS if row["include_memory_events"] else ())
        mine = ours[ours["rank"].eq(row["rank"]) & ours["name"].isin(names)]
        check_launches(mine[mine["start_ns"] < ends[int(row["rank"])]] if ends else mine, row)


SEQUENCES = [
    (trace, operator)
    for trace in FILES
    if (rows := most_exact(trace, "frequent_cuda_kernel_sequences", STEP_CUT)) is not None
    for operator in sorted(set(rows["operator_name"]))
]


def sequences(trace: str, operator: str, runs: HtaRuns) -> tuple[pd.DataFrame, pd.DataFrame]:
    """HTA's patterns and ours, by the SHA-1 of the pattern, in ns; HTA tells them of one rank."""
    theirs = most_exact(trace, "frequent_cuda_kernel_sequences", STEP_CUT)
    assert theirs is not None
    theirs = theirs[theirs["operator_name"].eq(operator)].set_index("pattern_sha1")
    (rank,) = set(theirs["rank"])
    until = before_last_step(runs, trace)
    end = {"end_ns": until[rank]} if until else {}
    ours = runs.rows("kernel_patterns", trace, operator=operator, rank=rank, limit=10_000, **end)
    return theirs, ours.set_index(sha1(ours["pattern"]))


@pytest.mark.parametrize(("trace", "operator"), SEQUENCES)
def test_patterns(trace: str, operator: str, hta_runs: HtaRuns) -> None:
    theirs, ours = sequences(trace, operator, hta_runs)
    key = (trace, operator)
    if key in WITH_SYNC_ROWS:
        assert int((theirs["count"] * theirs["kernels"]).sum()) > int((ours["count"] * ours["kernels"]).sum())
        assert theirs["count"].sum() == ours["count"].sum()
        check_sync_rows(theirs, ours, hta_runs, trace, operator)
    elif key in DEEPER:
        smallest = at_smallest_depth(hta_runs, trace, operator)
        assert theirs["count"].sum() == smallest < ours["count"].sum()
        assert set(theirs.index) <= set(ours.index)
    elif key == ONE_STEP:
        assert list(theirs.index) == list(ours.index)
        steps = hta_runs.rows("steps", trace)["number"].nunique() - 1
        assert int(theirs["count"].sum()) * steps == int(ours["count"].sum())
    else:
        assert set(theirs.index) == set(ours.index)
        ours = ours.loc[theirs.index]
        assert theirs["count"].tolist() == ours["count"].tolist()
        for theirs_us, ours_ns in (
            ("GPU kernel duration (us)", "gpu_duration_ns"),
            ("CPU op duration (us)", "cpu_duration_ns"),
        ):
            assert np.allclose(theirs[theirs_us], ours[ours_ns] / 1000, rtol=1e-9, atol=ROUNDED_US)


def check_sync_rows(
    theirs: pd.DataFrame, ours: pd.DataFrame, runs: HtaRuns, trace: str, operator: str
) -> None:
    """What HTA has more are as many rows about a stream that waits or is waited for."""
    rows = runs.database.read(
        "MATCH (e:Event {run: $run}) WHERE e.name CONTAINS $operator AND e.kernels >= 3 "
        "AND NOT EXISTS { (e)-[:CHILD_OF]->+(o WHERE o.name CONTAINS $operator) } "
        "MATCH (e)<-[:CHILD_OF]-+(call) "
        "MATCH (s:Sync {run: $run, correlation: call.correlation}) WHERE s.name STARTS WITH 'Stream' "
        "RETURN count(*) AS count",
        {"run": trace, "operator": operator},
    )
    more = (theirs["count"] * theirs["kernels"]).sum() - (ours["count"] * ours["kernels"]).sum()
    assert int(rows["count"].iloc[0]) == int(more)


def at_smallest_depth(runs: HtaRuns, trace: str, operator: str) -> int:
    """How many operators of that name HTA reads at the smallest depth of those with 3 kernels."""
    until = before_last_step(runs, trace)
    rows = runs.database.read(
        "MATCH (e:Event {run: $run, rank: 0}) WHERE e.name CONTAINS $operator AND e.kernels >= 3 "
        "AND ($until IS NULL OR e.start_ns < $until) "
        "RETURN size([(e)-[:CHILD_OF*]->(o) | 1]) AS depth, count(*) AS count ORDER BY depth",
        {"run": trace, "operator": operator, "until": until.get(0)},
    )
    assert len(rows) > 1
    return int(rows["count"].iloc[0])


LAUNCHING = [trace for trace in FILES if most_exact(trace, "aten_op_kernels_and_delay", STEP_CUT) is not None]


@pytest.mark.parametrize("trace", LAUNCHING)
def test_operators_and_the_kernels_they_launch(trace: str, hta_runs: HtaRuns) -> None:
    theirs = most_exact(trace, "aten_op_kernels_and_delay", STEP_CUT)
    assert theirs is not None
    until = before_last_step(hta_runs, trace)
    files = hta_runs.rows("traces", trace).set_index("rank")
    unequal = set()
    for rank, rows in theirs.groupby("rank"):
        number = int(str(rank))
        end = {"end_ns": until[number]} if until else {}
        ours = hta_runs.rows("operator_launches", trace, rank=number, limit=10_000, **end)
        ours = ours.assign(sequence_sha1=sha1(ours["sequence"]))
        both = rows.merge(
            ours,
            left_on=["aten_op_name", "sequence_sha1"],
            right_on=["operator", "sequence_sha1"],
            how="left",
        )
        delay_ns = both["runtime_delay_ns"] - files["clock_offset_ns"][number]
        # Times of a clock that drifts are moved by more later: at most by this.
        moved_us = abs(files["clock_drift_ppb"][number]) * 1e-9 * 1e6
        equal = (
            both["occurrence_count"].eq(both["count"])
            & np.isclose(both["avg_aten_op_launch_delay"], both["operator_delay_ns"] / 1000, atol=ROUNDED_US)
            & np.isclose(both["avg_runtime_delay"], delay_ns / 1000, rtol=1e-9, atol=ROUNDED_US + moved_us)
        )
        unequal |= {(trace, name) for name in both.loc[~equal, "aten_op_name"]}
    assert unequal == {key for key in OTHER_OPERATOR | AT_ITS_END | OTHER_FIRST if key[0] == trace}


def test_an_operator_may_start_with_the_one_that_it_runs_in(hta_runs: HtaRuns) -> None:
    """What HTA gives to the outer one: the launches of the inner ones that start in its µs."""
    rows = hta_runs.database.read(
        "MATCH (k:Kernel {run: 'i3'})<-[:LAUNCHED]-()-[:CHILD_OF]->(o:CpuOp)-[:CHILD_OF]->(outer:CpuOp) "
        "WHERE o.start_ns = outer.start_ns AND o.name IN ['aten::fill_', 'aten::sub'] AND o.step < 554 "
        "RETURN o.name AS name, outer.name AS outer, count(*) AS count ORDER BY name"
    )
    assert rows.to_numpy().tolist() == [["aten::fill_", "aten::zero_", 6], ["aten::sub", "aten::rsub", 1]]


def test_a_call_may_start_when_an_operator_ends(hta_runs: HtaRuns) -> None:
    rows = hta_runs.database.read(
        "MATCH (:Kernel {run: 'a3', rank: 1})<-[:LAUNCHED]-(call)-[:CHILD_OF]->(outer:CpuOp) "
        "MATCH (outer)<-[:CHILD_OF]-(o:CpuOp {name: 'aten::mul'}) WHERE o.end_ns = call.start_ns "
        "RETURN outer.name AS name, call.duration_ns AS duration_ns"
    )
    assert rows.to_numpy().tolist() == [["torch::distributed::reducer::mul_out", 0]]


def test_first_in_the_file_is_not_first_in_time(hta_runs: HtaRuns) -> None:
    rows = hta_runs.database.read(
        "MATCH (:Kernel {run: 'd2'})<-[:LAUNCHED]-(call)-[:CHILD_OF]->(o:CpuOp {name: 'aten::_foreach_add'}) "
        "WITH o, call ORDER BY call.start_ns WITH o, collect(call) AS calls "
        "RETURN calls[0].start_ns - o.start_ns AS first_ns, "
        "reduce(one = calls[0], c IN calls | CASE WHEN c.source_index < one.source_index THEN c ELSE one END)"
        ".start_ns - o.start_ns AS in_file_ns"
    )
    theirs = expected("d2", "aten_op_kernels_and_delay")
    assert theirs is not None
    told = theirs.loc[theirs["aten_op_name"].eq("aten::_foreach_add"), "avg_aten_op_launch_delay"]
    assert any(np.isclose(told, rows["in_file_ns"].mean() / 1000, atol=ROUNDED_US))
    assert (rows["first_ns"] > rows["in_file_ns"]).sum() == 0
    assert (rows["first_ns"] < rows["in_file_ns"]).sum() == 1


@pytest.mark.parametrize("trace", FILES)
def test_every_query_answers_on_every_trace(trace: str, hta_runs: HtaRuns) -> None:
    """What HTA has no number for, or crashes on: ours says something of all GPU work."""
    work = hta_runs.database.read(
        "MATCH (k:Event {run: $run}) WHERE k:Kernel OR k:Memcpy OR k:Memset "
        "OPTIONAL MATCH (k)<-[l:LAUNCHED]-() RETURN count(k) AS work, count(l) AS launched",
        {"run": trace},
    ).iloc[0]
    summary = hta_runs.rows("launch_summary", trace)
    assert summary["count"].sum() == work["launched"]
    spread = hta_runs.rows("launch_distribution", trace)
    assert spread["count"].sum() == 3 * work["launched"]
    operators = hta_runs.rows("operators", trace)
    assert operators["self_gpu_ns"].isna().all() == (work["work"] == 0)
    for query in ("kernel_patterns", "operator_launches"):
        assert hta_runs.rows(query, trace).empty or work["launched"] > 0


def test_expected_numbers_are_there() -> None:
    if not hta.EXPECTED.is_dir():
        pytest.skip(f"HTA's numbers are not here: {hta.EXPECTED} does not exist")
    assert len(SEQUENCES) > 20
