"""What NCCL's ranges carry in a report: sizes of messages and communicators, as binary payloads."""

import struct
from pathlib import Path

import nsight_reports
import pytest
from nsight_reports import CALL, KERNEL, PROCESS, Report, thread

from tracegraph.ingest.integrity_findings import Finding, Integrity
from tracegraph.ingest.ranks.rank_part import understand
from tracegraph.ingest.readers import read_trace
from tracegraph.ingest.trace import TraceFile

NCCL, INIT, MESSAGE = 1, 100, 200
"""Numbers of NCCL's domain, and of the schemas of its ranges."""
JOINED = "NCCL communicator ID"
SCHEMAS = (
    (INIT, 0, 18, JOINED, None),
    (INIT, 1, 5, "No. of ranks", 8),
    (INIT, 2, 5, "Rank", 12),
    (MESSAGE, 0, 18, JOINED, None),
    (MESSAGE, 1, 22, "Message size [bytes]", 8),
    (MESSAGE, 2, 9001, "Reduction operation", 16),
)


def _payload(schema: int, content: bytes) -> bytes:
    return struct.pack("<QQQQ", NCCL, schema, len(content), 32) + content


def _message(size: int, communicator: int = 0xABC) -> bytes:
    return _payload(MESSAGE, struct.pack("<QQI4x", communicator, size, 0))


@pytest.fixture
def report() -> Report:
    """The schemas, and a range in which a communicator of 4 ranks is made."""
    found = nsight_reports.Report()
    for schema, index, kind, name, offset in SCHEMAS:
        row = {"schemaId": schema, "idx": index, "type": kind, "name": name, "offset": offset}
        found.add("NVTX_PAYLOAD_SCHEMA_ENTRIES", domainId=NCCL, **row)
    _range(found, "ncclCommInitRank", 0, 9, _payload(INIT, struct.pack("<QIII4x", 0xABC, 4, 3, 0)))
    return found


def _range(report: Report, name: str, start: int, end: int, payload: object, **more: object) -> None:
    row = {"eventType": 59, "textId": report.text(name), "domainId": NCCL, "globalTid": thread(5)}
    report.add("NVTX_EVENTS", start=start, end=end, **row, binaryData=payload, **more)


def _launch(report: Report, name: str, at: int, number: int) -> None:
    """A call of 2 ns that launches a kernel."""
    call = {"eventClass": 0, "globalTid": thread(5), "nameId": report.text("cudaLaunchKernelExC")}
    report.add(CALL, start=at, end=at + 2, **call, correlationId=number)
    place = {"deviceId": 0, "contextId": 1, "streamId": 7, "globalPid": PROCESS, "correlationId": number}
    report.add(KERNEL, start=at + 5, end=at + 15, **place, demangledName=report.text(name))


def _read(report: Report, folder: Path) -> tuple[TraceFile, dict[str, Finding]]:
    integrity = Integrity("report.sqlite")
    trace = read_trace(report.write(folder / "report.sqlite"), integrity)
    return trace, {finding.code: finding for finding in integrity}


def _stated(trace: TraceFile) -> dict[str, tuple[object, ...]]:
    rows = trace.events.select(["name", "bytes", "group", "group_size"]).to_pylist()
    return {name: tuple(rest) for name, *rest in (row.values() for row in rows)}


@pytest.mark.parametrize(
    ("call", "kernel", "whole"),
    [
        ("ncclAllReduce", "ncclDevKernel_AllReduce_Sum_f32_RING_LL", 4096),
        ("ncclAllGather", "ncclDevKernel_AllGather_RING_LL", 4 * 4096),
        ("ncclReduceScatter", "ncclDevKernel_ReduceScatter_Sum_f32_RING_LL", 4 * 4096),
    ],
)
@pytest.mark.parametrize("grouped", [False, True])
def test_the_kernel_of_a_call_moves_what_its_range_states(
    report: Report, tmp_path: Path, call: str, kernel: str, whole: int, grouped: bool
) -> None:
    """PyTorch groups each call: NCCL launches the kernel as the group ends."""
    _range(report, call, 20, 30, _message(4096))
    if grouped:
        _range(report, "ncclGroupStart", 10, 12, None)
        _range(report, "ncclGroupEnd", 40, 60, None)
    _launch(report, kernel, 45 if grouped else 25, 1)
    trace, findings = _read(report, tmp_path)
    assert _stated(trace)[f"{call}"] == (4096, "0xabc", 4)
    assert "payload_unknown" not in findings
    part = understand(trace, Integrity("report.sqlite"))
    (member,) = part.members
    assert (member.group, member.size) == ("0xabc", 4)
    assert part.stated["bytes"].to_pylist()[member.event] == whole


def test_a_group_of_several_messages_states_none(report: Report, tmp_path: Path) -> None:
    _range(report, "ncclGroupStart", 10, 12, None)
    for k in range(2):
        _range(report, f"ncclSend {k}", 20 + k, 21 + k, _message(64))
    _range(report, "ncclGroupEnd", 40, 60, None)
    _range(report, "ncclGroupEnd", 70, 80, None)
    _launch(report, "ncclDevKernel_SendRecv", 45, 1)
    trace, _ = _read(report, tmp_path)
    assert _stated(trace)["ncclGroupEnd"] == (None, None, None)


def test_what_is_scattered_takes_the_number_of_ranks(report: Report, tmp_path: Path) -> None:
    _range(report, "ncclReduceScatter", 20, 30, _message(64, communicator=0xDEF))
    _launch(report, "ncclDevKernel_ReduceScatter_Sum_f32_RING_LL", 25, 1)
    trace, _ = _read(report, tmp_path)
    (member,) = understand(trace, Integrity("report.sqlite")).members
    assert (member.group, member.size, member.input_bytes) == ("0xdef", None, None)


@pytest.mark.parametrize(
    ("payload", "json"),
    [
        (_payload(300, b"\0" * 8), None),
        (_message(64)[:40], None),
        (b"short", None),
        ("text", None),
        (None, '{"x": 1}'),
    ],
    ids=["unknown schema", "cut", "no header", "text", "JSON"],
)
def test_other_payloads_are_counted(
    report: Report, tmp_path: Path, payload: object, json: str | None
) -> None:
    _range(report, "mine", 20, 30, payload, jsonText=json)
    _launch(report, "k", 25, 1)
    trace, findings = _read(report, tmp_path)
    assert findings["payload_unknown"].count == 1
    assert _stated(trace)["mine"] == (None, None, None)


def test_a_size_that_cannot_be_is_none(report: Report, tmp_path: Path) -> None:
    _range(report, "ncclAllReduce", 20, 30, _message(2**64 - 1))
    _launch(report, "k", 25, 1)
    assert _stated(_read(report, tmp_path)[0])["ncclAllReduce"] == (None, "0xabc", 4)
