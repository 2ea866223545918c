"""The overlay: the trace as it was, plus one flow for each change of lane."""

import gzip
import hashlib
import io
import json
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
from report_data import ROWS, make_findings

from tracegraph.ingest.convert import convert_trace
from tracegraph.workbench.findings.findings import Source
from tracegraph.workbench.output.counters import counter_entries
from tracegraph.workbench.output.overlay import flow_entries, write_overlay

EVENTS = '{"ph": "X", "name": "a]}", "ts": 1.500, "dur": 1e3}, {"ph":"X","ts":12345678901234567.25}'
DOCUMENT = (
    f'{{"schemaVersion": 1, "traceEvents": [\n{EVENTS}\n], "other": {{"traceEvents": [1]}}, "z": null}}'
)


def overlay(path: Path, clock_offset_ns: int = 0) -> str:
    source = Source(str(path), hashlib.sha256(path.read_bytes()).hexdigest(), 0, clock_offset_ns)
    stream = io.BytesIO()
    write_overlay(make_findings(), source, stream)
    return gzip.decompress(stream.getvalue()).decode()


def plain(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def packed(path: Path, text: str) -> Path:
    path = path.with_suffix(".json.gz")
    path.write_bytes(gzip.compress(text.encode()))
    return path


def parquet(path: Path, text: str) -> Path:
    plain(path, text)
    convert_trace(path, path.with_suffix(".parquet"))
    return path.with_suffix(".parquet")


@pytest.mark.parametrize("form", [plain, packed, parquet])
@pytest.mark.parametrize(
    "text", [DOCUMENT, f"[{EVENTS}]\n", f" \ufeff[{EVENTS}]".strip()], ids=["object", "list", "mark"]
)
def test_entries_keep_their_text_and_place(
    tmp_path: Path, form: Callable[[Path, str], Path], text: str
) -> None:
    result = overlay(form(tmp_path / "trace.json", text))
    flows = b"".join(b",\n" + entry for entry in flow_entries(make_findings(), Source("", "", 0, 0))).decode()
    assert flows in result
    assert json.loads(result.replace(flows, "")) == json.loads(text.removeprefix("\ufeff"))
    assert "12345678901234567.25" in result
    document = json.loads(result)
    events = document["traceEvents"] if isinstance(document, dict) else document
    assert [event["ph"] for event in events] == ["X", "X", "s", "f", "s", "f"]


def test_ids_are_written_as_in_the_trace(tmp_path: Path) -> None:
    text = '[{"ph":"X","pid": 10,"tid" : "11","id":"10","ts":1,"dur":1},{"pid":"0","tid":"10","ts":1}]'
    flows = json.loads(overlay(plain(tmp_path / "trace.json", text)))[2:]
    assert [(flow["pid"], flow["tid"]) for flow in flows[:2]] == [(10, "11"), ("0", 7)]


def test_damaged_text_gives_what_can_be_read(tmp_path: Path) -> None:
    document = json.loads(overlay(plain(tmp_path / "trace.json", f'{{"traceEvents": [{EVENTS}, {{"ph": "X"')))
    assert [event["ph"] for event in document["traceEvents"]] == ["X", "X", "s", "f", "s", "f"]


def test_flows_join_the_events_on_both_sides_of_a_change_of_lane() -> None:
    entries = [json.loads(entry) for entry in flow_entries(make_findings(), Source("", "", 0, 100))]
    rows = [(e["ph"], e.get("bp"), e["pid"], e["tid"], e["ts"], e["args"]["dependency"]) for e in entries]
    assert rows == [
        ("s", None, 10, 11, 1.55, "INVOCATION"),
        ("f", "e", 0, 7, 1.6, "INVOCATION"),
        ("s", None, 0, 7, 2.45, "SYNCHRONIZATION"),
        ("f", "e", 10, 11, 2.65, "SYNCHRONIZATION"),
    ]
    assert [e["id"] for e in entries] == [1 << 40, 1 << 40, (1 << 40) + 1, (1 << 40) + 1]
    assert {e["cat"] for e in entries} == {"critical_path"}


def test_a_lane_with_gaps_only_is_entered_at_the_gap() -> None:
    rows = [
        (0, 1, "a", "cpu_op", 0, 1000, "root", "", ""),
        (1, None, "untraced CPU time", "gap", 1000, 3000, "CROSS_THREAD", "", ""),
        (0, 2, "b", "cpu_op", 3000, 4000, "CROSS_THREAD", "", ""),
    ]
    entries = [json.loads(entry) for entry in flow_entries(make_findings(rows), Source("", "", 0, 0))]
    assert [(e["ph"], e["ts"]) for e in entries] == [("s", 0.5), ("f", 1.0), ("s", 3.0), ("f", 3.0)]


def test_times_since_1970_stay_exact() -> None:
    start = 1_695_835_542_514_261_123
    rows = [
        (lane, index, name, cat, a - 1000 + start, b - 1000 + start, *rest)
        for lane, index, name, cat, a, b, *rest in ROWS
    ]
    entries = flow_entries(make_findings(rows), Source("", "", 0, 0))
    assert b'"ts":1695835542514261.673' in entries[0]


def test_process_and_thread_names_that_are_no_numbers_stay_text() -> None:
    lanes = make_findings().lanes.assign(pid=["Spans", "007", "-1"])
    entries = [json.loads(entry) for entry in flow_entries(make_findings(lanes=lanes), Source("", "", 0, 0))]
    assert [entries[0]["pid"], entries[1]["pid"]] == ["Spans", -1]


def test_gpu_rows_are_drawn_at_the_times_of_the_file(tmp_path: Path) -> None:
    entries = [{"ph": "X", "pid": 0, "tid": 7, "ts": 0, "dur": 0} for _ in range(10)]
    drift_ppb, since = 250_000, -4_000_000
    for index, ts, dur in ((2, 1_598, 400), (3, 1_998, 452)):
        entries[index] |= {"ts": ts / 1000, "dur": dur / 1000}

    def corrected(time: int) -> int:
        # Offset and drift as stored are rounded: they do not lead back to the nanosecond.
        return time + 101 + round((time - since) * (drift_ppb * 1e-9))

    rows = [
        (lane, index, name, cat, *((corrected(a), corrected(b)) if lane == 2 else (a, b)), *rest)
        for lane, index, name, cat, a, b, *rest in [
            (0, 1, "launch", "cuda_runtime", 0, 1_500, "root", "", ""),
            (2, 2, "a", "kernel", 1_598, 1_998, "INVOCATION", "launch", ""),
            (2, 3, "b", "kernel", 1_998, 2_450, "SEQUENTIAL", "stream order", ""),
            (0, 4, "sync", "cuda_runtime", 4_000, 5_000, "SYNCHRONIZATION", "", ""),
        ]
    ]
    path = plain(tmp_path / "trace.json", json.dumps(entries))
    source = Source(str(path), hashlib.sha256(path.read_bytes()).hexdigest(), 0, 100, drift_ppb, since)
    stream = io.BytesIO()
    write_overlay(make_findings(rows), source, stream)
    flows = json.loads(gzip.decompress(stream.getvalue()))[10:]
    assert [flow["ts"] for flow in flows] == [0.75, 1.598, 2.224, 4.0]


def series(start_ns: int) -> dict[str, pd.DataFrame]:
    queue = pd.DataFrame(
        [(0, 1, False), (50, 2, False), (50, 1, True), (90, 0, True)], columns=["at_ns", "length", "begins"]
    )
    copies = pd.DataFrame({"at_ns": [10, 30], "bytes_per_s": [2_500_000_000, 0]})
    queue, copies = (frame.assign(at_ns=frame["at_ns"] + start_ns, rank=0) for frame in (queue, copies))
    return {
        "queue_length_series": queue.assign(device=0, stream=7, lane=2),
        "memory_bandwidth_series": copies.assign(copy_kind="Memcpy HtoD"),
    }


def counters(source: Source, start_ns: int = 0) -> list[tuple[object, ...]]:
    findings = make_findings(answers=series(start_ns))
    places = {2: {"pid": 0, "tid": 7}}
    found = [json.loads(entry) for entry in counter_entries(findings, source, places)]
    assert {(one["ph"], one["pid"], one["tid"], len(one["args"])) for one in found} <= {("C", 0, 7, 1)}
    return [(one["name"], *one["args"].items(), one["ts"]) for one in found]


def test_counters_have_their_unit_in_the_name_and_one_value_a_moment() -> None:
    start = 1_695_835_542_514_261_123
    since = start // 1000
    assert counters(Source("", "", 0, 0), start) == [
        ("queue length, GPU 0 stream 7", ("calls", 1), since + 0.123),
        ("queue length, GPU 0 stream 7", ("calls", 1), since + 0.173),
        ("queue length, GPU 0 stream 7", ("calls", 0), since + 0.213),
        ("Memcpy HtoD bandwidth", ("GB/s", 2.5), since + 0.133),
        ("Memcpy HtoD bandwidth", ("GB/s", 0.0), since + 0.153),
    ]
    assert counters(Source("", "", 1, 0)) == []


def test_counters_stand_at_the_times_of_the_file() -> None:
    # GPU rows were moved by 60 ns: in the file work begins before its launch, which cannot be.
    assert [row[1:] for row in counters(Source("", "", 0, 60))] == [
        (("calls", 1), 0.0),
        (("calls", 0), 0.05),
        (("GB/s", 2.5), -0.05),
        (("GB/s", 0.0), -0.03),
    ]


def test_an_overlay_has_counters_after_its_flows(tmp_path: Path) -> None:
    path = plain(tmp_path / "trace.json", f"[{EVENTS}]")
    stream = io.BytesIO()
    source = Source(str(path), hashlib.sha256(path.read_bytes()).hexdigest(), 0, 0)
    write_overlay(make_findings(answers=series(0)), source, stream)
    events = json.loads(gzip.decompress(stream.getvalue()))
    assert [event["ph"] for event in events] == ["X", "X", "s", "f", "s", "f", *"CCCCC"]
