"""Damaged but usable input: what is kept, and how the loss is stated."""

import gzip
import json
import struct
import zlib
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest

from tracegraph.ingest.integrity_findings import Finding, Integrity
from tracegraph.ingest.readers import read_trace
from tracegraph.ingest.trace import TraceFile

Read = Callable[[str | bytes], tuple[TraceFile, dict[str, Finding]]]


def _event(title: object, ts: object = 1.5, **fields: object) -> str:
    event = {"ph": "X", "cat": "cpu_op", "name": title, "pid": 1, "tid": 1, "ts": ts, "dur": 1, **fields}
    return json.dumps({key: value for key, value in event.items() if value != "absent"})


UNNAMED = "thread_unnamed"  # no document here names its threads
A, B, C = _event("a"), _event("b"), _event("c")


@pytest.mark.parametrize(
    ("document", "kept", "codes"),
    [
        (f'{{"traceEvents": [{A}, {B}, {C[:30]}', {0: "a", 1: "b"}, {"event_broken", "json_cut"}),
        (f'{{"traceEvents": [{A}, {B},', {0: "a", 1: "b"}, {"json_cut"}),
        (f"[{A}, {B}", {0: "a", 1: "b"}, {"json_cut"}),
        (
            f'{{"traceEvents": [{A}, {{"ph": "X", "name": "{{"x": 1}}()"}}, {C}]}}',
            {0: "a", 2: "c"},
            {"event_broken"},
        ),
        (f"[{A}, 7, null, [1], {C}]", {0: "a", 4: "c"}, {"entry_not_object"}),
        (f"[{A}, {B}] trailing", {0: "a", 1: "b"}, {"text_after_end"}),
        (f'{{"traceEvents": [{A}, {B}]}}\n{{"traceEvents": []}}', {0: "a", 1: "b"}, {"text_after_end"}),
        (f'{{"traceEvents": [{A}, {B}], "x": }}', {0: "a", 1: "b"}, {"top_level_broken"}),
        (f"[{A} {B}]", {0: "a", 1: "b"}, {"json_repaired"}),
        (f"[{A}, {B},]", {0: "a", 1: "b"}, {"json_repaired"}),
        (f"{A}\n{B}\r\n{C}\n", {0: "a", 1: "b", 2: "c"}, {"json_repaired"}),
        (f"{A}\n{B}\n{C[:20]}", {0: "a", 1: "b"}, {"event_broken"}),
        (f"[{A}, // note\n{B}, /* {{ */ {C}]", {0: "a", 2: "b", 4: "c"}, {"event_broken"}),
        (f"[{A}, {B[:-1]},}}, {C}]", {0: "a", 2: "c"}, {"event_broken"}),
        (f'[{A}, {{"ph": "X", "na\n{B}, {C}]', {0: "a", 2: "b", 3: "c"}, {"event_broken"}),
        (f"[{A}}}, {B}]", {0: "a", 2: "b"}, {"event_broken"}),
        (f"[{A}, {B}][{C}]", {0: "a", 1: "b"}, {"events_after_end"}),
        (f'{{"traceEvents": [{A}]}}{{"traceEvents": [{B}]}}', {0: "a"}, {"events_after_end"}),
        (f'{{"traceEvents": [{A}], "traceEvents": [{B}]}}', {0: "b"}, {"list_repeated"}),
        (f'{{"traceEvents": [{A}]}}'.encode() + bytes(99), {0: "a"}, {"text_after_end"}),
        (f"[{A}, {B}, ".encode() + bytes(99), {0: "a", 1: "b"}, {"event_broken", "json_cut"}),
        (f"[{A},\r\n\t{B}\r\n]\r\n", {0: "a", 1: "b"}, set()),
        (" " * 200 + f"[{A}]", {0: "a"}, set()),
        (f'[{A}, {{"ph": "X", "name": "é'.encode()[:-1], {0: "a"}, {"event_broken", "json_cut"}),
        (f"[{A}, {_event('b', dur=float('nan'))}]", {0: "a"}, {"number_not_finite", "duration_missing"}),
        (f"[{A}, {_event('b', ts=float('-inf'))}]", {0: "a"}, {"number_not_finite", "start_missing"}),
        (f"[{A}, {_event('b', args={'x': float('nan')})}]", {0: "a", 1: "b"}, {"number_not_finite"}),
        (f"\ufeff[{A}]", {0: "a"}, {"byte_order_mark"}),
        (f"[{A}, {_event('b', ts='absent')}]", {0: "a"}, {"start_missing"}),
        (f"[{A}, {_event('b', ts=None)}]", {0: "a"}, {"start_missing"}),
        (f"[{A}, {_event('b', dur='absent')}]", {0: "a"}, {"duration_missing"}),
        (f"[{A}, {_event('b', dur=-1)}]", {0: "a"}, {"duration_negative"}),
        (f"[{A}, {_event('b', dur=1e13)}]", {0: "a"}, {"duration_absurd"}),
        (f"[{A}, {B}, {_event('c', ts=1.7e15)}]", {0: "a", 1: "b"}, {"start_absurd"}),
        (f"[{A}, {_event('b', tid='absent')}]", {0: "a"}, {"thread_missing"}),
        (f"[{A}, {_event('b', tid=None)}]", {0: "a"}, {"thread_missing"}),
        (f"[{A}, {_event('b', pid='absent')}]", {0: "a", 1: "b"}, {"process_missing", "several_processes"}),
        (f"[{A}, {_event(None)}]", {0: "a", 1: ""}, {"name_missing"}),
        (f"[{A}, {_event(5, ts='2.5')}]", {0: "a", 1: "5"}, {"event_repaired"}),
        (f"[{A}, {_event('b', args=[1])}]", {0: "a", 1: "b"}, {"args_unusable"}),
        (f"[{A}, {_event('b', args='text')}]", {0: "a", 1: "b"}, {"args_unusable"}),
        (f"[{A}, {_event('b', args=None)}]", {0: "a", 1: "b"}, set()),
        (
            f"[{A}, {_event('b', args={'Input Dims': 'odd', 'Sequence number': 2.5})}]",
            {0: "a", 1: "b"},
            set(),
        ),
        (
            f"[{A}, {_event('line')[:-1]}, " + '"x": "1\n2"}]',
            {0: "a", 1: "line"},
            {"event_repaired", "json_repaired"},
        ),
    ],
)
def test_what_is_kept_and_stated(
    read_document: Read, document: str, kept: dict[int, str], codes: set[str]
) -> None:
    trace, findings = read_document(document)
    indices, names = trace.events["source_index"].to_pylist(), trace.events["name"].to_pylist()
    assert dict(zip(indices, names, strict=True)) == kept
    assert set(findings) - {UNNAMED} == codes


def test_a_finding_names_the_first_place(read_document: Read) -> None:
    document = f'{{"traceEvents": [{A}, {{"ph": "X" "ts": 1}}, {{"ph": "X" "ts": 2}}, {C}]}}'
    _, findings = read_document(document)
    broken = findings["event_broken"]
    assert (broken.count, broken.level) == (2, "error")
    assert f"source index 1, byte {document.index(A) + len(A) + 2};" in broken.message


def test_text_that_is_no_utf8_is_replaced(read_document: Read) -> None:
    trace, findings = read_document(f"[{A}, {_event('caf#')}]".encode().replace(b"#", b"\xe9"))
    assert trace.events["name"].to_pylist() == ["a", "caf�"]
    assert "source index 1" in findings["event_repaired"].message


def test_a_lone_surrogate_escape_is_replaced(read_document: Read) -> None:
    trace, _ = read_document(f"[{A}, {_event(chr(0xD800))}]")
    assert trace.events["name"].to_pylist() == ["a", "?"]


def test_a_long_time_beside_a_broken_escape_is_read(read_document: Read) -> None:
    text = _event("a", ts=2.0**44).replace('"tid": 1', '"tid": "\\ud800"')
    trace, _ = read_document(f"[{text}]")
    assert trace.events["name"].to_pylist() == ["a"]


def test_nesting_without_end_costs_one_event(read_document: Read) -> None:
    deep = _event("deep")[:-1] + ', "args": ' + "[" * 100_000 + "]" * 100_000 + "}"
    trace, findings = read_document(f"[{A}, {deep}, {C}]")
    assert trace.events["source_index"].to_pylist() == [0, 2]
    assert findings["event_broken"].count == 1


def test_an_event_longer_than_the_window_is_whole(read_document: Read) -> None:
    long = _event("x" * 40_000)
    trace, findings = read_document(f"[{A}, {long}, {C}")
    assert trace.events["source_index"].to_pylist() == [0, 1, 2]
    assert set(findings) == {UNNAMED, "json_cut"}


def test_repeated_flow_ids_are_counted(read_document: Read) -> None:
    flow = '{"ph": "s", "cat": "ac2g", "id": 1, "pid": 1, "tid": 1, "ts": 1}'
    _, findings = read_document(f"[{A}, {flow}, {flow}]")
    assert findings["flow_id_repeated"].count == 1


def test_gpu_work_without_arguments_takes_its_place_from_pid_and_tid(read_document: Read) -> None:
    kernel = _event("k", cat="kernel", pid=2, tid="stream 7")
    by_stream = _event("k", cat="kernel", tid="absent", args={"device": 0, "stream": 3})
    trace, findings = read_document(f"[{kernel}, {by_stream}]")
    assert trace.events["device"].to_pylist() == [2, 0]
    assert trace.events["stream"].to_pylist() == [7, 3]
    assert findings["stream_from_tid"].count == 1


@pytest.mark.parametrize("noise", [b"", b"\xff" * 64], ids=["cut", "corrupt"])
def test_cut_and_corrupt_gzip_give_what_comes_before(tmp_path: Path, noise: bytes) -> None:
    events = ",\n".join(_event(f"e{k}", ts=k + 0.5) for k in range(20_000))
    packed = gzip.compress(f"[{events}]".encode())
    middle = len(packed) // 2
    path = tmp_path / "trace.json.gz"
    path.write_bytes(packed[:middle] + noise + packed[middle + 64 :] if noise else packed[:middle])
    integrity = Integrity(path.name)
    trace = read_trace(path, integrity)
    assert 5_000 < trace.events.num_rows < 20_000
    assert trace.events["source_index"].to_pylist()[:5_000] == list(range(5_000))
    assert {"gzip_damaged", "json_cut"} <= {finding.code for finding in integrity}


@pytest.mark.parametrize(
    ("header", "members"), [("plain", 1), ("named", 1), ("full", 1), ("plain", 3)], ids=str
)
def test_a_wrong_checksum_takes_nothing_from_content_that_is_whole(
    header: str, members: int, tmp_path: Path
) -> None:
    events = ",\n".join(_event(f"e{k}", ts=k + 0.5) for k in range(20_000))
    text = f"[{events}]".encode()
    cuts = [len(text) * k // members for k in range(members + 1)]
    packed = b"".join(_packed(text[begin:end], header, wrong_checksum=True) for begin, end in pairwise(cuts))
    path = tmp_path / "trace.json.gz"
    path.write_bytes(packed + bytes(10_000))
    integrity = Integrity(path.name)
    assert read_trace(path, integrity).events.num_rows == 20_000
    (finding,) = (one for one in integrity if one.code.startswith("gzip"))
    assert (finding.code, finding.level, finding.count, finding.share) == (
        "gzip_checksum",
        "warning",
        members,
        None,
    )


def test_a_wrong_length_is_damage(tmp_path: Path) -> None:
    packed = gzip.compress(b"[" + _event("a").encode() + b"]")
    path = tmp_path / "trace.json.gz"
    path.write_bytes(packed[:-4] + b"\1\0\0\0")
    integrity = Integrity(path.name)
    assert read_trace(path, integrity).events.num_rows == 1
    assert "gzip_damaged" in {one.code for one in integrity}


def _packed(text: bytes, header: str, *, wrong_checksum: bool) -> bytes:
    """A gzip member with none, one or all of what its header may hold."""
    flags, more = {
        "plain": (0, b""),
        "named": (8, b"trace.json\0"),
        "full": (2 | 4 | 8 | 16, b"\3\0abc" + b"trace.json\0" + b"a comment\0"),
    }[header]
    head = b"\x1f\x8b\x08" + bytes([flags]) + bytes(6) + more
    head += struct.pack("<H", zlib.crc32(head) & 0xFFFF) if flags & 2 else b""
    raw = zlib.compressobj(wbits=-15)
    crc = zlib.crc32(text) ^ wrong_checksum
    return head + raw.compress(text) + raw.flush() + struct.pack("<II", crc, len(text))
