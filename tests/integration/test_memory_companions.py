"""Recordings of memory as companions: what Cypher modules answer from them, and with a trace."""

from pathlib import Path

import pytest
from graphs import check_table, stored
from stored_traces import take_for_own

from tracegraph.base.errors import InputError
from tracegraph.ingest.companions.memory.recording import read_recordings
from tracegraph.store.connection import Database
from tracegraph.store.connection_settings import ConnectionSettings
from tracegraph.store.workspace import Workspace
from tracegraph.workbench import Workbench
from tracegraph.workbench.pictures.drawing import draw

TIMELINE = Path(__file__).parents[2] / "examples" / "memory" / "memory_timeline.raw.json.gz"
RUN = "tiny-memory"
GRAPH = """
CREATE
  (run:Run {name: $run, state: 'ready', ranks: 1, events: 0, window_start_ns: 0, window_end_ns: 0,
    schema_version: null}),
  (:Trace {run: $run, rank: 0})-[:OF_RUN]->(run),
  (:MemoryClass {run: $run, recording: 's', device: 0, class: 'gradient', at_ns: 7, bytes: 30, share: 0.3,
    blocks: 2, evidence: 'inferred', told_by: 'rule', confidence: 0.9}),
  (:MemoryClass {run: $run, recording: 's', device: 0, class: 'parameter', at_ns: 7, bytes: 70, share: 0.7,
    blocks: 1, evidence: 'inferred', told_by: 'rule', confidence: 0.8}),
  (:MemoryLevel {run: $run, recording: 's', device: 0, class: 'parameter', at_ns: 7, bytes: 70}),
  (:MemoryLevel {run: $run, recording: 's', device: 0, class: 'parameter', at_ns: 3, bytes: 70}),
  (:MemorySource {run: $run, recording: 's', device: 0, class: 'gradient', function: 'MmBackward0', bytes: 30,
    share: 0.3, blocks: 2}),
  (:MemorySource {run: $run, recording: 's', device: 0, class: 'parameter', file: 'a.py', line: 3,
    function: 'f', module: 't.py:1', bytes: 70, share: 0.7, blocks: 1}),
  (:MemoryPool {run: $run, recording: 's', device: 0, pool: 'small', segments: 1, reserved_bytes: 9,
    allocated_bytes: 5, pending_bytes: 1, requested_bytes: 4,
    rounding_bytes: 2, free_segment_bytes: 0, split_free_bytes: 3, largest_free_bytes: 2, unused_share: 0.4,
    fragmentation: 0.3, expandable: false}),
  (:MemoryPool {run: $run, recording: 's', device: 0, pool: 'all', segments: 2, reserved_bytes: 19,
    allocated_bytes: 5, pending_bytes: 1, requested_bytes: 4,
    rounding_bytes: 2, free_segment_bytes: 0, split_free_bytes: 3, largest_free_bytes: 2, unused_share: 0.4,
    fragmentation: 0.3, expandable: false}),
  (:MemorySegmentPart {run: $run, recording: 's', device: 0, segment: 0, segment_bytes: 9, pool: 'small',
    begin_bytes: 5, bytes: 4, state: 'free', blocks: 1}),
  (:MemorySegmentPart {run: $run, recording: 's', device: 0, segment: 0, segment_bytes: 9, pool: 'small',
    begin_bytes: 0, bytes: 5, state: 'used', class: 'gradient', blocks: 2}),
  (:Step {run: $run, rank: 0, number: 2, start_ns: 0, end_ns: 10}),
  (:Step {run: $run, rank: 0, number: 3, start_ns: 10, end_ns: 20}),
  (:Phase {run: $run, rank: 0, name: 'backward', start_ns: 5, end_ns: 15}),
  (:MemoryAlignment {run: $run, recording: 's', device: 0, state: 'aligned', rank: 0, offset_ns: 5,
    matched: 9, compared: 10, peak_at_ns: 12}),
  (:MemoryAlignment {run: $run, recording: 't', state: 'different'}),
  (:MemoryFailure {run: $run, recording: 's', device: 0, at_ns: 9, bytes: 50, device_free_bytes: 4,
    used_bytes: 100, cached_bytes: 5, largest_class: 'parameter', largest_class_bytes: 70, file: 'a.py',
    line: 3})
"""
CASES = {
    "memory_classes": """
        class bytes share blocks evidence confidence told_by at_ns device recording
        parameter 70 0.7 1 inferred 0.8 rule 7 0 s
        gradient 30 0.3 2 inferred 0.9 rule 7 0 s""",
    "memory_levels": """
        at_ns class bytes device recording
        3 parameter 70 0 s
        7 parameter 70 0 s""",
    "memory_sources": """
        class file line function bytes share blocks module
        parameter a.py 3 f 70 0.7 1 t.py:1
        gradient - - MmBackward0 30 0.3 2 -""",
    "memory_pools": """
        pool segments reserved_bytes device recording
        all 2 19 0 s
        small 1 9 0 s""",
    "memory_segments": """
        segment segment_bytes pool begin_bytes bytes state class blocks device recording
        0 9 small 0 5 used gradient 2 0 s
        0 9 small 5 4 free - 1 0 s""",
    "memory_alignment": """
        state step phase peak_at_ns rank offset_ns matched compared device recording
        aligned 3 backward 12 0 5 9 10 0 s
        different - - - - - - - - t""",
    "memory_failures": """
        bytes device_free_bytes used_bytes cached_bytes largest_class largest_class_bytes file line at_ns
        50 4 100 5 parameter 70 a.py 3 9""",
}


def test_tables(database: Database) -> None:
    with stored(database, RUN, GRAPH):
        for case, table in CASES.items():
            check_table(database, RUN, case, table)


def test_a_timeline_alone_answers_as_the_file_does(database: Database, workspace: Workspace) -> None:
    take_for_own(database, workspace)
    bench = Workbench(workspace, ConnectionSettings())
    run = bench.ingest_companions([TIMELINE], "memory-alone")
    try:
        (recording,) = read_recordings(TIMELINE)
        asked, read = run.memory_classes(), recording.classes()
        assert asked[["class", "bytes"]].to_numpy().tolist() == read[["class", "bytes"]].to_numpy().tolist()
        levels = run.memory_levels()
        assert levels.groupby("at_ns")["bytes"].sum().max() == recording.peak.bytes
        assert run.memory_sources().empty
        drawn = draw(run.picture("memory").source, "svg").decode()
        assert "Memory over time by class: memory_timeline.raw.json.gz" in drawn
        with pytest.raises(InputError, match="has no segments of the CUDA allocator"):
            run.picture("memory", "segments")
        with pytest.raises(InputError, match="has no recording 'other'"):
            run.picture("memory", recording="other")
        with pytest.raises(InputError, match="has no device 3"):
            run.picture("memory", device=3)
    finally:
        bench.delete(run.name)
