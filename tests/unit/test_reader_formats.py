"""Formats: known by their content, named by their suffixes; a new one needs its object and a row."""

import gc
import gzip
import hashlib
import io
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pytest
from report_data import make_findings

from tracegraph.base.errors import InputError
from tracegraph.ingest.convert import convert_trace
from tracegraph.ingest.integrity_findings import Integrity
from tracegraph.ingest.limits import Limits
from tracegraph.ingest.pipeline import run_name
from tracegraph.ingest.readers import read_trace, registry
from tracegraph.ingest.readers.registry import FORMATS, format_of, trace_stem
from tracegraph.ingest.readers.source_file import SourceFile, open_source
from tracegraph.ingest.readers.trace_format import TraceFormat
from tracegraph.ingest.trace import EVENT_SCHEMA, FLOW_SCHEMA, TraceFile, table_in
from tracegraph.workbench.findings.findings import Source
from tracegraph.workbench.output.overlay import write_overlay

SPANS = b"thread,name,start_ns,end_ns\n1,a,0,70\n1,b,10,30\n2,c,5,65\n"


def _read_spans(source: SourceFile, _: Integrity) -> TraceFile:
    assert not gc.isenabled()  # no format pays for the collection of what it reads
    rows = pa.csv.read_csv(pa.BufferReader(source.take()))
    same = pa.array([""] * rows.num_rows)
    texts = {"name": rows["name"], "category": same, "pid": same, "tid": rows["thread"].cast(pa.string())}
    columns = {name: column.dictionary_encode() for name, column in texts.items()}
    columns |= {name: rows[name] for name in ("start_ns", "end_ns")}
    columns["source_index"] = pa.array(range(rows.num_rows), pa.int64())
    events = table_in(EVENT_SCHEMA, columns)
    return TraceFile(str(source.path), source.sha256, 0, events, FLOW_SCHEMA.empty_table())


CSV = TraceFormat("spans in CSV", (".csv",), lambda head: head.startswith(b"thread,"), _read_spans)


@pytest.fixture
def spans(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(registry, "FORMATS", (CSV, *FORMATS))
    path = tmp_path / "spans.csv"
    path.write_bytes(SPANS)
    return path


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_a_new_format_is_read_and_checked_as_any_other(spans: Path, pack: type) -> None:
    content = pack(SPANS)  # once: gzip writes the time into it
    spans.write_bytes(content)
    integrity = Integrity("spans.csv")
    trace = read_trace(spans, integrity)
    assert trace.events["name"].to_pylist() == ["a", "b", "c"]
    assert trace.sha256 == hashlib.sha256(content).hexdigest()
    codes = {finding.code: finding.count for finding in integrity}
    assert codes == {"category_missing": 3, "thread_unnamed": 2}
    assert gc.isenabled()


def test_columns_that_a_format_has_nothing_for_share_their_memory(spans: Path) -> None:
    events = read_trace(spans, Integrity("spans.csv")).events
    absent = [events[name].chunk(0) for name in ("bytes", "elements", "stream")]
    assert {column.null_count for column in absent} == {3}
    assert len({column.buffers()[0].address for column in absent}) == 1


def test_limits_hold_for_every_format(spans: Path) -> None:
    with pytest.raises(InputError, match="has 2 threads and streams, more than 1"):
        read_trace(spans, Integrity("", Limits(threads=1)))
    spans.write_bytes(SPANS[: SPANS.index(b"\n") + 1])
    with pytest.raises(InputError, match="no event with a duration"):
        read_trace(spans, Integrity(""))


def test_what_a_format_cannot_do_is_said(spans: Path) -> None:
    with pytest.raises(InputError, match="is spans in CSV, which cannot be converted"):
        convert_trace(spans, spans.with_suffix(".parquet"))
    source = Source(str(spans), hashlib.sha256(SPANS).hexdigest(), 0, 0)
    with pytest.raises(InputError, match="drawn into a file of the format spans in CSV"):
        write_overlay(make_findings(), source, io.BytesIO())


def test_suffixes_of_a_new_format_are_left_out_of_the_name_of_a_run(spans: Path) -> None:
    assert run_name([spans], "0123456789") == "spans-01234567"


@pytest.mark.parametrize(
    ("name", "stem"),
    [
        ("t.json", "t"),
        ("t.json.gz", "t"),
        ("t.pt.trace.json", "t"),
        ("t.pt.trace.json.gz", "t"),
        ("t.parquet", "t"),
        ("t.pt.trace.parquet", "t"),
        ("t.gz", "t"),
        ("a.b.txt", "a.b.txt"),
    ],
)
def test_a_name_without_the_suffix_of_its_format(name: str, stem: str) -> None:
    assert trace_stem(name) == stem


def test_each_format_knows_what_it_writes(tmp_path: Path) -> None:
    json_file, table = tmp_path / "t.json", tmp_path / "t.parquet"
    json_file.write_bytes(b' \n{"traceEvents": []}')
    convert_trace(json_file, table)
    for path in (json_file, table):
        source = open_source(path, Integrity(""))
        assert [form.suffixes[0] for form in FORMATS if form.is_of(source)] == [path.suffix]
        assert format_of(source).suffixes[0] == path.suffix
