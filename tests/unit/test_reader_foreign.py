"""Traces of other tools and of several processes: what is taken for what is stated."""

import json
from collections.abc import Callable

import pytest

from tracegraph.ingest.integrity_findings import Finding
from tracegraph.ingest.trace import TraceFile

Read = Callable[[str | bytes], tuple[TraceFile, dict[str, Finding]]]


def _event(name: str, ts: float, dur: float = 10, **fields: object) -> dict[str, object]:
    event = {"ph": "X", "cat": "cpu_op", "name": name, "pid": 1, "tid": 1, "ts": ts, "dur": dur, **fields}
    return {key: value for key, value in event.items() if value is not None}


def _named(what: str, name: str, pid: int, tid: int = 0) -> dict[str, object]:
    return {"ph": "M", "name": what, "pid": pid, "tid": tid, "args": {"name": name}}


def _kernel(ts: float, pid: int, **arguments: object) -> dict[str, object]:
    return _event("k", ts, cat="kernel", pid=pid, tid=7, args={"device": 0, "stream": 7, **arguments})


CPU = _event("a", 0.5, 30)
JAX = [
    _named("process_name", "/host:CPU", 1),
    _named("process_name", "/device:GPU:0", 2),
    _event("TfOp", 0.5, cat=None),
    _event("fusion", 20.5, 30, cat=None, pid=2, tid=13),
]


def _device(process: str, category: str | None, thread: str = "7") -> list[dict[str, object]]:
    """A process with an operator, and a row of another one that has this name."""
    named = [_named("process_name", process, 2), _named("thread_name", thread, 2, 7)]
    return [*named, CPU, _event("op", 1.5, cat=category, pid=2, tid=7)]


@pytest.mark.parametrize(
    ("process", "category", "thread"),
    [
        ("rocprof GPU 1", None, "7"),
        ("GPU Barriers0", None, "7"),
        ("COPY", "COPY", "7"),
        ("HIPBLITKERNELS", "HIPBLITKERNELS", "7"),
        ("Node: host", None, "COPY to AGENT [1] THREAD [0] (CPU)"),
        ("Node: host", None, "COMPUTE AGENT [1] QUEUE [0] (GPU)"),
        ("Node: host", None, "Dev 0 Queue 1"),
    ],
)
def test_rows_of_a_device_are_no_process(
    read_document: Read, process: str, category: str | None, thread: str
) -> None:
    _, findings = read_document(json.dumps({"traceEvents": _device(process, category, thread)}))
    assert not {"several_processes", "process_stray"} & set(findings)
    assert (findings["gpu_category_unknown"].count, findings["gpu_category_unknown"].share) == (1, 0.25)


@pytest.mark.parametrize(
    ("process", "category", "thread"),
    [
        *(("MTIA 0", category, "7") for category in ("mtia_ccp_events", "mtia_workloadd", "mtia_insight")),
        ("HPU 0", "hpu_op", "7"),
        ("GPU0", None, "7"),
        ("Node: host", None, "HipStream 1"),
    ],
)
def test_a_lane_that_is_surely_a_devices_holds_its_work(
    read_document: Read, process: str, category: str | None, thread: str
) -> None:
    trace, findings = read_document(json.dumps({"traceEvents": _device(process, category, thread)}))
    assert not {"several_processes", "process_stray", "gpu_category_unknown"} & set(findings)
    assert trace.events["category"].to_pylist() == ["cpu_op", "kernel"]
    assert findings["device_rows_read"].count == 1


def test_a_category_of_a_device_is_no_process(read_document: Read) -> None:
    _, findings = read_document(json.dumps({"traceEvents": _device("python", "mtia_ccp_events")}))
    assert not {"several_processes", "process_stray", "gpu_category_unknown"} & set(findings)


@pytest.mark.parametrize("process", ["GPU worker", "CPU HIP API", "copy_files", "Markers and Ranges"])
def test_operators_are_a_process_whatever_its_name(read_document: Read, process: str) -> None:
    _, findings = read_document(json.dumps({"traceEvents": _device(process, "cpu_op")}))
    assert findings["several_processes"].count == 2
    assert "gpu_category_unknown" not in findings


@pytest.mark.parametrize("process", ["CPU HIP API", "Markers and Ranges", "copy_files"])
def test_what_is_not_named_like_a_device_is_none(read_document: Read, process: str) -> None:
    _, findings = read_document(json.dumps({"traceEvents": _device(process, None)}))
    assert "gpu_category_unknown" not in findings


@pytest.mark.parametrize(
    ("events", "code", "count", "share"),
    [
        (JAX, "device_rows_read", 1, None),
        (JAX, "category_missing", 1, None),
        ([CPU, _named("thread_name", "stream 7", 1, 1)], None, 0, None),
        ([_named("thread_name", "Stream #7", 1, 2), CPU, _event("k", 1.5, cat="npu", tid=2)],
         "gpu_category_unknown", 1, 0.25),
        ([CPU, _event("op", 1.5, cat="npu")], "category_unknown", 1, None),
        ([CPU, _event("op", 1.5, cat="xpu_runtime")], None, 0, None),
        ([CPU, {"ph": "b", "id": 1, "ts": 1}, {"ph": "e", "id": 1, "ts": 2}], "async_unread", 2, None),
        ([CPU, {"ph": "Ω", "ts": 1}, {"ts": 1}], "phase_unknown", 2, None),
        ([CPU, {"ph": "i", "ts": 1}, {"ph": "C", "ts": 2}], None, 0, None),
        ([CPU, _event("b", 0.5, pid=2)], "several_processes", 2, None),
        ([CPU] * 200 + [_event("b", 0.5, pid=2)], "process_stray", 1, None),
        ([CPU, _kernel(1.5, 0), _kernel(20.5, 9)], "stream_shared", 1, None),
        ([CPU, _kernel(1.5, 0, correlation="12"), _kernel(20.5, 0)], None, 0, None),
        ([CPU, CPU], "event_repeated", 1, None),
        ([CPU, _event("a", 0.5, 0), _event("a", 0.5, 0)], None, 0, None),
        ([CPU, _event("f", 1, cat="python_function", args={"Python id": 1, "Python parent id": 5})],
         "frame_without_caller", 1, None),
        ([CPU, _event("b", 40.5, 10, tid=None)], "thread_missing", 1, 0.25),
        ([CPU, _event("b", 1e300)], "start_missing", 1, 0.25),
        ([CPU, _event("b", 1.5, ph="B", dur=None)], "begin_without_end", 1, None),
        ([CPU, _event("b", 1.5, ph="E", dur=None)], "end_without_begin", 1, None),
    ],
)  # fmt: skip
def test_what_is_stated(
    read_document: Read, events: list[object], code: str | None, count: int, share: float | None
) -> None:
    expected = {"thread_unnamed", "rank_missing", "device_unknown", "category_missing"}
    expected |= {"times_whole_us", "category_unknown"}
    _, findings = read_document(json.dumps({"traceEvents": events}))
    if code is None:
        assert set(findings) <= expected
    else:
        assert (findings[code].count, findings[code].share) == (count, share)


def test_digits_in_quotes_are_a_correlation(read_document: Read) -> None:
    trace, _ = read_document(json.dumps([CPU, _kernel(1.5, 0, correlation="12")]))
    assert trace.events["correlation"].to_pylist() == [None, 12]
