"""What each table of a report of Nsight Systems becomes, in tiny reports."""

from pathlib import Path

import pytest
from nsight_reports import (
    ALLOCATION,
    CALL,
    COPY,
    GRAPH,
    KERNEL,
    NO_ID,
    OVERHEAD,
    PROCESS,
    RECORD,
    SET,
    SYNC,
    SYNC_TYPES,
    Report,
    thread,
)

from tracegraph.ingest.integrity_findings import Finding, Integrity
from tracegraph.ingest.readers import read_trace
from tracegraph.ingest.trace import TraceFile

STREAM = {"deviceId": 0, "contextId": 1, "streamId": 7, "globalPid": PROCESS}


@pytest.fixture
def report() -> Report:
    """A launch and its kernel, on which each test builds."""
    found = Report()
    _call(found, "cudaLaunchKernel_v7000", 10, 20, 1)
    found.add(KERNEL, start=30, end=50, **STREAM, correlationId=1, demangledName=found.text("k"))
    return found


def _call(report: Report, name: str, start: int, end: int, number: int, driver: bool = False) -> None:
    report.add(
        CALL,
        start=start,
        end=end,
        eventClass=int(driver),
        globalTid=thread(5),
        nameId=report.text(name),
        correlationId=number,
    )


def _read(
    report: Report, folder: Path, leave_out: tuple[str, ...] = ()
) -> tuple[TraceFile, dict[str, Finding]]:
    integrity = Integrity("report.sqlite")
    trace = read_trace(report.write(folder / "report.sqlite", leave_out), integrity)
    return trace, {finding.code: finding for finding in integrity}


def _lines(trace: TraceFile, *columns: str) -> list[str]:
    """Rows as text: their columns, joined by a space, `-` for nothing."""
    rows = trace.events.select(list(columns)).to_pylist()
    return [" ".join("-" if one is None else str(one) for one in row.values()) for row in rows]


def test_calls_and_kernels(report: Report, tmp_path: Path) -> None:
    _call(report, "cuMemAlloc_v2", 21, 22, 2, driver=True)
    trace, _ = _read(report, tmp_path)
    assert _lines(trace, "category", "name", "pid", "tid", "start_ns", "end_ns", "correlation") == [
        "cuda_runtime cudaLaunchKernel 1 5 10 20 1",
        "cuda_driver cuMemAlloc_v2 1 5 21 22 2",
        "kernel k 0 7 30 50 1",
    ]


def test_allocations_are_memory_rows_of_the_thread_that_asked(report: Report, tmp_path: Path) -> None:
    asked = {"globalPid": PROCESS, "deviceId": 0, "contextId": 1, "address": 64, "memKind": 2}
    _call(report, "cudaMalloc_v3020", 21, 24, 2)
    report.add(ALLOCATION, **{**asked, "start": 40}, bytes=100, memoryOperationType=1)  # its call is absent
    report.add(ALLOCATION, **{**asked, "start": 23}, bytes=100, memoryOperationType=0, correlationId=2)
    report.add(ALLOCATION, **{**asked, "start": 25, "memKind": 1}, bytes=7, memoryOperationType=0)  # pinned
    report.add(ALLOCATION, **{**asked, "start": 26}, bytes=7, memoryOperationType=5)  # neither of both
    report.add(ALLOCATION, **{**asked, "start": 27}, bytes=1 << 60, memoryOperationType=0)
    trace, found = _read(report, tmp_path)
    columns = ["at_ns", "tid", "device_type", "device", "bytes", "allocated"]
    assert [list(row.values()) for row in trace.memory.select(columns).to_pylist()] == [
        [23, "5", 1, 0, 100, None],
        [40, "", 1, 0, -100, None],
    ]
    assert min(trace.memory["source_index"].to_pylist()) == trace.events.num_rows
    assert found["memory_row_broken"].count == 2
    assert _read(report, tmp_path, ("CUDA_GPU_MEMORY_USAGE_EVENTS.bytes",))[0].memory.num_rows == 0


def test_copies_sets_and_graphs(report: Report, tmp_path: Path) -> None:
    report.add(
        COPY, start=60, end=160, **STREAM, correlationId=2, bytes=400, copyKind=1, srcKind=0, dstKind=2
    )
    report.add(COPY, start=200, end=300, **STREAM, correlationId=3, bytes=100, copyKind=8)
    report.add(SET, start=400, end=500, **STREAM, correlationId=4, bytes=100, memKind=2)
    report.add(GRAPH, start=600, end=700, **STREAM, correlationId=5, graphId=3)
    trace, _ = _read(report, tmp_path)
    assert _lines(trace, "category", "name", "bytes", "bandwidth")[2:] == [
        "gpu_memcpy Memcpy HtoD (Pageable -> Device) 400 4000000000",
        "gpu_memcpy Memcpy DtoD 100 1000000000",
        "gpu_memset Memset (Device) 100 1000000000",
        "kernel graph 3 - -",
    ]


@pytest.mark.parametrize("version", SYNC_TYPES)
@pytest.mark.parametrize("kind", ["Stream Sync", "Context Sync", "Event Sync", "Stream Wait Event"])
def test_the_name_of_the_call_says_what_it_waits_for(
    report: Report, tmp_path: Path, version: str, kind: str
) -> None:
    names = {
        "Stream Sync": "cudaStreamSynchronize_v3020",
        "Context Sync": "cudaDeviceSynchronize_v3020",
        "Event Sync": "cudaEventSynchronize_v3020",
        "Stream Wait Event": "cudaStreamWaitEvent_v3020",
    }
    _call(report, names[kind], 60, 70, 2)
    number = SYNC_TYPES[version][kind]
    report.add(SYNC, start=60, end=70, **STREAM, correlationId=2, syncType=number, eventId=NO_ID)
    trace, _ = _read(report, tmp_path)
    assert f"cuda_sync {kind} 2" in _lines(trace, "category", "name", "correlation")


def test_a_query_waits_for_nothing(report: Report, tmp_path: Path) -> None:
    _call(report, "cudaEventQuery_v3020", 60, 70, 2)
    report.add(SYNC, start=60, end=70, **STREAM, correlationId=2, syncType=1, eventId=4)
    trace, findings = _read(report, tmp_path)
    assert "cuda_sync" not in trace.events["category"].to_pylist()
    assert "sync_without_call" not in findings


def test_a_wait_without_its_call_is_counted(report: Report, tmp_path: Path) -> None:
    report.add(SYNC, start=60, end=70, **STREAM, correlationId=99, syncType=1, eventId=4)
    trace, findings = _read(report, tmp_path)
    assert "cuda_sync" not in trace.events["category"].to_pylist()
    assert findings["sync_without_call"].count == 1


@pytest.mark.parametrize(("joined", "expected"), [(None, 3), (1, 2)])
def test_the_newest_record_before_a_wait_or_the_one_that_is_named(
    report: Report, tmp_path: Path, joined: int | None, expected: int
) -> None:
    """An event is recorded three times, after the wait, too; a newer report names the record itself."""
    for number, at, sync in ((2, 52, 1), (3, 54, 2), (4, 80, 3)):
        _call(report, "cudaEventRecord_v3020", at, at + 1, number)
        where = {"contextId": 1, "streamId": 7, "globalPid": PROCESS, "eventId": 1}
        report.add(RECORD, **where, correlationId=number, eventSyncId=sync if joined else None)
    _call(report, "cudaStreamWaitEvent_v3020", 60, 70, 5)
    place = {**STREAM, "streamId": 20}
    report.add(SYNC, start=60, end=70, **place, correlationId=5, eventId=1, eventSyncId=joined)
    trace, _ = _read(report, tmp_path)
    found = _lines(trace, "category", "stream", "wait_on_stream", "wait_on_record")
    assert f"cuda_sync 20 7 {expected}" in found


def test_ranges_by_text_number_and_domain(report: Report, tmp_path: Path) -> None:
    on = {"globalTid": thread(5)}
    report.add("NVTX_EVENTS", start=0, eventType=75, text="NCCL", domainId=3, **on)
    report.add("NVTX_EVENTS", start=1, end=90, eventType=59, text="step", domainId=0, **on)
    report.add(
        "NVTX_EVENTS", start=2, end=80, eventType=70, textId=report.text("ncclAllReduce"), domainId=3, **on
    )
    report.add("NVTX_EVENTS", start=3, end=7, eventType=60, text="load", domainId=0, **on)
    report.add("NVTX_EVENTS", start=4, eventType=34, text="here", domainId=0, **on)
    report.add("NVTX_EVENTS", start=5, eventType=59, text="open", domainId=0, **on)
    trace, findings = _read(report, tmp_path)
    ranges = [line for line in _lines(trace, "category", "name", "start_ns", "end_ns") if line[0] == "u"]
    assert ranges == [
        "user_annotation step 1 90",
        "user_annotation NCCL: ncclAllReduce 2 80",
        "user_annotation load 3 7",
        "user_annotation open 5 90",
    ]
    assert trace.other_phases == {"i": 1}
    assert findings["range_not_closed"].count == 1


def test_ranges_of_emit_nvtx_are_operators(report: Report, tmp_path: Path) -> None:
    texts = (
        "aten::mm, seq = 12, op_id = 3, sizes = [[2, 3], [3, 4]], input_op_ids = [(1,0), (2,0)]",
        "MmBackward0, seq = 12",
        "a step, seq = none",
        "aten::empty, op_id = 7",
        "Optimizer.step#SGD.step, op_id = 8",
        "two\nlines, seq = 5, seq = 6",
        "aten::add, seq = 1000000000000000000",  # more than a sequence number can be
    )
    for k, text in enumerate(texts):
        report.add("NVTX_EVENTS", start=k, end=9, eventType=59, text=text, domainId=0, globalTid=thread(5))
    trace, _ = _read(report, tmp_path)
    columns = ("category", "name", "sequence_number", "forward_thread", "shapes")
    assert _lines(trace, *columns)[: len(texts)] == [
        "cpu_op aten::mm 12 0 [[2,3],[3,4]]",
        "cpu_op MmBackward0 12 1 -",
        "user_annotation a step, seq = none - - -",
        "cpu_op aten::empty - 0 -",
        "user_annotation Optimizer.step#SGD.step - - -",
        "cpu_op two\nlines, seq = 5 6 0 -",
        "user_annotation aten::add, seq = 1000000000000000000 - - -",
    ]


def test_calls_into_the_system_wait_or_work_outside_of_calls_into_cuda(
    report: Report, tmp_path: Path
) -> None:
    for name, start, number in (("ioctl", 12, 5), ("read", 60, 5), ("pthread_cond_wait", 70, 6)):
        at = {"start": start, "end": start + 5, "globalTid": thread(number)}
        report.add("OSRT_API", **at, nameId=report.text(name))
    trace, _ = _read(report, tmp_path)
    assert _lines(trace, "category", "name", "tid")[2:] == ["osrt read 5", "osrt_wait pthread_cond_wait 6"]


@pytest.mark.parametrize(
    ("state", "ready"), [(1, True), (2, False), (3, False), (0, None), (6, None), (None, None)]
)
def test_a_thread_is_off_the_cpu_from_the_row_that_takes_it_off_to_the_one_that_puts_it_back(
    report: Report, tmp_path: Path, state: int | None, ready: bool | None
) -> None:
    """Rows have no order; what comes before a thread's first row and after its last is not known."""
    for at, into, number in ((40, 1, 5), (33, 0, 5), (12, 1, 5), (60, 0, 5), (14, 1, 6), (20, 0, 6)):
        report.add("SCHED_EVENTS", start=at, isSchedIn=into, globalTid=thread(number), threadState=state)
    report.add("SCHED_EVENTS", start=35, isSchedIn=1, globalTid=thread(5, PROCESS + (1 << 24)))
    trace, findings = _read(report, tmp_path)
    off = [list(row.values()) for row in trace.off_cpu.to_pylist()]
    assert off == [["1", "5", 33, 40, ready]]
    assert findings["turn_untold"].count == 1 if ready is None else "turn_untold" not in findings
    assert "turn_without_partner" not in findings


def test_rows_of_turns_without_a_partner_say_nothing(report: Report, tmp_path: Path) -> None:
    """A row that takes the thread off is missing, then one that puts it back; one row has no time."""
    for at, into in ((10, 1), (20, 1), (30, 0), (40, 0), (50, 1), (None, 0), (60, 0)):
        report.add("SCHED_EVENTS", start=at, isSchedIn=into, globalTid=thread(5), threadState=1)
    trace, findings = _read(report, tmp_path)
    assert [list(row.values())[2:] for row in trace.off_cpu.to_pylist()] == [[40, 50, True]]
    assert findings["turn_without_partner"].count == 3
    assert _read(report, tmp_path, ("SCHED_EVENTS.isSchedIn",))[0].off_cpu.num_rows == 0
    assert _read(report, tmp_path, ("SCHED_EVENTS.globalTid",))[0].off_cpu.num_rows == 0


def test_overhead_and_names_of_threads_and_devices(report: Report, tmp_path: Path) -> None:
    report.add(OVERHEAD, start=11, end=12, globalTid=thread(5), nameId=report.text("module loading"))
    report.add("PROFILER_OVERHEAD", start=1, end=2, globalTid=thread(5), nameId=report.text("start"))
    report.add("ThreadNames", nameId=report.text("python"), priority=20, globalTid=thread(5))
    report.add("ThreadNames", nameId=report.text("old"), priority=10, globalTid=thread(5))
    report.add("PROCESSES", globalPid=PROCESS, pid=1, name="python train.py")
    for number, name, chip in ((0, "Graphics", ""), (1, "A100", "GA100"), (2, "H100", "GH100")):
        report.add("TARGET_INFO_GPU", id=number, cuDevice=number, name=name, chipName=chip, totalMemory=80)
    report.add("TARGET_INFO_CUDA_DEVICE", gpuId=2, cudaId=0, pid=1)
    trace, _ = _read(report, tmp_path)
    assert _lines(trace, "category", "name")[::2] == ["overhead start", "overhead module loading"]
    assert trace.thread_names == {("1", "5"): "python"}
    assert trace.process_names == {"1": "python train.py"}
    assert (trace.devices, trace.device_memory) == (["H100"], [80])


def test_streams_of_two_contexts_with_one_number_stay_apart(report: Report, tmp_path: Path) -> None:
    other = {**STREAM, "contextId": 2}
    report.add(KERNEL, start=40, end=60, **other, correlationId=2, demangledName=report.text("k"))
    trace, _ = _read(report, tmp_path)
    assert len(set(trace.events["stream"].drop_null().to_pylist())) == 2


def test_what_was_not_recorded_is_said_with_what_records_it(report: Report, tmp_path: Path) -> None:
    _, findings = _read(report, tmp_path)
    message = findings["tables_missing"].message
    assert "NVTX_EVENTS (steps, phases and the user's own ranges: record with --trace=nvtx)" in message
    assert "KERNEL" not in message


@pytest.mark.parametrize("left_out", [KERNEL, CALL, "StringIds"])
def test_a_table_that_is_absent_is_a_finding(report: Report, tmp_path: Path, left_out: str) -> None:
    trace, findings = _read(report, tmp_path, (left_out,))
    assert trace.events.num_rows == (2 if left_out == "StringIds" else 1)
    assert findings["name_missing" if left_out == "StringIds" else "tables_missing"].count


@pytest.mark.parametrize("column", ["streamId", "correlationId"])
def test_a_column_that_is_absent_is_a_finding(report: Report, tmp_path: Path, column: str) -> None:
    trace, findings = _read(report, tmp_path, (f"{KERNEL}.{column}",))
    assert f"{KERNEL}.{column}" in findings["columns_missing"].message
    assert trace.events.num_rows == (1 if column == "streamId" else 2)
