"""Small inputs of public bug reports in which a thread waits for the GPU under a name that says nothing."""

import json
from pathlib import Path
from typing import Any

import pytest

from tracegraph.store.connection_settings import ConnectionSettings
from tracegraph.store.workspace import Workspace
from tracegraph.workbench.bench import Workbench
from tracegraph.workbench.run import Run

CASES = Path(__file__).parents[3] / "shared" / "cases"
ON_THE_GPU = {"gpu", "communication"}
"""Products and all-reduces take about as long on the XPU: without either the run is about as much shorter."""
XPU, NPU, OPAQUE = "c04_xpu", "c05_ascend_npu", "c09_kernels_without_cpu"
pytestmark = [
    pytest.mark.usefixtures("database"),
    pytest.mark.exhaustive,
    pytest.mark.skipif(not CASES.is_dir(), reason="the shared cases are not here"),
]


@pytest.fixture
def bench(workspace: Workspace) -> Workbench:
    return Workbench(workspace, ConnectionSettings())


def verdict(run: Run) -> dict[str, Any]:
    said = run.report().summary()["verdict"]
    assert isinstance(said, dict)
    return said


def written(folder: Path, case: str, change: dict[str, dict[str, object]]) -> Path:
    """The file of a case, with entries replaced by name."""
    (path,) = [path for path in (CASES / case).glob("*.json") if "Synchronize" not in path.name]
    document = json.loads(path.read_text())
    events = document if isinstance(document, list) else document["traceEvents"]
    changed = [{**entry, **change.get(str(entry.get("name")), {})} for entry in events]
    target = folder / "trace.json"
    target.write_text(json.dumps({"traceEvents": changed}))
    return target


def test_a_queue_finish_has_the_verdict_of_a_synchronise(bench: Workbench) -> None:
    named = verdict(bench.ingest(CASES / XPU / "trace_zeEventHostSynchronize.json"))
    said = verdict(bench.ingest(CASES / XPU / "trace.json"))
    assert set(said["bottlenecks"]) == set(named["bottlenecks"]) == ON_THE_GPU
    assert said["share"] == pytest.approx(named["share"], abs=0.01)


@pytest.mark.parametrize(
    ("name", "category"),
    [("vendorDrain", "privateuse1_runtime"), ("fence_reached", "cuda_driver"), ("wait_all", "cpu_op")],
)
def test_so_has_anything_else_in_its_place(
    bench: Workbench, tmp_path: Path, name: str, category: str
) -> None:
    change: dict[str, dict[str, object]] = {"urQueueFinish": {"name": name, "cat": category}}
    run = bench.ingest(written(tmp_path, XPU, change))
    assert set(verdict(run)["bottlenecks"]) == ON_THE_GPU
    assert run.what_if(f"name={name}").prediction.corrected.gain_ns < 100_000


def test_an_operator_that_stands_in_for_a_synchronise_gains_what_it_does_itself(
    bench: Workbench, tmp_path: Path
) -> None:
    """With the rows of the device as those of a GPU, and without the runtime's own process."""
    kernel = {"cat": "kernel", "args": {"device": 0, "stream": 2}}
    calls: dict[str, object] = {"ph": "i"}
    change: dict[str, dict[str, object]] = {
        "MatMulV2": kernel,
        "AscendCL@aclnnMatmul": calls,
        "AscendCL@aclrtSynchronizeStream": calls,
        "Computing": calls,
        "Free": calls,
        "async_npu": {"name": "ac2g", "cat": "ac2g"},
    }
    run = bench.ingest(written(tmp_path, NPU, change))
    assert verdict(run)["bottleneck"] != "cpu"
    assert run.what_if("name=aten::item").prediction.corrected.gain_ns <= 800_000


@pytest.mark.parametrize(
    "opaque",
    [
        {},
        {"name": "get_output", "cat": "python_function"},
        {"name": "poll", "cat": "cuda_runtime"},
        {"name": "step", "cat": "user_annotation"},
    ],
    ids=["operator", "frame", "call", "annotation"],
)
def test_where_the_launching_thread_is_missing_nobody_says_that_the_cpu_determines(
    bench: Workbench, tmp_path: Path, opaque: dict[str, object]
) -> None:
    run = bench.ingest(written(tmp_path, OPAQUE, {"wait_for_output": opaque}))
    assert verdict(run)["bottleneck"] not in ("cpu", "python")
    assert run.path_gaps()["name"].tolist() == ["unknown"]
