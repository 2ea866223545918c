"""Memory rows: read, checked, placed in the call tree and the steps, of one rank and of several."""

import gzip
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rank_parts import read_part
from tiny_job import rows_of_rank, write_trace

from tracegraph.ingest.causal.events.events import NONE
from tracegraph.ingest.causal.graph.allocations import Allocations, find_allocations
from tracegraph.ingest.convert import convert_trace
from tracegraph.ingest.integrity_findings import Finding, Integrity
from tracegraph.ingest.ranks.agreement import agree
from tracegraph.ingest.ranks.job import build_job
from tracegraph.ingest.ranks.rank_part import build_checked
from tracegraph.ingest.readers import read_trace
from tracegraph.ingest.trace import MEMORY_SCHEMA, TraceFile
from tracegraph.vocabulary.memory import device_number, device_type

Read = Callable[[str | bytes], tuple[TraceFile, dict[str, Finding]]]
Document = dict[str, Any]
CUDA, CPU = {"Device Type": 1, "Device Id": 0}, {"Device Type": 0, "Device Id": -1}


def span(name: str, ts: float, dur: float, tid: int = 1, cat: str = "cpu_op") -> Document:
    return {"ph": "X", "cat": cat, "name": name, "pid": 1, "tid": tid, "ts": ts, "dur": dur}


def row(ts: object, size: object, total: object = None, tid: object = 1, **args: object) -> Document:
    totals = {} if total is None else {"Total Allocated": total, "Total Reserved": 900}
    given_args = {"Bytes": size, **CUDA, **totals, **args}
    return {"ph": "i", "s": "t", "name": "[memory]", "pid": 1, "tid": tid, "ts": ts, "args": given_args}


def read(read_document: Read, *entries: Document, **top: object) -> tuple[TraceFile, dict[str, Finding]]:
    return read_document(json.dumps({"traceEvents": [*entries], **top}))


def placed(trace: TraceFile) -> tuple[Allocations, list[str | None]]:
    """The memory rows in the model, and the name of the event of each."""
    model = build_checked(trace, Integrity("t"))
    found = find_allocations(trace, model)
    return found, [None if event < 0 else model.events.name[event] for event in found.event.tolist()]


def test_rows_are_read_in_order_of_time(read_document: Read) -> None:
    properties = [{"id": 1, "name": "b", "totalGlobalMem": 5}, {"name": "no id", "totalGlobalMem": 6}]
    trace, findings = read(
        read_document,
        row(3, -4, 3),
        span("op", 1, 9),
        row("2.5", "7", "7", **{"Total Reserved": None}),
        row(2.5, 8, 8, **CPU, Addr=1 << 46),
        {"ph": "i", "name": "other", "ts": 1},
        deviceProperties=properties,
    )
    assert trace.memory.schema == MEMORY_SCHEMA
    assert trace.memory.drop_columns(["pid", "tid"]).to_pydict() == {
        "source_index": [2, 3, 0],
        "at_ns": [2500, 2500, 3000],
        "device_type": [1, 0, 1],
        "device": [0, -1, 0],
        "bytes": [7, 8, -4],
        "allocated": [7, 8, 3],
        "reserved": [None, 900, 900],
        "address": [None, 1 << 46, None],
    }
    assert (trace.device_memory, trace.devices) == ([None, 5], ["b", "no id"])
    assert trace.other_phases == {"i": 1}
    assert not findings.keys() & {"memory_row_broken", "memory_total_jumps", "memory_without_totals"}


@pytest.mark.parametrize(
    "broken",
    [
        row(None, 4, 4),
        row(1e15, 4, 4),
        row(2, 4, 4, tid=None),
        row(2, None, 4),
        row(2, 4.5, 4),
        row(2, 1 << 48, 4),
        row(2, -(1 << 63), 4),
        row(2, 1 << 70, 4),
        row(2, 4, 4, **{"Device Id": None}),
        row(2, 4, 4, **{"Device Type": [1]}),
        row(2, 4),
        {**row(2, 4, 4), "args": None},
        {**row(2, 4, 4), "args": [1]},
    ],
)
def test_what_a_row_lacks_is_said(read_document: Read, broken: Document) -> None:
    trace, findings = read(read_document, span("op", 1, 9), row(1, 3, 3), broken)
    assert trace.memory["source_index"].to_pylist() == [1]
    assert findings["memory_row_broken"].count == 1
    assert "source index 2" in findings["memory_row_broken"].message


def test_sizes_that_add_up_to_more_than_any_number_are_left_out(read_document: Read) -> None:
    rows = [row(2, 1 << 47) for _ in range(1 << 15)]
    trace, findings = read(read_document, span("op", 1, 9), *rows)
    assert trace.memory.num_rows == 0
    assert findings["memory_row_broken"].count == len(rows)


def test_a_total_that_jumps_is_said(read_document: Read) -> None:
    rows = [row(2, 3, 10), row(3, 4, 5, **CPU), row(4, -3, 7), row(5, 2, 20), row(6, 1, 21)]
    trace, findings = read(read_document, span("op", 1, 9), *rows)
    assert trace.memory.num_rows == 5
    assert findings["memory_total_jumps"].count == 1
    assert "source index 4" in findings["memory_total_jumps"].message


def test_rows_without_totals_are_said(read_document: Read) -> None:
    trace, findings = read(read_document, span("op", 1, 9), row(2, 3), row(3, 4))
    assert findings["memory_without_totals"].count == 2
    found, _ = placed(trace)
    assert found.allocated.tolist() == [NONE, NONE]
    assert found.net.tolist() == [3, 7]


def test_a_row_is_of_the_innermost_operator_of_its_thread(read_document: Read) -> None:
    entries = (
        span("ProfilerStep#3", 0, 50, cat="user_annotation"),
        span("outer", 10, 20),
        span("inner", 12, 3),
        span("call", 13, 1, cat="cuda_runtime"),
        span("elsewhere", 5, 40, tid=2),
        *(row(ts, 1) for ts in (13.5, 15, 29.999, 30, 50, 60)),
        row(13.5, 1, tid=2),
        row(13.5, 1, tid=3),
        row(10, 1, **CPU),
    )
    found, names = placed(read(read_document, *entries)[0])
    by_time = dict(zip(zip(found.at.tolist(), found.source_index.tolist(), strict=True), names, strict=True))
    assert by_time == {
        (10_000, 13): "outer",
        (13_500, 5): "inner",
        (13_500, 11): "elsewhere",
        (13_500, 12): None,
        (15_000, 6): "outer",
        (29_999, 7): "outer",
        (30_000, 8): "ProfilerStep#3",
        (50_000, 9): None,
        (60_000, 10): None,
    }
    assert found.step.tolist() == [3] * 7 + [NONE] * 2
    assert found.lane.tolist() == [0, 0, 1, NONE, 0, 0, 0, 0, 0]
    assert found.device.tolist() == [NONE, *[0] * 8]
    assert found.net.tolist() == [1, 1, 2, 3, 4, 5, 6, 7, 8]


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(-50, 50), st.integers(0, 3)), max_size=30))
def test_the_sum_of_sizes_is_what_was_stated(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[int, int, int]]
) -> None:
    """A replay of the sizes gives the totals that an allocator would state."""
    totals: Counter[int] = Counter()
    at, rows = 1, []
    for device, size, later in steps:
        totals[device] += size
        at += later
        rows.append(row(at, size, totals[device], **{"Device Id": device}))
    path = tmp_path_factory.mktemp("memory") / "t.json"
    path.write_text(json.dumps([span("op", 0, 200), *rows]))
    integrity = Integrity("t")
    found, _ = placed(read_trace(path, integrity))
    assert found.net.tolist() == found.allocated.tolist()
    assert found.net.tolist() == [one["args"]["Total Allocated"] for one in rows]
    assert not {"memory_total_jumps", "memory_row_broken"} & {finding.code for finding in integrity}


def test_both_forms_of_a_trace_hold_the_same_rows(tmp_path: Path) -> None:
    text = json.dumps({"traceEvents": [span("op", 1, 9), row(2.25, 3, 3), row(3, "x")]})
    source, table, back = (tmp_path / name for name in ("in.json", "t.parquet", "out.json"))
    source.write_text(text)
    convert_trace(source, table)
    convert_trace(table, back)
    assert json.loads(back.read_text()) == json.loads(text)
    first, second = (read_trace(path, Integrity("")) for path in (source, table))
    assert first.memory.num_rows == 1
    assert first.memory.equals(second.memory)


@pytest.mark.parametrize("skew_us", [0, 1500])
def test_rows_of_several_ranks_are_on_the_first_ranks_clock(tmp_path: Path, skew_us: float) -> None:
    parts = []
    for rank, skew in ((0, 0.0), (1, skew_us)):
        path = write_trace(tmp_path / f"rank{rank}.json", rows_of_rank(100, skew_us=skew), None)
        document = json.loads(path.read_text())
        document["traceEvents"] += [row(skew + at, 8 * (rank + 1), 64) for at in (30, 150)]
        path.write_text(json.dumps(document))
        parts.append(read_part(path))
    job = build_job(agree(parts))
    found = job.allocations
    assert found.rank.tolist() == [0, 0, 1, 1]
    assert found.at.tolist() == [30_000, 150_000] * 2
    assert job.model.lanes.rank[found.lane].tolist() == [0, 0, 1, 1]
    assert [job.model.events.name[event] for event in found.event.tolist()] == ["work"] * 4
    assert job.model.events.rank[found.event].tolist() == [0, 0, 1, 1]
    assert found.net.tolist() == [8, 16, 16, 32]


@pytest.mark.parametrize("number", [0, 1, 20, 21, -3])
def test_kinds_of_devices_are_named_and_found(number: int) -> None:
    assert device_number(device_type(number)) == number


@pytest.mark.parametrize(
    ("name", "peak"),
    [
        ("h1_qwen_h100.json.gz", ("aten::mul", 2_088_508_416)),
        ("h1_qwen_mi300.json.gz", ("aten::empty", 2_219_047_936)),
        ("d1_kineto_resnet50_v100_nw4.pt.trace.json.gz", ("aten::empty", 2_791_505_408)),
    ],
)
def test_real_rows_agree_with_a_plain_decode(
    shared_trace: Callable[[str], Path], name: str, peak: tuple[str, int]
) -> None:
    """Every row's operator by brute force over the file, and the device's peak by hand."""
    path = shared_trace(name)
    found, names = placed(read_trace(path, Integrity("")))
    document = json.loads(gzip.decompress(path.read_bytes()))["traceEvents"]
    operators = [event for event in document if event.get("cat") in ("cpu_op", "Operator")]
    start, length = (np.array([event[key] for event in operators]) for key in ("ts", "dur"))
    thread = np.array([str(event["tid"]) for event in operators])
    checked = 0
    for index, own in zip(found.source_index.tolist(), names, strict=True):
        at, tid = document[index]["ts"], str(document[index]["tid"])
        open_then = np.flatnonzero((thread == tid) & (start <= at) & (at < start + length))
        if len(open_then):
            youngest = max(open_then.tolist(), key=lambda place: (start[place], -length[place], place))
            assert own == operators[youngest]["name"]
            checked += 1
    stated = [event for event in document if event["name"] == "[memory]"]
    assert len(found) == len(stated)
    assert checked > 1000
    on_gpu = found.device != NONE
    level = np.where(found.allocated == NONE, found.net, found.allocated)[on_gpu]
    highest = int(level.argmax())
    assert (np.array(names, dtype=object)[on_gpu][highest], int(level[highest])) == peak
    gpu_rows = [event["args"] for event in stated if event["args"]["Device Id"] == 0]
    sums = np.cumsum([args["Bytes"] for args in gpu_rows])
    offset = gpu_rows[0].get("Total Allocated", gpu_rows[0]["Bytes"]) - gpu_rows[0]["Bytes"]
    assert int(sums.max()) + offset == peak[1]
