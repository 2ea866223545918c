"""The same run written as Kineto and as a report of Nsight Systems gives the same events and graph."""

from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import nsight_reports
import tiny
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from model_checks import check_all
from random_traces import rows

from tracegraph.ingest.causal.events.event_arrays import read_events
from tracegraph.ingest.causal.graph.model import build_model
from tracegraph.ingest.findings import Integrity
from tracegraph.ingest.readers import read_trace
from tracegraph.ingest.trace import EVENT_SCHEMA, TraceFile

_WAITS = {
    "cudaStreamSynchronize": "Stream Sync",
    "cudaDeviceSynchronize": "Context Sync",
    "cudaEventSynchronize": "Event Sync",
    "cudaStreamWaitEvent": "Stream Wait Event",
}
_SAID_BY_BOTH = ("user_annotation", "cuda_runtime", "kernel", "cuda_sync")


@st.composite
def said_by_both(draw: st.DrawFn) -> list[tiny.Row]:
    """Random rows that a report can state, too, in the order that the reader gives them.

    A report knows what a call waited for by the call's name. It has neither operators nor frames.
    """
    chosen = [dict(row) for row in draw(rows()) if row["category"] in _SAID_BY_BOTH]
    calls = {row["correlation"]: row for row in chosen if row["category"] == "cuda_runtime"}
    kept = [_told(row, calls) if row["category"] == "cuda_sync" else row for row in chosen]
    for row in kept:
        if "stream" in row:
            row |= {"pid": str(row["device"]), "tid": str(row["stream"])}
    assume(any(row["category"] != "cuda_sync" and row["start_ns"] != row["end_ns"] for row in kept))
    return sorted(kept, key=_place)


def _told(row: tiny.Row, calls: dict[object, tiny.Row]) -> tiny.Row:
    """A row of a wait as a report can tell it: of the call's kind, for an event that was recorded before."""
    call, record = calls[row["correlation"]], calls.get(row.get("wait_on_record"))
    if call["name"] not in _WAITS:
        call["name"] = "cudaStreamWaitEvent"
    told = {**row, "name": _WAITS[str(call["name"])]}
    if told["name"] == "Context Sync":
        told["stream"] = -1
    if "Event" in told["name"] and record is not None and _begin(record) <= _begin(call):
        return told
    return {key: told[key] for key in told if not key.startswith("wait_on")}


def _begin(row: tiny.Row) -> int:
    return int(str(row["start_ns"]))


def _place(row: tiny.Row) -> tuple[object, ...]:
    start, end, pid, tid = (int(str(row[name])) for name in ("start_ns", "end_ns", "pid", "tid"))
    return start, -end, pid, tid, row["category"], row["name"], row.get("correlation") or 0


def _read(events: list[tiny.Row], version: str) -> TraceFile:
    with TemporaryDirectory() as folder:
        path = nsight_reports.of_rows(events, version).write(Path(folder) / "report.sqlite")
        return read_trace(path, Integrity("report"))


@given(said_by_both(), st.sampled_from(["3.16", "3.17", "3.25"]), st.randoms(use_true_random=False))
def test_a_report_gives_the_events_of_kineto(events: list[tiny.Row], version: str, random: Random) -> None:
    shuffled = list(events)
    random.shuffle(shuffled)
    found = _read(shuffled, version)
    expected = tiny.trace(*events)
    for column in EVENT_SCHEMA.names:
        assert found.events[column].to_pylist() == expected.events[column].to_pylist(), column


@settings(max_examples=8)
@given(said_by_both())
def test_the_path_tiles_and_a_replay_is_exact(events: list[tiny.Row]) -> None:
    check_all(build_model(*read_events(_read(events, "3.25")), Integrity("report")))
