"""Recordings of memory beside the memory rows of a trace: pairs of the same allocations, and others."""

import json
import pickle
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from memory_snapshots import training
from report_data import make_findings

from tracegraph.ingest.companion_runs import run_of_files
from tracegraph.ingest.companions.memory.alignment import Changes, align, changes_in
from tracegraph.ingest.companions.memory.recording import read_recordings
from tracegraph.ingest.pipeline import IngestOptions, ingest_run
from tracegraph.workbench.sections.blocks import Words
from tracegraph.workbench.sections.section import all_sections

EXAMPLES = Path(__file__).parents[2] / "examples" / "memory"
START_US = 5_000_000
"""When the trace begins, on its own clock."""
Entry = dict[str, Any]
Aligned = Callable[[Entry, Entry], Entry]


def pair(seed: int = 3, offset_us: int = 1_700_000_000_000_000) -> tuple[Entry, Entry]:
    """Write a trace and a snapshot of one training: each change at its time, by each file's clock."""
    snapshot = training(marked=False).snapshot()
    (entries,) = snapshot["device_traces"]
    at_us = START_US + np.cumsum(np.random.default_rng(seed).integers(3, 400, len(entries)))
    rows = []
    for entry, at in zip(entries, at_us.tolist(), strict=True):
        entry["time_us"] = at + offset_us
        if entry["action"] in ("alloc", "free_completed"):
            size = -(-entry["size"] // 512) * 512 * (1 if entry["action"] == "alloc" else -1)
            rows.append(memory_row(at + 0.6, size))  # the trace states nanoseconds
    step = span("ProfilerStep#3", START_US, float(at_us[-1]) + 5 - START_US)
    return {"traceEvents": [step, span("aten::mm", START_US + 1, 1, "cpu_op"), *rows]}, snapshot


def span(name: str, ts: float, dur: float, category: str = "user_annotation") -> Entry:
    return {"ph": "X", "cat": category, "name": name, "pid": 1, "tid": 1, "ts": ts, "dur": dur}


def memory_row(ts: float, size: int) -> Entry:
    told = {"Bytes": size, "Device Type": 1, "Device Id": 0, "Addr": 1}
    return {"ph": "i", "s": "t", "name": "[memory]", "pid": 1, "tid": 1, "ts": ts, "args": told}


def rows_of(trace: Entry) -> list[Entry]:
    return [one["args"] for one in trace["traceEvents"] if "args" in one]


@pytest.fixture
def aligned(tmp_path: Path) -> Aligned:
    """Ingest a trace with a snapshot, and return what the graph says of them together."""

    def ingest(trace: Entry, snapshot: Entry) -> Entry:
        files = tmp_path / "trace.json", tmp_path / "snapshot.pickle"
        files[0].write_text(json.dumps(trace))
        files[1].write_bytes(pickle.dumps(snapshot))
        options = IngestOptions(companions=[str(files[1])])
        (tmp_path / "kept").mkdir(exist_ok=True)
        graph, _ = ingest_run([files[0]], "pair", lambda *_: None, options, tmp_path / "kept")
        (row,) = graph.nodes["MemoryAlignment"].to_pylist()
        return dict(row)

    return ingest


@pytest.mark.parametrize("offset_us", [0, 7, -1_234_567, 1_700_000_000_000_000])
def test_a_snapshot_of_the_same_allocations_is_aligned(offset_us: int, aligned: Aligned) -> None:
    trace, snapshot = pair(offset_us=offset_us)
    found = aligned(trace, snapshot)
    assert (found["state"], found["rank"]) == ("aligned", 0)
    assert abs(found["offset_ns"] + 1_000 * offset_us - 600) <= 1_000
    assert found["matched"] == found["compared"] == len(rows_of(trace))
    length = trace["traceEvents"][0]["dur"]
    assert START_US * 1_000 < found["peak_at_ns"] < (START_US + length) * 1_000


def test_other_times_of_the_same_sizes_are_kept_apart(aligned: Aligned) -> None:
    (trace, _), (_, snapshot) = pair(3), pair(4)
    found = aligned(trace, snapshot)
    assert (found["state"], found["matched"], found["peak_at_ns"]) == ("different", None, None)


def test_other_sizes_at_the_same_times_are_kept_apart(aligned: Aligned) -> None:
    trace, snapshot = pair()
    for row in rows_of(trace):
        row["Bytes"] *= 64
    assert aligned(trace, snapshot)["state"] == "different"


def test_a_trace_without_rows_of_a_gpu_has_nothing_to_align_a_snapshot_with(aligned: Aligned) -> None:
    trace, snapshot = pair()
    for row in rows_of(trace):
        row |= {"Device Type": 0, "Device Id": -1}
    assert aligned(trace, snapshot)["state"] == "no memory rows"
    trace["traceEvents"] = [one for one in trace["traceEvents"] if "args" not in one]
    assert aligned(trace, snapshot)["state"] == "no memory rows"


def test_a_recording_alone_is_beside_nothing() -> None:
    graph, _, _ = run_of_files([str(EXAMPLES / "memory_timeline.raw.json.gz")], "alone")
    assert "MemoryAlignment" not in graph.nodes


def test_a_real_recording_is_aligned_with_itself_in_microseconds_and_not_with_another() -> None:
    names = ("memory_trace.json.gz", "memory_timeline.raw.json.gz")
    (trace,), (timeline,) = (read_recordings(EXAMPLES / name) for name in names)
    rows, other = changes_in(trace.running), changes_in(timeline.running)
    found = align(Changes(rows.at_ns // 1_000 * 1_000 - 10**12, rows.bytes), rows)
    assert found is not None
    assert abs(found.offset_ns - 10**12 - 500) <= 500
    assert found.matched > 0.99 * len(rows.at_ns)
    assert align(other, rows) is None
    nothing = Changes(rows.at_ns[:0], rows.bytes[:0])
    assert align(nothing, rows) is None
    assert align(rows, nothing) is None


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, "That is in step 3, in backward. 40 of 41 changes of memory agree"),
        ({"step": None, "phase": None}, "That is in no step or phase of the run. 40"),
        ({"peak_at_ns": None}, "That is before the recording begins, so in no step of it. 40"),
        ({"state": "different"}, "its allocations do not agree with the [memory] rows"),
        ({"state": "no memory rows"}, "the trace has no [memory] rows of such a device"),
    ],
)
def test_the_section_says_in_which_step_the_peak_lies(changes: Entry, said: str) -> None:
    row = {
        **{"recording": "s", "device": 0, "state": "aligned", "step": 3, "phase": "backward", "rank": 0},
        **{"peak_at_ns": 7, "offset_ns": 5, "matched": 40, "compared": 41, **changes},
    }
    classes = {
        **{"recording": "s", "device": 0, "class": "gradient", "bytes": 7, "share": 1.0, "blocks": 1},
        **{"evidence": "inferred", "told_by": "rule", "confidence": 1.0},
    }
    answers = {"memory_alignment": pd.DataFrame([row]), "memory_classes": pd.DataFrame([classes])}
    plain = make_findings()
    findings = replace(plain, answers={**plain.answers, **answers})
    blocks = all_sections()["memory_recordings"].content(findings)
    assert said in [one.text for one in blocks if isinstance(one, Words)][1]
