"""Files of other tools, engines and layouts, as public reports have them: how each is read."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tracegraph.cli.main import main
from tracegraph.store.workspace import Workspace

CASES = Path(__file__).parents[2].parent / "shared" / "cases"
Report = Callable[[str], dict[str, Any]]
pytestmark = [
    pytest.mark.usefixtures("database"),
    pytest.mark.exhaustive,
    pytest.mark.skipif(not CASES.is_dir(), reason="the folder shared/cases is absent"),
]


@pytest.fixture
def report(workspace: Workspace, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Report:
    """The summary of a report on a case, whose folder may hold several ranks."""

    def run(case: str) -> dict[str, Any]:
        code = main(
            ["--workspace", str(workspace.root), "report", str(CASES / case), "-o", str(tmp_path / "page")]
        )
        assert code == 0, capsys.readouterr().err
        summary: dict[str, Any] = json.loads((tmp_path / "page" / "summary.json").read_text())
        return summary

    return run


def codes(summary: dict[str, Any], *levels: str) -> set[str]:
    return {row["code"] for row in summary["integrity"] if row["level"] in levels}


def test_ranks_merged_into_one_file_are_ranks(report: Report) -> None:
    summary = report("c03_merged_ranks/merged_sglang.json")
    assert summary["ranks"] == 4
    assert codes(summary, "error", "warning") == set()
    late = {row["rank"]: row for row in summary["sections"]["rank_waits"][0]}
    assert max(late, key=lambda rank: late[rank]["caused_ns"]) == 2


def test_an_npus_stream_works(report: Report) -> None:
    """5.0 of 5.99 ms."""
    summary = report("c05_ascend_npu/trace_view.json")
    assert summary["gpu_busy_share"] == pytest.approx(5.0 / 5.99, abs=0.001)
    assert codes(summary, "error", "warning") == set()
    assert summary["verdict"]["bottleneck"] != "cpu"


def test_a_servers_iterations_are_steps(report: Report) -> None:
    summary = report("c06_sglang_steps/1785501977.97-TP-0.trace.json")
    assert codes(summary, "error", "warning") == set()
    steps = summary["steps"]
    assert [(one["type"], one["count"], one["batch"], one["tokens"]) for one in steps["types"]] == [
        ("prefill", 2, [4, 4], [4096, 4096]),
        ("decode", 10, [53, 63], None),
    ]
    assert all(not row["name"].startswith("step[") for row in summary["verdict"]["gains"])


def test_rows_with_external_ids_only_are_joined(report: Report) -> None:
    summary = report("c08_rocm_external_id_only/trace.json")
    assert codes(summary, "error") == set()
    assert "joined_by_external_id" in codes(summary, "info")
    assert summary["verdict"]["bottleneck"] == "gpu"


def test_an_export_of_the_old_profiler_has_a_gpu(report: Report) -> None:
    """1,740 of 1,900 µs; one operator lasts until all work has ended, which it may have waited for."""
    summary = report("c20_legacy_autograd/trace.json")
    assert summary["gpu_busy_share"] == pytest.approx(1740 / 1900, abs=0.001)
    assert codes(summary, "error", "warning") == {"path_mostly_unrecorded"}
    assert summary["verdict"]["bottleneck"] == "unknown"
    assert summary["verdict"]["gains"] == []


@pytest.mark.parametrize("folder", ["accelerate", "sgl"])
def test_names_tell_the_ranks(report: Report, folder: str) -> None:
    assert report(f"c22_file_names/{folder}")["ranks"] == 2
