"""The benchmark of Nsight Systems: a report has the rows of the simulation that its form can have."""

from pathlib import Path
from typing import Any

import pytest

from benchmarks.accuracy.nsight_tables import (
    Form,
    only_rows,
    positions_of,
    write_report,
)
from tracegraph.ingest.integrity_findings import Integrity
from tracegraph.ingest.readers import read_trace

PID, THREAD = 4000, 4050


def _entry(name: str, category: str, start: float, end: float, **args: Any) -> dict[str, Any]:
    on_gpu = "stream" in args
    place = {"pid": 0, "tid": args["stream"]} if on_gpu else {"pid": PID, "tid": THREAD}
    device = {"device": 0} if on_gpu else {}
    return {
        "ph": "X",
        "name": name,
        "cat": category,
        "ts": start,
        "dur": end - start,
        **place,
        "args": {**args, **device},
    }


RECORD = {"wait_on_stream": 7, "wait_on_cuda_event_record_corr_id": 3, "wait_on_cuda_event_id": 1}
ENTRIES = [
    _entry("step", "user_annotation", 0, 100),
    _entry("train.py(3): step", "python_function", 0, 99),
    _entry("aten::mm", "cpu_op", 1, 20, **{"Sequence number": 4, "External id": 1}),
    _entry("cudaLaunchKernel", "cuda_runtime", 2, 4, correlation=1),
    _entry("nccl:all_reduce", "cpu_op", 21, 30, **{"External id": 2}),
    _entry("cudaGraphLaunch", "cuda_runtime", 22, 24, correlation=2),
    _entry("cudaEventRecord", "cuda_runtime", 25, 26, correlation=3),
    _entry("cudaStreamWaitEvent", "cuda_runtime", 27, 28, correlation=4),
    _entry("k", "kernel", 5.001, 9.002, stream=7, correlation=1),
    _entry("k", "kernel", 30, 35, stream=7, correlation=2, **{"graph node id": 1}),
    _entry("k", "kernel", 31, 39, stream=20, correlation=2, **{"graph node id": 2}),
    _entry("Memcpy DtoH (Device -> Pinned)", "gpu_memcpy", 40, 42, stream=7, correlation=5, bytes=4),
    _entry("Stream Wait Event", "cuda_sync", 27, 28, stream=20, correlation=4, **RECORD),
    {"ph": "X", "cat": "Trace", "name": "span", "pid": "Spans", "tid": "x", "ts": 0, "dur": 1, "args": {}},
    {"ph": "i", "name": "removed", "pid": PID, "tid": THREAD, "ts": 1},
]
FRAME, SPAN, INSTANT = 1, 13, 14
OPERATORS, NODES = [2, 4], [9, 10]


@pytest.mark.parametrize(
    ("form", "lost"),
    [(Form(), []), (Form(operators=False), OPERATORS), (Form(nodes=False), NODES)],
    ids=["all", "no operators", "a row a graph"],
)
def test_each_row_of_the_report_is_known_by_its_place_in_the_simulation(
    tmp_path: Path, form: Form, lost: list[int]
) -> None:
    positions = write_report(ENTRIES, form, tmp_path / "report.sqlite")
    trace = read_trace(tmp_path / "report.sqlite", Integrity("report"))
    found = positions_of(trace, positions)
    expected = set(range(len(ENTRIES))) - {FRAME, SPAN, INSTANT, *lost}
    assert sorted(found) == sorted([*expected, *([] if form.nodes else [-1])])
    waits = trace.events["wait_on_record"].drop_null().to_pylist()
    assert waits == [3]
    graphs = [row for row in trace.events.to_pylist() if row["name"].startswith("graph ")]
    assert [(row["start_ns"], row["end_ns"]) for row in graphs] == ([] if form.nodes else [(30_000, 39_000)])


def test_the_truth_keeps_the_time_of_what_has_no_row() -> None:
    truth = {"segments": [[0, 2, 1.0, 3.0, "seq", 0.0], [0, 8, 3.0, 5.0, "launch", 1.0]], "total_us": 4.0}
    masked = only_rows(truth, {8})
    assert masked == {**truth, "segments": [[0, -1, *truth["segments"][0][2:]], truth["segments"][1]]}  # type: ignore[index]
