"""Lanes of devices without a category of GPU work: which rows become work, and which are not read."""

import json
from collections.abc import Callable

import pytest

from tracegraph.ingest.causal.events.event_arrays import read_events
from tracegraph.ingest.causal.graph.model import Model, build_model
from tracegraph.ingest.integrity_findings import Finding, Integrity
from tracegraph.ingest.trace import TraceFile

Read = Callable[[str | bytes], tuple[TraceFile, dict[str, Finding]]]
Entry = dict[str, object]


def row(name: str, ts: float, dur: float, pid: object, tid: object, **more: object) -> Entry:
    return {"ph": "X", "name": name, "pid": pid, "tid": tid, "ts": ts, "dur": dur, **more}


def op(name: str, ts: float, dur: float, **more: object) -> Entry:
    return row(name, ts, dur, 1, 77, cat="cpu_op", **more)


def named(what: str, pid: object, name: str, tid: object = 0) -> Entry:
    key = "labels" if what == "process_labels" else "name"
    return {"ph": "M", "name": what, "pid": pid, "tid": tid, "args": {key: name}}


def flow(kind: str, number: int, start: Entry, end: Entry) -> list[Entry]:
    return [
        {"ph": ph, "cat": kind, "id": number, "name": kind, **{key: at[key] for key in ("pid", "tid", "ts")}}
        for ph, at in (("s", start), ("f", end))
    ]


def categories(trace: TraceFile) -> dict[str, str]:
    return dict(zip(trace.events["name"].to_pylist(), trace.events["category"].to_pylist(), strict=True))


def places(trace: TraceFile) -> dict[str, tuple[int | None, int | None]]:
    columns = (trace.events[name].to_pylist() for name in ("name", "device", "stream"))
    return {name: (device, stream) for name, device, stream in zip(*columns, strict=True)}


def model(trace: TraceFile) -> Model:
    return build_model(*read_events(trace), Integrity("t"))


def launched_by(trace: TraceFile) -> dict[str, str | None]:
    found = model(trace)
    names, call = found.events.name, found.launches.call
    return {str(names[k]): str(names[call[k]]) if call[k] >= 0 else None for k in range(len(call))}


ASCEND = [
    named("process_name", 1, "Python"),
    named("process_name", 2, "CANN"),
    named("process_name", 3, "Ascend Hardware"),
    named("process_labels", 3, "NPU"),
    named("thread_name", 3, "Stream 5", 5),
]


@pytest.mark.parametrize("kind", ["HostToDevice", "async_npu"])
def test_an_npu_is_a_device_and_the_calls_of_cann_run_on_pythons_thread(
    read_document: Read, kind: str
) -> None:
    outer, call = op("aten::mm", 10, 40), row("AscendCL@launch", 20, 10, 2, 77)
    work = row("MatMulV2", 60, 100, 3, 5, args={"Task Type": "AI_CORE"})
    trace, findings = read_document(json.dumps([*ASCEND, outer, call, work, *flow(kind, 1, call, work)]))
    assert categories(trace)["MatMulV2"] == "kernel"
    assert places(trace)["MatMulV2"] == (0, 5)
    assert launched_by(trace)["MatMulV2"] == "AscendCL@launch"
    assert findings["thread_in_layers"].count == 1
    assert not {"several_processes", "process_stray", "gpu_category_unknown"} & set(findings)
    assert int(model(trace).lanes.is_thread.sum()) == 1


def test_calls_that_cross_pythons_rows_are_of_another_thread(read_document: Read) -> None:
    rows = [op("a", 10, 40), row("AscendCL@launch", 20, 100, 2, 77), row("k", 60, 100, 3, 5)]
    trace, findings = read_document(json.dumps([*ASCEND, *rows]))
    assert "thread_in_layers" not in findings
    assert int(model(trace).lanes.is_thread.sum()) == 2


def test_the_queues_thread_of_python_makes_cann_calls_too(read_document: Read) -> None:
    """Rows of the thread that empties the task queue have categories of their own."""
    queue = row("Dequeue@aclnnMatmul", 10, 40, 1, 78, cat="dequeue")
    call, work = row("AscendCL@launch", 20, 10, 2, 78), row("MatMulV2", 60, 100, 3, 5)
    document = [*ASCEND, op("aten::mm", 0, 5), queue, call, work, *flow("HostToDevice", 1, call, work)]
    trace, findings = read_document(json.dumps(document))
    assert findings["thread_in_layers"].count == 1
    assert launched_by(trace)["MatMulV2"] == "AscendCL@launch"


def test_a_connection_id_joins_a_call_with_its_work(read_document: Read) -> None:
    call = row("Node@launch", 20, 10, 2, 77, args={"connection_id": 9})
    work = row("MatMulV2", 60, 100, 3, 5, args={"connection_id": 9})
    trace, _ = read_document(json.dumps([*ASCEND, op("aten::mm", 10, 40), call, work]))
    assert launched_by(trace)["MatMulV2"] == "Node@launch"


def test_summaries_and_waits_of_a_stream_are_no_work(read_document: Read) -> None:
    rows = [
        named("process_name", 4, "Overlap Analysis"),
        named("process_labels", 4, "NPU"),
        op("a", 0.5, 5),
        row("MatMulV2", 60, 100, 3, 5),
        row("EVENT_WAIT", 160, 100, 3, 5),
        row("wait", 260, 100, 3, 5, args={"Task Type": "NOTIFY_WAIT_SQE"}),
        row("Computing", 60, 100, 4, 0),
        row("Free", 160, 200, 4, 3),
    ]
    trace, findings = read_document(json.dumps([*ASCEND, *rows]))
    assert categories(trace) == {"a": "cpu_op", "MatMulV2": "kernel"}
    assert findings["device_rows_unread"].count == 4


@pytest.mark.parametrize("covered", [True, False])
def test_communication_above_its_streams_counts_once(read_document: Read, covered: bool) -> None:
    rows = [
        named("process_name", 4, "Communication"),
        named("process_labels", 4, "NPU"),
        named("thread_name", 4, "Group 0 Communication", 0),
        named("thread_name", 4, "Plane 0", 1),
        op("a", 0.5, 5),
        row("hcom_allReduce_", 60, 100, 4, 0),
        row("Notify", 70, 20, 4, 1),
        row("task", 60 if covered else 300, 100, 3, 5),
    ]
    trace, _ = read_document(json.dumps([*ASCEND, *rows]))
    work = {name for name, category in categories(trace).items() if category == "kernel"}
    assert work == ({"task"} if covered else {"task", "hcom_allReduce_"})


@pytest.mark.parametrize("device", ["CUDA", "XPU", "HIP", "PrivateUse1"])
def test_exports_of_the_old_profiler_have_a_device_a_thread(read_document: Read, device: str) -> None:
    cpu = [row("aten::mm", ts, 5, "CPU functions", 1) for ts in (0.5, 10.5)]
    work = [row(f"k{k}", 20.5 + k, 9, f"{device} functions", k) for k in range(2)]
    flows = [end for k in range(2) for end in flow(f"cpu_to_{device.lower()}", k, cpu[k], work[k])]
    trace, findings = read_document(json.dumps([*cpu, *work, *flows]))
    assert places(trace) | {"aten::mm": (None, None)} == {
        "aten::mm": (None, None),
        "k0": (0, 0),
        "k1": (1, 0),
    }
    assert launched_by(trace) == {"aten::mm": None, "k0": "aten::mm", "k1": "aten::mm"}
    assert not {"several_processes", "process_stray"} & set(findings)


def test_launches_that_end_on_a_lane_make_it_a_devices_whatever_its_name(read_document: Read) -> None:
    launch, work = op("aten::mm", 0.5, 5), row("k", 20.5, 9, "chip", "q1")
    trace, _ = read_document(json.dumps([launch, work, *flow("cpu_to_chip", 1, launch, work)]))
    assert categories(trace)["k"] == "kernel"
    assert launched_by(trace)["k"] == "aten::mm"


def test_a_devices_other_threads_beside_its_streams_sum_them_up(read_document: Read) -> None:
    rows = [
        named("process_name", 1, "/host:CPU"),
        named("process_name", 2, "/device:GPU:3"),
        named("thread_name", 2, "Stream #13(Compute)", 13),
        named("thread_name", 2, "XLA Modules", 1),
        row("TfOp", 0.5, 9, 1, 1),
        row("fusion", 20.5, 9, 2, 13),
        row("MemcpyD2H", 30.5, 9, 2, 13),
        row("jit_step", 20.5, 19, 2, 1),
    ]
    trace, findings = read_document(json.dumps(rows))
    assert categories(trace) == {"TfOp": "", "fusion": "kernel", "MemcpyD2H": "gpu_memcpy"}
    assert places(trace)["fusion"] == (3, 13)
    assert findings["device_rows_unread"].count == 1


def test_layers_of_a_device_that_hold_others_stay_what_they_are(read_document: Read) -> None:
    rows = [
        named("process_name", 2, "MTIA 0"),
        op("a", 0.5, 9),
        row("job", 20.5, 50, 2, 7, cat="mtia_ccp_events"),
        row("task", 30.5, 9, 2, 7, cat="mtia_ccp_events"),
    ]
    trace, _ = read_document(json.dumps(rows))
    assert categories(trace) == {"a": "cpu_op", "job": "mtia_ccp_events", "task": "kernel"}


@pytest.mark.parametrize(
    "rows",
    [
        [named("process_name", 2, "GPU worker"), row("poll", 3.5, 9, 2, 7)],
        [named("process_name", 2, "GPU 0"), row("poll", 3.5, 9, 2, 7), row("op", 1.5, 1, 2, 8, cat="cpu_op")],
        [named("thread_name", 1, "stream 7", 8), row("poll", 3.5, 9, 1, 8)],
        [named("process_name", 2, "CANN"), row("poll", 3.5, 9, 2, 7)],
    ],
)
def test_a_host_stays_a_host(read_document: Read, rows: list[Entry]) -> None:
    trace, findings = read_document(json.dumps([op("a", 0.5, 30), *rows]))
    assert categories(trace)["poll"] in ("", "cann_runtime")
    assert "device_rows_read" not in findings


def test_times_that_are_texts_are_exact_and_no_repair(read_document: Read) -> None:
    entry = {**op("a", 0, 1), "ts": "1691234567890123.457", "dur": "2.001"}
    trace, findings = read_document(json.dumps([entry]))
    assert trace.events["start_ns"].to_pylist() == [1691234567890123457]
    assert trace.events["end_ns"].to_pylist() == [1691234567890125458]
    assert "event_repaired" not in findings
