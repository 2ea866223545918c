"""Traces that are no text, such as databases, as text that Perfetto opens: one entry for each event."""

import re
from collections.abc import Iterator

import msgspec
from msgspec import Raw

from tracegraph.base.errors import InputError
from tracegraph.ingest.integrity_findings import Integrity
from tracegraph.ingest.microseconds import literal_of_ns
from tracegraph.ingest.readers.chrome_text import ChromeText
from tracegraph.ingest.readers.source_file import SourceFile
from tracegraph.ingest.readers.trace_format import Parts
from tracegraph.ingest.trace import TraceFile

_ARGUMENTS = ("correlation", "device", "stream", "bytes", "shapes", "sequence_number")
"""Columns that are shown with an event that has them."""
_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,17}")
_PIECE = 1 << 16
"""Events that are written at a time."""


def draw_only_part(parts: Parts, source: SourceFile) -> ChromeText:
    """Draw the trace of a file that `parts` takes apart.

    Raises
    ------
    InputError
        For a file of several ranks: one picture would mix their devices, which have the same numbers.
    """
    integrity = Integrity(source.path.name)
    found = parts(source, integrity)
    if len(found) > 1:
        raise InputError(f"{source.path.name} holds {len(found)} ranks, and only a file of one is drawn")
    return draw_text(found[0].read(integrity))


def draw_text(trace: TraceFile) -> ChromeText:
    """Write a trace as a document in the Chrome trace event format.

    The entry of an event stands in the list at its `source_index`; names of threads and devices follow.
    """
    text = bytearray(b'{"traceEvents": ')
    begin = len(text)
    text += b"["
    for number, entry in enumerate(_entries(trace)):
        text += b",\n" + entry if number else entry
    text += b"]}"
    return ChromeText(memoryview(text), begin, len(text) - 2)


def _entries(trace: TraceFile) -> Iterator[bytes]:
    columns = ["name", "category", "pid", "tid", "start_ns", "end_ns", *_ARGUMENTS]
    for batch in trace.events.sort_by("source_index").select(columns).to_batches(max_chunksize=_PIECE):
        for row in batch.to_pylist():
            length = literal_of_ns(row["end_ns"] - row["start_ns"])
            entry = {"ph": "X", "cat": row["category"], "name": row["name"], **_place(row["pid"], row["tid"])}
            times = {"ts": Raw(literal_of_ns(row["start_ns"]).encode()), "dur": Raw(length.encode())}
            shown = {name: row[name] for name in _ARGUMENTS if row[name] is not None}
            yield msgspec.json.encode({**entry, **times, "args": shown})
    for pid, name in trace.process_names.items():
        yield _named("process_name", {"pid": _written(pid)}, name)
    for number, name in enumerate(trace.devices):
        yield _named("process_name", {"pid": number}, f"GPU {number} {name}".rstrip())
    for (pid, tid), name in trace.thread_names.items():
        yield _named("thread_name", _place(pid, tid), name)


def _named(kind: str, place: dict[str, int | str], name: str) -> bytes:
    return msgspec.json.encode({"ph": "M", "name": kind, **place, "args": {"name": name}})


def _place(pid: str, tid: str) -> dict[str, int | str]:
    return {"pid": _written(pid), "tid": _written(tid)}


def _written(text: str) -> int | str:
    """Return a number as a number: Perfetto numbers threads that are texts itself."""
    return int(text) if _INTEGER.fullmatch(text) else text
