"""Recordings of memory given with a trace: which files they are, what they add, and their section."""

import json
import pickle
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from memory_snapshots import training
from report_data import make_findings

from tracegraph.base.errors import InputError
from tracegraph.ingest.companions.companion import Told
from tracegraph.ingest.companions.registry import is_companion, open_companion, read_companions
from tracegraph.store.schema.companion_labels import LABELS
from tracegraph.workbench.findings.findings import Findings
from tracegraph.workbench.methods.section_plot import section_plot
from tracegraph.workbench.sections.blocks import Plot, Table, Words
from tracegraph.workbench.sections.section import all_sections

TIMELINE = Path(__file__).parents[2] / "examples" / "memory" / "memory_timeline.raw.json.gz"
QUERIES = {
    "memory_classes": "MemoryClass",
    "memory_levels": "MemoryLevel",
    "memory_sources": "MemorySource",
    "memory_pools": "MemoryPool",
    "memory_segments": "MemorySegmentPart",
    "memory_failures": "MemoryFailure",
}


@pytest.fixture(scope="module")
def snapshot(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("memory") / "snapshot.pickle"
    path.write_bytes(pickle.dumps(training().snapshot(slack=1024)))
    return path


@pytest.fixture(scope="module")
def told(snapshot: Path) -> dict[str, Told]:
    return dict(read_companions([open_companion(snapshot), open_companion(TIMELINE)]))


def test_kinds(told: dict[str, Told], tmp_path: Path) -> None:
    assert set(told) == {"memory snapshot", "memory timeline"}
    trace, pickled = tmp_path / "trace.json", tmp_path / "model.pt"
    trace.write_text(json.dumps([{"ph": "X", "name": "a", "ts": 1, "dur": 2, "pid": 1, "tid": 1}]))
    pickled.write_bytes(pickle.dumps({"weights": [1, 2]}))
    assert not is_companion(trace)
    assert not is_companion(pickled)


def test_rows_fit_the_schema_and_sum_to_the_peak(told: dict[str, Told], snapshot: Path) -> None:
    known = {one.label: {each.name for each in one.properties} for one in LABELS}
    for one in told.values():
        assert {
            name for label in one.rows for row in one.rows[label] for name in row.keys() - known[label]
        } == set()
        peak = one.words["bytes at the peak"]
        assert sum(int(str(row["bytes"])) for row in one.rows["MemoryClass"]) == peak
    sources = told["memory snapshot"].rows["MemorySource"]
    assert {row["recording"] for row in sources} == {str(snapshot)}
    assert told["memory timeline"].rows["MemorySource"] == []


def test_a_hostile_snapshot_ends_the_command(tmp_path: Path) -> None:
    path = tmp_path / "bad.pickle"
    path.write_bytes(b"\x80\x04\x8c\x08segments\x8c\x01x\x93.")
    with pytest.raises(InputError, match="it asks for segments"):
        read_companions([open_companion(path)])


def with_answers(told: dict[str, Told]) -> Findings:
    plain = make_findings()
    answers = {
        query: pd.DataFrame([row for one in told.values() for row in one.rows[label]])
        for query, label in QUERIES.items()
    }
    typed = {
        query: rows.astype({"device": "Int64"}) if "device" in rows else rows
        for query, rows in answers.items()
    }
    return replace(plain, answers={**plain.answers, **typed})


def test_the_section_shows_each_recording_and_is_left_out_without_one(told: dict[str, Told]) -> None:
    section = all_sections()["memory_recordings"]
    assert section.content(make_findings()) == []
    blocks = section.content(with_answers(told))
    words = [block.text for block in blocks if isinstance(block, Words)]
    assert words[0].startswith("snapshot.pickle, device 0: ")
    assert "memory_timeline.raw.json.gz: 9.66 MB are in use when most is." in words
    drawn = [block for block in blocks if isinstance(block, Plot)]
    assert [block.kind for block in drawn] == ["areas", "tree", "bars", "stretches", "areas"]
    assert any("expandable_segments" in block.note for block in blocks if isinstance(block, Table))


def test_the_peak_by_source_is_a_plot_of_a_run(told: dict[str, Told]) -> None:
    found = section_plot(with_answers(told), "memory_sources")
    assert "What fills the memory of the peak, by class, file and line" in [one.title for one in found.plots]
