"""Databases drawn for Perfetto: what a reader of its format finds in the text is what the database holds."""

import gzip
import hashlib
import io
import json
from pathlib import Path

import nsight_reports
import pytest
import tiny
from nsight_reports import KERNEL, PROCESS, Report, thread
from report_data import make_findings

from tracegraph.base.errors import InputError
from tracegraph.ingest.integrity_findings import Integrity
from tracegraph.ingest.readers import read_trace
from tracegraph.workbench.findings.findings import Source
from tracegraph.workbench.output.overlay import write_overlay

HOSTILE = 'a "step"\n\u202e]}, {"ph": "X"'
SHOWN = ("name", "category", "pid", "tid", "start_ns", "end_ns", "correlation", "stream", "device", "bytes")


def _report() -> Report:
    """A report since 1970 in ns, in which a thread copies and waits, within a range with an odd name."""
    since = 1_700_000_000_000_000
    report = nsight_reports.of_rows(
        [
            tiny.event(HOSTILE, since, since + 90.001, category="user_annotation", thread=5),
            tiny.call("cudaMemcpyAsync", since + 1.002, since + 2, 1, thread=5),
            tiny.kernel("k", since + 3, since + 4.321, 1, bytes=400, category="gpu_memcpy"),
            tiny.call("cudaDeviceSynchronize", since + 5, since + 80, 2, thread=5),
            tiny.sync("Context Sync", since + 5, since + 80, 2, stream=-1),
        ]
    )
    report.add("ThreadNames", nameId=report.text(HOSTILE), priority=1, globalTid=thread(5))
    report.add("PROCESSES", globalPid=PROCESS, pid=1, name="train")
    report.add("TARGET_INFO_GPU", id=0, cuDevice=0, name="H100", chipName="GH100", totalMemory=80)
    return report


def _overlay(path: Path) -> bytes:
    stream = io.BytesIO()
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    write_overlay(make_findings(), Source(str(path), digest, 0, 0), stream)
    return gzip.decompress(stream.getvalue())


@pytest.mark.parametrize("packed", [False, True])
def test_the_text_holds_the_events_of_the_report_at_their_places(tmp_path: Path, packed: bool) -> None:
    path = _report().write(tmp_path / "report.sqlite")
    if packed:
        path = path.with_suffix(".sqlite.gz")
        path.write_bytes(gzip.compress(path.with_suffix("").read_bytes()))
    text = _overlay(path)
    (tmp_path / "overlay.json").write_bytes(text)
    drawn, read = (read_trace(one, Integrity("")) for one in (tmp_path / "overlay.json", path))
    assert drawn.events["source_index"].to_pylist() == list(range(5))
    for column in SHOWN:
        assert drawn.events[column].to_pylist() == read.events[column].to_pylist(), column
    assert drawn.thread_names[("1", "5")] == read.thread_names[("1", "5")] == HOSTILE
    assert drawn.process_names == {"1": "train", "0": "GPU 0 H100"}
    assert {entry["ph"] for entry in json.loads(text)["traceEvents"]} == {"X", "M", "s", "f"}


def test_a_report_of_several_ranks_is_not_drawn(tmp_path: Path) -> None:
    report = _report()
    other = {"start": 1, "end": 2, "deviceId": 0, "contextId": 1, "streamId": 7, "correlationId": 1}
    report.add(KERNEL, **other, globalPid=PROCESS + (1 << 24), demangledName=report.text("k"))
    with pytest.raises(InputError, match="holds 2 ranks, and only a file of one is drawn"):
        _overlay(report.write(tmp_path / "report.sqlite"))
