"""Well-formed Kineto JSON: small documents and the rows they give."""

import gzip
import hashlib
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tracegraph.ingest.integrity_findings import Finding, Integrity
from tracegraph.ingest.readers import read_trace
from tracegraph.ingest.trace import EVENT_SCHEMA, FLOW_SCHEMA, TraceFile

Read = Callable[[str | bytes], tuple[TraceFile, dict[str, Finding]]]

OP = '{"ph": "X", "cat": "cpu_op", "name": "op", "pid": 1, "tid": 1, "ts": 1, "dur": 2}'


def _rows(trace: TraceFile, *columns: str) -> list[tuple[object, ...]]:
    return list(zip(*(trace.events[column].to_pylist() for column in columns), strict=True))


def test_fields_of_each_kind_of_event(read_document: Read) -> None:
    trace, _ = read_document(
        """{"schemaVersion": 1, "traceEvents": [
        {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 7, "tid": 8, "ts": 10, "dur": 5.25,
         "args": {"Sequence number": 3, "Fwd thread id": 0, "Input Dims": [[2, 3], []], "stream": 9}},
        {"ph": "X", "cat": "cuda_runtime", "name": "hipLaunch", "pid": 7, "tid": "8", "ts": 11, "dur": 1,
         "args": {"correlation": 42, "stream": "0x0", "bytes": "256"}},
        {"ph": "X", "cat": "kernel", "name": "ncclKernel", "pid": 0, "tid": "stream 7", "ts": 12, "dur": 3,
         "args": {"correlation": 42, "device": 0, "stream": 7, "Collective name": "allreduce",
                  "Process Group Name": "0", "In msg nelems": 64, "dtype": "Float"}},
        {"ph": "X", "cat": "cuda_sync", "name": "Stream Wait Event", "pid": 0, "tid": 7, "ts": 13, "dur": 0,
         "args": {"correlation": 43, "device": 0, "stream": 4294967295, "wait_on_stream": 20,
                  "wait_on_cuda_event_record_corr_id": 41}},
        {"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy", "pid": 0, "tid": 7, "ts": 14, "dur": 1,
         "args": {"correlation": 44, "device": 0, "stream": 7, "bytes": 4096}}
        ]}"""
    )
    assert trace.events.schema == EVENT_SCHEMA
    assert _rows(trace, "source_index", "category", "pid", "tid", "start_ns", "end_ns") == [
        (0, "cpu_op", "7", "8", 10_000, 15_250),
        (1, "cuda_runtime", "7", "8", 11_000, 12_000),
        (2, "kernel", "0", "stream 7", 12_000, 15_000),
        (3, "cuda_sync", "0", "7", 13_000, 13_000),
        (4, "gpu_memcpy", "0", "7", 14_000, 15_000),
    ]
    assert _rows(trace, "correlation", "device", "stream", "bytes", "wait_on_stream", "wait_on_record") == [
        (None, None, None, None, None, None),
        (42, None, None, None, None, None),
        (42, 0, 7, None, None, None),
        (43, 0, -1, None, 20, 41),
        (44, 0, 7, 4096, None, None),
    ]
    assert _rows(trace, "sequence_number", "forward_thread", "shapes", "collective", "group", "elements")[
        :3
    ] == [
        (3, 0, "[[2,3],[]]", None, None, None),
        (None, None, None, None, None, None),
        (None, None, None, "allreduce", "0", 64),
    ]
    assert trace.events["dtype"].to_pylist()[2] == "Float"


def test_old_categories_read_as_todays(read_document: Read) -> None:
    old = ["Operator", "Runtime", "Kernel", "Memcpy", "Memset"]
    events = [{"ph": "X", "cat": c, "name": "n", "pid": 1, "tid": 1, "ts": 1, "dur": 1} for c in old]
    trace, findings = read_document(json.dumps(events))
    assert trace.events["category"].to_pylist() == [
        "cpu_op",
        "cuda_runtime",
        "kernel",
        "gpu_memcpy",
        "gpu_memset",
    ]
    assert findings["category_old"].count == 5


def test_facts_around_the_list(read_document: Read) -> None:
    trace, _ = read_document(
        f"""{{"schemaVersion": 1, "distributedInfo": {{"rank": 3}}, "cuda_runtime_version": 12040,
        "deviceProperties": [{{"id": 0, "name": "H100"}}], "traceEvents": [{OP},
        {{"ph": "M", "name": "thread_name", "pid": 1, "tid": 2, "args": {{"name": "thread 2 (python)"}}}},
        {{"ph": "M", "name": "process_name", "pid": "1", "tid": 0, "args": {{"name": "python"}}}},
        {{"ph": "X", "cat": "Trace", "name": "Profiler (0)", "pid": "S", "tid": "P", "ts": 0, "dur": 99}},
        {{"ph": "i", "name": "Record Window End", "pid": "", "tid": "", "ts": 9}}]}}"""
    )
    assert (trace.rank, trace.devices) == (3, ["H100"])
    assert trace.versions == {"schemaVersion": "1", "cuda_runtime_version": "12040"}
    assert trace.thread_names == {("1", "2"): "thread 2 (python)"}
    assert trace.process_names == {"1": "python"}
    assert trace.other_phases == {"M": 2, "i": 1}
    assert trace.events["name"].to_pylist() == ["op"]


def test_flows_and_their_missing_partners(read_document: Read) -> None:
    trace, findings = read_document(
        f"""[{OP},
        {{"ph": "s", "cat": "ac2g", "id": 1, "pid": 1, "tid": "1", "ts": 1.5}},
        {{"ph": "f", "cat": "ac2g", "id": "1", "pid": 0, "tid": 7, "ts": 2, "bp": "e"}},
        {{"ph": "s", "cat": "fwdbwd", "id": 1, "pid": 1, "tid": 1, "ts": 3}},
        {{"ph": "f", "cat": "ac2g", "id": 5, "pid": 0, "tid": 7, "ts": 4}},
        {{"ph": "s", "cat": "ac2g", "pid": 0, "tid": 7, "ts": 4}}]"""
    )
    assert trace.flows.schema == FLOW_SCHEMA
    assert trace.flows.to_pydict() == {
        "kind": ["ac2g", "ac2g", "fwdbwd", "ac2g"],
        "id": ["1", "1", "1", "5"],
        "is_start": [True, False, True, False],
        "pid": ["1", "0", "1", "0"],
        "tid": ["1", "7", "1", "7"],
        "ts_ns": [1500, 2000, 3000, 4000],
    }
    assert "fwdbwd 1" in findings["flow_without_end"].message
    assert "ac2g 5" in findings["flow_without_start"].message
    assert findings["flow_unusable"].count == 1


def test_begin_and_end_pairs_become_events_at_the_begin(read_document: Read) -> None:
    def half(phase: str, name: str, ts: int, tid: int = 1) -> dict[str, object]:
        return {"ph": phase, "name": name, "cat": "cpu_op", "pid": 1, "tid": tid, "ts": ts}

    trace, findings = read_document(
        json.dumps(
            [
                half("E", "early", 0),
                half("B", "outer", 1),
                half("B", "same", 2),
                half("B", "same", 3),
                half("B", "other thread", 3, tid=2),
                half("E", "same", 4),
                half("E", "", 6),
                half("E", "outer", 9),
            ]
        )
    )
    assert _rows(trace, "source_index", "name", "start_ns", "end_ns") == [
        (1, "outer", 1000, 9000),
        (2, "same", 2000, 6000),
        (3, "same", 3000, 4000),
    ]
    assert (findings["end_without_begin"].count, findings["begin_without_end"].count) == (1, 1)
    assert "source index 0" in findings["end_without_begin"].message
    assert "source index 4" in findings["begin_without_end"].message


def test_large_times_with_decimals_come_from_the_text(read_document: Read) -> None:
    trace, _ = read_document(
        '[{"ph": "X", "name": "a", "pid": 1, "tid": 1, "ts": 1695835542516374.123, "dur": 0.877},'
        ' {"ph": "X", "name": "b", "pid": 1, "tid": 1, "ts": 1695835542516375.001, "dur": 1}]'
    )
    assert _rows(trace, "start_ns", "end_ns") == [
        (1_695_835_542_516_374_123, 1_695_835_542_516_375_000),
        (1_695_835_542_516_375_001, 1_695_835_542_516_376_001),
    ]


@pytest.mark.parametrize(
    ("starts", "code"),
    [([5, 7], "times_whole_us"), ([1695835542516374.25, 1695835542516375.5], "times_rounded")],
)
def test_coarse_clocks_are_stated(read_document: Read, starts: list[float], code: str) -> None:
    events = [{"ph": "X", "name": "a", "pid": 1, "tid": 1, "ts": ts, "dur": 1} for ts in starts]
    _, findings = read_document(json.dumps(events))
    assert set(findings) - {"category_missing", "thread_unnamed"} == {code}


def test_integers_beyond_64_bits_cost_only_themselves(read_document: Read) -> None:
    trace, _ = read_document(
        '[{"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 1, "dur": 1,'
        ' "args": {"correlation": 10159970886766084423, "device": 0, "stream": 7}}]'
    )
    assert _rows(trace, "correlation", "stream") == [(None, 7)]


@pytest.mark.parametrize(
    "pack", [lambda b: b, gzip.compress, lambda b: gzip.compress(b[:9]) + gzip.compress(b[9:])]
)
def test_plain_and_gzip_alike_whatever_the_name(tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
    path = tmp_path / "trace.txt"
    path.write_bytes(pack(f"[{OP}]".encode()))
    integrity = Integrity("trace.txt")
    trace = read_trace(path, integrity)
    assert trace.events.num_rows == 1
    assert trace.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    assert [finding.code for finding in integrity] == ["thread_unnamed", "times_whole_us"]


def test_launches_processes_and_rank_are_checked(read_document: Read) -> None:
    def event(cat: str, pid: int, correlation: int) -> dict[str, object]:
        arguments = {"correlation": correlation, "device": 0, "stream": 7}
        return {
            "ph": "X",
            "cat": cat,
            "name": "n",
            "pid": pid,
            "tid": 7,
            "ts": 1.5,
            "dur": 1,
            "args": arguments,
        }

    _, findings = read_document(
        json.dumps(
            [
                event("cuda_runtime", 1, 5),
                event("cuda_runtime", 1, 5),
                event("cuda_driver", 2, 6),
                event("kernel", 0, 5),
                event("kernel", 0, 8),
            ]
        )
    )
    assert {code: finding.count for code, finding in findings.items()} == {
        "rank_missing": 1,
        "several_processes": 2,
        "correlation_repeated": 1,
        "event_repeated": 1,
        "thread_unnamed": 2,
        "device_unknown": 1,
    }
