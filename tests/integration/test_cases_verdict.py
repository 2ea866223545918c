"""Verdicts on small inputs of public bug reports: what communicates, what starts early, who determines."""

from pathlib import Path
from typing import Any

import pytest

from tracegraph.store.connection_settings import ConnectionSettings
from tracegraph.store.workspace import Workspace
from tracegraph.workbench.bench import Workbench
from tracegraph.workbench.run import Run

CASES = Path(__file__).parents[3] / "shared" / "cases"
EARLY, SKEW, OPAQUE = "c02_pdl_overlap", "c07_custom_allreduce_skew", "c09_kernels_without_cpu"
pytestmark = [
    pytest.mark.usefixtures("database"),
    pytest.mark.exhaustive,
    pytest.mark.skipif(not CASES.is_dir(), reason="the shared cases are not here"),
]


@pytest.fixture
def bench(workspace: Workspace) -> Workbench:
    return Workbench(workspace, ConnectionSettings())


def stored(bench: Workbench, case: str, files: str, kernel_types: Path | None = None) -> Run:
    return bench.ingest(CASES / case / files, kernel_types=kernel_types)


def verdict(run: Run) -> dict[str, Any]:
    said = run.report().summary()["verdict"]
    assert isinstance(said, dict)
    return said


def advised(run: Run) -> dict[str, Any]:
    rows = run.report().summary()["recommendations"]
    assert isinstance(rows, list)
    return {row["rule"]: row for row in rows}


def path_us(run: Run, name: str) -> float:
    hotspots = run.hotspots()
    return float(hotspots.loc[hotspots["name"].eq(name), "duration_ns"].sum()) / 1000


def test_kernels_that_start_early_share_the_path(bench: Workbench) -> None:
    run = stored(bench, EARLY, "trace.json")
    assert path_us(run, "gemm_A") == pytest.approx(path_us(run, "act_B"), rel=0.05)
    gaps = run.path_gaps()
    assert "stream queue" not in set(gaps["name"])
    gain = run.what_if("name=gemm_A").prediction.corrected.gain_ns
    assert 220_000 <= gain <= 240_000
    # The last kernel of a step is an act_B: without it the step ends with the gemm_A before.
    assert gain <= run.what_if("name=act_B").prediction.corrected.gain_ns <= 330_000


def test_kernels_one_after_the_other_keep_their_verdict(bench: Workbench) -> None:
    said = verdict(stored(bench, EARLY, "no_overlap.json"))
    assert said["bottleneck"] == "gpu"
    assert said["bottlenecks"] == ["gpu"]
    assert said["share"] == pytest.approx(0.241, abs=0.01)  # 298 of 1,239 µs go where kernels take no time


@pytest.mark.parametrize("own", [None, "communication ^ncclDev\ncommunication cross_device\n"])
def test_an_all_reduce_has_the_same_verdict_under_both_names(
    bench: Workbench, tmp_path: Path, own: str | None
) -> None:
    types = tmp_path / "types.txt" if own else None
    if types and own:
        types.write_text(own)
    said = [verdict(stored(bench, SKEW, file, types)) for file in ("ar_nccl.json", "ar_vllm.json")]
    assert [one["bottleneck"] for one in said] == ["communication"] * 2
    assert said[0]["share"] == said[1]["share"] == pytest.approx(0.794, abs=0.001)
    assert said[0]["sentences"] == said[1]["sentences"]


def test_what_the_user_calls_computation_is_no_communication(bench: Workbench, tmp_path: Path) -> None:
    types = tmp_path / "types.txt"
    types.write_text("computation ^ncclDev\n")
    assert verdict(stored(bench, SKEW, "ar_nccl.json", types))["bottleneck"] == "gpu"


def test_one_outlier_is_named_as_one(bench: Workbench) -> None:
    run = stored(bench, SKEW, "rank*.json")
    said = verdict(run)
    assert said["bottleneck"] == "communication"
    for part in ("One of 128", "17.5 s", "14.3 µs in the median", "99.6 % of the path", "cannot tell"):
        assert part in said["sentences"][0]


def test_long_work_of_a_thread_beside_a_busy_gpu_determines_nothing(bench: Workbench) -> None:
    run = stored(bench, OPAQUE, "trace.json")
    said, rules = verdict(run), advised(run)
    assert said["bottleneck"] in ("unknown", "gpu")
    assert said["gains"] == []
    assert "cpu-bound" not in rules
    assert "cpu-or-gpu" in rules
