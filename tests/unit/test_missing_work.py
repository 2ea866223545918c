"""Launches that lost their work: named where what came after them shows it, and what their time is called."""

from collections.abc import Collection, Sequence

import pytest
import tiny
from tiny import Row, call, event, kernel, step

from tracegraph.ingest.causal.events.event_arrays import read_events
from tracegraph.ingest.causal.graph.model import RankModel, build_model
from tracegraph.ingest.causal.graph.path_rows import path_rows
from tracegraph.ingest.causal.graph.segments import WORK
from tracegraph.ingest.integrity.diagnosis import diagnose
from tracegraph.ingest.integrity_findings import Finding, Integrity
from tracegraph.vocabulary.gaps import GAP_CODE

LOST = "work whose rows are missing"


def modelled(rows: Sequence[Row]) -> tuple[RankModel, dict[str, Finding]]:
    integrity = Integrity("tiny.json")
    model = build_model(*read_events(tiny.trace(*rows)), integrity)
    diagnose(model, integrity)
    return model, {finding.code: finding for finding in integrity}


def lost_us(model: RankModel) -> float:
    rows = path_rows(model)
    mine = rows[(rows["category"] == "gap") & (rows["name"] == LOST)]
    return float((mine["end_ns"] - mine["start_ns"]).sum()) / 1000


def queue(
    count: int,
    gone: Collection[int],
    *,
    launch: str = "cudaLaunchKernel",
    wait: str = "cudaStreamSynchronize",
) -> list[Row]:
    """Launches at the beginning, works of 500 µs in a row, of which some have no row, and a wait for all."""
    rows = [call(launch, 10 * i, 10 * i + 5, i + 1) for i in range(count)]
    works = [(100 + 500 * i, i + 1) for i in range(count) if i not in gone]
    rows += [kernel("gemm", begin, begin + 500, number) for begin, number in works]
    return [*rows, call(wait, 10 * count, 104 + 500 * count, 900)]


@pytest.mark.parametrize(
    "launch", ["cudaLaunchKernel", "hipExtModuleLaunchKernel", "zeCommandListAppendLaunchKernel"]
)
@pytest.mark.parametrize(
    ("gone", "expected_us"),
    [
        (range(12), 5_975),
        (range(1), 475),
        (range(5, 15), 5_000),
        (range(13, 20), 3_504),
        ([3, 9], 1_000),
    ],
)
def test_time_of_lost_work_has_its_name(gone: Collection[int], expected_us: float, launch: str) -> None:
    model, codes = modelled(queue(20, gone, launch=launch))
    assert codes["gpu_rows_missing"].count == len(gone)
    assert codes["gpu_rows_missing"].level == "error"
    assert lost_us(model) == pytest.approx(expected_us, abs=130)
    assert "launch_without_gpu_work" not in codes
    assert "ends_in_work" not in codes
    share = lost_us(model) * 1000 / (model.window.end - model.window.start)
    assert codes["gpu_rows_missing"].share == pytest.approx(share)
    codes_of_path = [code for code in ("path_mostly_unrecorded", "path_unrecorded") if code in codes]
    said = codes[codes_of_path[0]] if codes_of_path else None
    assert share - 1e-9 <= (said.share or 0) <= share + 0.02 if said else share < 0.05


def test_all_work_of_an_earlier_wait_may_be_lost() -> None:
    early = [call("cudaLaunchKernel", 10 * i, 10 * i + 5, 500 + i) for i in range(4)]
    waited = call("cudaDeviceSynchronize", 45, 2_000, 600)
    later = [
        {
            **row,
            "start_ns": int(str(row["start_ns"])) + 2_010_000,
            "end_ns": int(str(row["end_ns"])) + 2_010_000,
        }
        for row in queue(5, ())
    ]
    model, codes = modelled([*early, waited, *later])
    assert codes["gpu_rows_missing"].count == 4
    assert lost_us(model) == pytest.approx(1_955)


def test_one_stream_of_several_lacks_rows() -> None:
    """What the other stream runs is no time of the lost work, and the wait for both still names it."""
    rows: list[Row] = []
    for i in range(6):
        rows += [call("cudaLaunchKernel", 20 * i, 20 * i + 5, 2 * i + 1)]
        rows += [call("cudaLaunchKernel", 20 * i + 10, 20 * i + 15, 2 * i + 2)]
        rows += [kernel("a", 150 + 100 * i, 250 + 100 * i, 2 * i + 1)]
        if i >= 3:
            rows += [kernel("b", 1_000 + 500 * i, 1_500 + 500 * i, 2 * i + 2, stream=8)]
    model, codes = modelled([*rows, call("cudaDeviceSynchronize", 130, 4_005, 900)])
    assert codes["gpu_rows_missing"].count == 3
    assert lost_us(model) == pytest.approx(2_430, abs=60)


@pytest.mark.parametrize(
    "more",
    [
        [],
        [call("cudaLaunchHostFunc", 3, 4, 70)],
        [
            call("cudaStreamBeginCapture", -100, -95, 71),
            *(call("cudaLaunchKernel", -90 + 5 * i, -87 + 5 * i, 72 + i) for i in range(9)),
            call("cudaStreamEndCapture", -10, -5, 99),
        ],
        [*(call("hipLaunchKernel", -90 + 5 * i, -87 + 5 * i, 72 + i) for i in range(9)),
         call("hipStreamEndCapture", -10, -5, 99)],
        [call("cuLaunchKernel", 1, 4, 70)],
    ],
)  # fmt: skip
def test_what_lacks_nothing_is_left_alone(more: list[Row]) -> None:
    model, codes = modelled([*queue(20, ()), *more])
    assert "gpu_rows_missing" not in codes
    assert lost_us(model) == 0
    assert not {"path_unrecorded", "path_mostly_unrecorded"} & codes.keys()


def test_ids_that_two_processes_count_alike_lose_no_work() -> None:
    """Whose work is whose cannot be told there, but all of it is in the file."""
    rows = queue(20, ())
    later = [
        {**row, "start_ns": row["start_ns"] + 3_000_000, "end_ns": row["end_ns"] + 3_000_000} for row in rows
    ]
    other = [row | ({"pid": "9"} if row["category"] != "kernel" else {}) for row in later]
    assert "gpu_rows_missing" not in modelled([*rows, *other])[1]
    lost = [row for row in rows if row["category"] != "kernel" or row["correlation"] <= 15]
    assert modelled([*lost, *other])[1]["gpu_rows_missing"].count


def test_launches_that_nothing_follows_may_run_after_the_recording() -> None:
    rows = [row for row in queue(20, range(15, 20)) if row["name"] != "cudaStreamSynchronize"]
    _, codes = modelled([*rows, event("op", 300, 3_000)])
    assert "gpu_rows_missing" not in codes
    assert {"ends_in_work", "launch_without_gpu_work"} & codes.keys()


def test_another_thread_s_work_may_be_lost() -> None:
    rows = [row if row["category"] == "kernel" else {**row, "tid": "2"} for row in queue(20, range(12, 20))]
    waits = rows.pop()
    waits = {**waits, "tid": "1", "name": "cudaDeviceSynchronize"}
    model, codes = modelled([*rows, waits, step(1, 0, 10_105, thread=1)])
    assert codes["gpu_rows_missing"].count == 8
    assert lost_us(model) == pytest.approx(4_004)


def test_what_follows_a_wait_for_lost_work_has_no_sure_cause() -> None:
    model, _ = modelled([step(1, 0, 10_200), *queue(20, range(12, 20))])
    found, segments = model.dependencies, model.segments
    lost = (segments.kind != WORK) & (segments.gap_name == GAP_CODE[LOST])
    after = found.binding & lost[found.cause]
    assert after.any()
    assert (found.confidence[after] <= 0.5).all()
    assert (found.confidence[~after & found.binding] > 0.5).all()
