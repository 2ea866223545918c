"""Results of rocprofv3 as JSON, in the form that its documentation and tests have."""

import json
from pathlib import Path
from typing import Any

import pytest

from tracegraph.base.errors import InputError
from tracegraph.ingest.integrity_findings import Integrity
from tracegraph.ingest.readers import read_parts_unchecked, read_trace

CPU, GPU, OTHER_GPU = 2**63 + 1, 2**63 + 2, 2**63 + 3
"""Handles of agents are addresses or hashes of 64 bits."""


def _process(pid: int) -> dict[str, Any]:
    """A process that launches a kernel on each of two queues of its second GPU, and copies to it."""

    def at(start: int, end: int, correlation: int) -> dict[str, Any]:
        number = {"internal": correlation, "external": 0}
        return {"start_timestamp": start, "end_timestamp": end, "correlation_id": number, "size": 8}

    def kernel(start: int, end: int, correlation: int, queue: int) -> dict[str, Any]:
        info = {"agent_id": {"handle": OTHER_GPU}, "queue_id": {"handle": queue}, "kernel_id": 4}
        return {**at(start, end, correlation), "kind": 0, "operation": 0, "dispatch_info": info}

    agents = [
        {"id": {"handle": handle}, "type": kind, "product_name": name}
        for handle, kind, name in ((CPU, 1, "EPYC"), (GPU, 2, "MI250"), (OTHER_GPU, 2, "MI300X"))
    ]
    kinds = [
        {"kind": "KERNEL_DISPATCH", "operations": ["NONE"]},
        {"kind": "MEMORY_COPY", "operations": ["MEMORY_COPY_NONE", "MEMORY_COPY_HOST_TO_DEVICE"]},
        {"kind": "HIP_RUNTIME_API", "operations": ["hipLaunchKernel", "hipMemcpyAsync"]},
    ]
    call = {"kind": 2, "thread_id": pid + 1}
    ends = {"src_agent_id": {"handle": CPU}, "dst_agent_id": {"handle": OTHER_GPU}}
    return {
        "metadata": {"pid": pid, "command": ["python", "train.py"]},
        "agents": agents,
        "kernel_symbols": [{"kernel_id": 4, "formatted_kernel_name": "k(float*).kd"}],
        "strings": {"buffer_records": kinds},
        "buffer_records": {
            "hip_api": [
                {**at(0, 5, 1), **call, "operation": 0},
                {**at(6, 9, 2), **call, "operation": 0},
                {**at(10, 12, 3), **call, "operation": 1},
            ],
            "kernel_dispatch": [kernel(7, 20, 1, 2**64 - 1), kernel(9, 30, 2, 77)],
            "memory_copy": [{**at(13, 23, 3), "kind": 1, "operation": 1, **ends, "bytes": 40}],
        },
    }


def _write(path: Path, *pids: int) -> Path:
    path.write_text(json.dumps({"rocprofiler-sdk-tool": [_process(pid) for pid in pids]}))
    return path


def test_calls_kernels_and_copies(tmp_path: Path) -> None:
    trace = read_trace(_write(tmp_path / "1_results.json", 9), Integrity("results"))
    columns = ("category", "name", "pid", "tid", "start_ns", "end_ns", "correlation", "bytes", "bandwidth")
    copies = str(1 << 20)
    assert [tuple(row.values()) for row in trace.events.select(list(columns)).to_pylist()] == [
        ("cuda_runtime", "hipLaunchKernel", "9", "10", 0, 5, 1, None, None),
        ("cuda_runtime", "hipLaunchKernel", "9", "10", 6, 9, 2, None, None),
        ("kernel", "k(float*)", "1", "1", 7, 20, 1, None, None),
        ("kernel", "k(float*)", "1", "0", 9, 30, 2, None, None),
        ("cuda_runtime", "hipMemcpyAsync", "9", "10", 10, 12, 3, None, None),
        ("gpu_memcpy", "Memcpy HtoD", "1", copies, 13, 23, 3, 40, 4 * 10**9),
    ]
    assert trace.devices == ["MI250", "MI300X"]


def test_each_process_is_a_rank(tmp_path: Path) -> None:
    parts = read_parts_unchecked(_write(tmp_path / "results.json", 9, 40), Integrity("results"))
    assert [(trace.part, trace.rank) for trace, _ in parts] == [("9", 0), ("40", 1)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"rocprofiler-sdk-tool": []}', "holds no process"),
        ('{"rocprofiler-sdk-tool": [{"metadata": {}}]}', "no event with a duration"),
        ('{"rocprofiler-sdk-tool": [{"agents": "none"}]}', "no whole JSON of rocprofv3"),
        ('{"rocprofiler-sdk-tool": [{"agents": [', "no whole JSON of rocprofv3"),
    ],
)
def test_what_is_damaged_ends_in_one_line(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "results.json").write_text(text)
    with pytest.raises(InputError, match=message) as caught:
        read_trace(tmp_path / "results.json", Integrity("results"))
    assert "\n" not in str(caught.value)
