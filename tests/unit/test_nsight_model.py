"""The same run written as Kineto and as a report of Nsight Systems gives the same events and graph."""

from collections import Counter
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import nsight_reports
import pytest
import tiny
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from model_checks import check_all
from random_traces import rows

from tracegraph.ingest.causal.events.event_arrays import read_events
from tracegraph.ingest.causal.graph.model import build_model
from tracegraph.ingest.integrity_findings import Integrity
from tracegraph.ingest.readers import read_trace
from tracegraph.ingest.trace import EVENT_SCHEMA, TraceFile
from tracegraph.ingest.what_if.graph.graph import graph_of
from tracegraph.workbench.what_if.selection import select
from tracegraph.workbench.what_if.selector import parse_selector

_WAITS = {
    "cudaStreamSynchronize": "Stream Sync",
    "cudaDeviceSynchronize": "Context Sync",
    "cudaEventSynchronize": "Event Sync",
    "cudaStreamWaitEvent": "Stream Wait Event",
}
_SAID_BY_BOTH = ("user_annotation", "cpu_op", "cuda_runtime", "kernel", "gpu_memcpy", "cuda_sync")
_OPERATORS = {"op": "aten::relu", "fw": "aten::mm", "bw": "autograd::engine::evaluate_function: MmBackward0"}
"""Names by which emit_nvtx tells operators, and the backward pass, for those of the random rows."""


@st.composite
def said_by_both(draw: st.DrawFn) -> list[tiny.Row]:
    """Random rows that a report can state, too, in the order that the reader gives them.

    A report knows what a call waited for by the call's name. It has the operators of emit_nvtx, which says by
    their names which are of the backward pass, and no frames of Python.
    """
    drawn = [_as_copy(row) if draw(st.booleans()) else row for row in draw(rows())]
    chosen = [_named(row) for row in drawn if row["category"] in _SAID_BY_BOTH]
    calls = {row["correlation"]: row for row in chosen if row["category"] == "cuda_runtime"}
    kept = [_told(row, calls) if row["category"] == "cuda_sync" else row for row in chosen]
    for row in kept:
        if "stream" in row:
            row |= {"pid": str(row["device"]), "tid": str(row["stream"])}
    assume(any(row["category"] != "cuda_sync" and row["start_ns"] != row["end_ns"] for row in kept))
    return sorted(kept, key=_place)


def _as_copy(row: tiny.Row) -> tiny.Row:
    """A kernel as a copy of 400 bytes, with the rate that the reader finds; any other row as it is."""
    if row["category"] != "kernel":
        return row
    length = int(str(row["end_ns"])) - int(str(row["start_ns"]))
    more = {"bytes": 400, "bandwidth": 400 * 10**9 // length if length > 0 else None}
    return {**row, "category": "gpu_memcpy", "name": "Memcpy HtoD (Pageable -> Device)", **more}


def _named(row: tiny.Row) -> tiny.Row:
    """The row as a new one; of an operator with a name of PyTorch."""
    if row["category"] != "cpu_op":
        return dict(row)
    return {**row, "name": _OPERATORS[str(row["name"])], "forward_thread": int(row["name"] == "bw")}


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
    sequence, correlation = (int(str(row.get(name) or 0)) for name in ("sequence_number", "correlation"))
    return start, -end, pid, tid, row["category"], row["name"], correlation, sequence


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
def test_the_graph_is_kineto_s_its_path_tiles_and_a_replay_is_exact(events: list[tiny.Row]) -> None:
    found, expected = _read(events, "3.25"), tiny.trace(*events)
    graph, same = tiny.tables(found), tiny.tables(expected)
    for label in graph.nodes.keys() - {"Trace", "Run"}:  # those name the file
        assert graph.nodes[label].to_pylist() == same.nodes[label].to_pylist(), label
    for kind, found_edges in graph.relationships.items():
        assert found_edges.to_pylist() == same.relationships[kind].to_pylist(), kind
    check_all(build_model(*read_events(found), Integrity("report")))


def _trained(waits_recorded: bool) -> nsight_reports.Report:
    """Four steps with ranges of the user, without those of emit_nvtx: the engine's thread launches `bwd`."""
    report = nsight_reports.Report()
    queue = iter(range(1, 1000))

    def launch(name: str, at: int, thread: int) -> None:
        number = next(queue)
        called = {"globalTid": nsight_reports.thread(thread), "nameId": report.text("cudaLaunchKernel_v7000")}
        report.add(
            nsight_reports.CALL, start=at, end=at + 3_000, eventClass=0, **called, correlationId=number
        )
        place = {"deviceId": 0, "contextId": 1, "streamId": 7, "globalPid": nsight_reports.PROCESS}
        times = {"start": at + 5_000, "end": at + 9_000}
        kernel = report.text(name)
        report.add(nsight_reports.KERNEL, **times, **place, correlationId=number, demangledName=kernel)

    main = {"globalTid": nsight_reports.thread(5)}
    for begin in range(0, 4_000_000, 1_000_000):
        for name, since, until in (("forward", 10, 290), ("backward", 300, 700), ("optimizer", 705, 890)):
            times = {"start": begin + 1_000 * since, "end": begin + 1_000 * until}
            report.add("NVTX_EVENTS", **times, **main, eventType=59, text=name, domainId=0)
        if waits_recorded:
            times = {"start": begin + 305_000, "end": begin + 690_000}
            report.add("OSRT_API", **times, **main, nameId=report.text("pthread_cond_wait"))
        for name, since, until, thread in (("fwd", 20, 280, 5), ("bwd", 310, 680, 6), ("step", 710, 880, 5)):
            for at in range(since, until, 10):
                launch(name, begin + 1_000 * at, thread)
    return report


@pytest.mark.parametrize("waits_recorded", [True, False])
def test_a_backward_pass_of_another_thread_belongs_to_its_phase_and_to_the_range_around_it(
    tmp_path: Path, waits_recorded: bool
) -> None:
    trace = read_trace(_trained(waits_recorded).write(tmp_path / "report.sqlite"), Integrity("report"))
    model = build_model(*read_events(trace), Integrity("report"))
    graph = graph_of(model)

    def kernels(selector: str) -> dict[str, int]:
        found = select(graph, parse_selector(f"{selector},category=kernel")).segments
        return Counter(model.events.name[model.segments.event[found]])

    for key in ("phase", "under"):
        assert [kernels(f"{key}={name}") for name in ("forward", "backward", "optimizer")] == [
            {"fwd": 104},
            {"bwd": 148},
            {"step": 68},
        ], key
