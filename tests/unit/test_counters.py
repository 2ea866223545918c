"""Hardware counters: read, attributed to what they measured, and kept apart where nothing tells."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import tiny

from tracegraph.ingest.integrity_findings import Integrity
from tracegraph.ingest.measures.hardware_counters import COUNTERS, find_meaning
from tracegraph.ingest.measures.measures import measure, stored_measures
from tracegraph.ingest.sources.reading import read_source
from tracegraph.ingest.sources.source import as_source
from tracegraph.ingest.tables.graph import build_graph
from tracegraph.ingest.trace import COUNTER_SCHEMA, TraceFile

FADD = "smsp__sass_thread_inst_executed_op_fadd_pred_on.sum"


def a_range(name: str, at: float, *, device: int = 0) -> tiny.Row:
    """A range of the profiler, whose times mean nothing."""
    row = tiny.event(name, at, at + 10, category="cuda_profiler_range", thread=0)
    return {**row, "pid": str(device), "tid": "0"}


def attributed(*rows: tiny.Row) -> tuple[dict[int, int], dict[str, int]]:
    """Which row each range, by its place, was paired with; and the codes of findings."""
    ranges = [k for k, row in enumerate(rows) if row["category"] == "cuda_profiler_range"]
    trace = with_counters(tiny.trace(*rows), ranges)
    integrity = Integrity("tiny.json")
    counters = measure(trace, tiny.model(*rows), integrity)[1].counters.to_pylist()
    codes = {finding.code: finding.count for finding in integrity}
    return {row["range"]: row["measured"] for row in counters}, codes


def with_counters(trace: TraceFile, ranges: list[int]) -> TraceFile:
    columns = {
        "source_index": pa.array(ranges, pa.int64()),
        "name": pa.array([FADD] * len(ranges), pa.string()).dictionary_encode(),
        "value": pa.array([float(k) for k in ranges]),
    }
    return replace(trace, counters=pa.table(columns, schema=COUNTER_SCHEMA))


def test_ranges_and_launches_of_one_device_are_paired_in_order() -> None:
    found, codes = attributed(
        tiny.event("aten::add", 0, 30),
        tiny.call("cudaLaunchKernel", 5, 10, 1),
        tiny.call("cudaMemcpyAsync", 11, 12, 2),
        tiny.call("cuLaunchKernelEx", 15, 20, 3),
        a_range("second", 50),
        a_range("first", 40),
    )
    assert found == {4: 3, 5: 1}
    assert codes == {"counters_by_order": 2}


def test_a_call_of_the_driver_in_one_of_the_runtime_is_one_launch() -> None:
    found, _ = attributed(
        tiny.call("cudaLaunchKernel", 5, 10, 1),
        {**tiny.call("cuLaunchKernel", 6, 9, 1), "category": "cuda_driver"},
        a_range("k", 40),
    )
    assert found == {2: 0}


def test_another_number_of_launches_attributes_nothing_and_says_so() -> None:
    found, codes = attributed(
        tiny.call("cudaLaunchKernel", 5, 10, 1),
        tiny.call("cudaLaunchKernel", 15, 20, 2),
        a_range("k", 40),
    )
    assert found == {2: -1}
    assert codes == {"counters_unattributed": 1}


def test_kernels_in_the_file_are_paired_by_name_where_their_number_agrees() -> None:
    found, codes = attributed(
        tiny.call("cudaLaunchKernel", 1, 2, 1),
        tiny.call("cudaLaunchKernel", 3, 4, 2),
        tiny.call("cudaLaunchKernel", 5, 6, 3),
        tiny.kernel("add", 10, 11, 1),
        tiny.kernel("mul", 11, 12, 2),
        tiny.kernel("add", 12, 13, 3),
        a_range("mul", 40),
        a_range("mul", 50),
        a_range("add", 60),
        a_range("add", 70),
    )
    assert found == {6: -1, 7: -1, 8: 3, 9: 5}
    assert codes == {"counters_by_order": 2, "counters_unattributed": 2}


def test_devices_are_told_apart_by_how_much_their_threads_launched() -> None:
    one = [tiny.call("cudaLaunchKernel", 10 * k, 10 * k + 5, k + 1, thread=1) for k in range(3)]
    other = [tiny.call("cudaLaunchKernel", 10 * k + 1, 10 * k + 6, k + 9, thread=2) for k in range(2)]
    ranges = [a_range("k", 100 + k, device=1) for k in range(2)] + [a_range("k", 100 + k) for k in range(3)]
    found, _ = attributed(*one, *other, *ranges)
    assert found == {5: 3, 6: 4, 7: 0, 8: 1, 9: 2}


def test_devices_with_as_many_launches_stay_unknown() -> None:
    calls = [tiny.call("cudaLaunchKernel", 5, 10, k, thread=k) for k in (1, 2)]
    found, codes = attributed(*calls, a_range("k", 40), a_range("k", 40, device=1))
    assert found == {2: -1, 3: -1}
    assert codes == {"counters_unattributed": 2}


def test_the_reader_keeps_the_numbers_of_ranges(tmp_path: Path) -> None:
    arguments = {FADD: 7, "other": 1.5, "device": 0, "text": "x", "list": [1], "yes": True}
    entry = {"ph": "X", "cat": "cuda_profiler_range", "name": "k", "pid": 0, "tid": 0, "ts": 1, "dur": 2}
    rows = [{**entry, "args": arguments}, {**entry, "args": None}, {**entry, "args": 3}, entry]
    path = tmp_path / "t.json"
    path.write_text(json.dumps({"traceEvents": rows}))
    trace = read_source(as_source(path), Integrity("t.json"))
    assert trace.counters.schema == COUNTER_SCHEMA
    assert trace.counters.to_pylist() == [
        {"source_index": 0, "name": FADD, "value": 7.0},
        {"source_index": 0, "name": "other", "value": 1.5},
    ]


def test_counters_are_nodes_and_can_be_read_back() -> None:
    rows = [
        tiny.event("aten::add", 0, 30),
        tiny.call("cudaLaunchKernel", 5, 10, 1),
        a_range("first", 40),
    ]
    trace = with_counters(tiny.trace(*rows), [2])
    tables = build_graph(trace, tiny.model(*rows), "run")  # type: ignore[arg-type]
    assert tables.nodes["Counter"].select(["source_index", "range", "name", "value"]).to_pylist() == [
        {"source_index": 2, "range": "first", "name": FADD, "value": 2.0}
    ]
    found = stored_measures(tables)
    assert found.counters.to_pylist() == [
        {"range": 2, "name": FADD, "value": 2.0, "measured": 1, "confidence": 0.9}
    ]
    assert np.array_equal(found.operator, [-1, -1, -1])


@pytest.mark.parametrize("meaning", COUNTERS, ids=lambda one: one.name)
def test_a_counter_is_flops_or_bytes(meaning: object) -> None:
    known = find_meaning(getattr(meaning, "name", ""))
    assert known is meaning
    assert known is not None
    assert (known.flops is None) != (known.bytes is None)
