"""Input that is no trace ends in one line that names the file, what is wrong and what to do."""

import codecs
import gzip
import json
import os
import pickle
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest

from tracegraph.base.errors import InputError
from tracegraph.ingest.integrity_findings import Integrity
from tracegraph.ingest.limits import Limits
from tracegraph.ingest.readers import file_bytes, read_trace
from tracegraph.ingest.readers.file_bytes import read_bytes


@pytest.mark.parametrize(
    ("content", "message", "hint"),
    [
        (b"", "is empty (0 bytes)", "again"),
        (b'{"traceEvents": []}', "no event with a duration", "record"),
        (b'[{"ph": "X", "ts": 1}]', "no event with a duration; 1 events without a usable dur", "record"),
        (b'{"schema": "1.1", "nodes": []}', "execution trace", "export_chrome_trace"),
        (b'{"a": 1}', "traceEvents is missing", "export_chrome_trace"),
        (b'{"traceEvents": {"a": 1}}', "Expected `array`, got `object`", "export_chrome_trace"),
        (b"5", "Expected `object`, got `int`", "export_chrome_trace"),
        (b"hello \x1b[31m", r"starts with 'hello \x1b[31m'", "export_chrome_trace"),
        (b'{"a": [1, 2', "holds no list traceEvents", "export_chrome_trace"),
        (b"SQLite format 3\0....", "damaged SQLite", "export or copy it again"),
        (b"PK\x03\x04....", "zip archive", "unpack"),
        (b"\x28\xb5\x2f\xfd....", "zstd", "unpack"),
        (b"\x80\x04\x95....", "pickle", "export_chrome_trace"),
        ("[]".encode("utf-16"), "UTF-16", "iconv -f UTF-16"),
        ("[]".encode("utf-32"), "UTF-32", "iconv -f UTF-32"),
        (codecs.BOM_UTF32_BE + "[]".encode("utf-32-be"), "UTF-32", "iconv -f UTF-32"),
        (gzip.compress(gzip.compress(b"[]", mtime=0), mtime=0), "gzip within gzip", "gunzip"),
        (b"version https://git-lfs.github.com/spec/v1", "Git LFS pointer", "git lfs pull"),
        (b"<!DOCTYPE html><html>", "web page", "download"),
        (b"trace.json" + bytes(247) + b"ustar", "tar archive", "unpack"),
        (b"{'traceEvents': [{'ph': 'X'}]}", "holds no list traceEvents", "export_chrome_trace"),
        ("{}".encode("utf-16-le"), "holds no list traceEvents", "export_chrome_trace"),
        (b'{"traceEvents": null}', "Expected `array`, got `null`", "export_chrome_trace"),
        (b"5 5", "Expected `object`, got `int`", "export_chrome_trace"),
        (b"\0" * 99, "holds no list traceEvents", "export_chrome_trace"),
        (b" \n ", "holds no list traceEvents", "export_chrome_trace"),
        (gzip.compress(b"", mtime=0), "gzip stream is empty", "copy"),
        (b"\x1f\x8b\x08\x00", "gzip stream cut at byte 4", "copy"),
        (b"PAR1....PAR1", "damaged Parquet", "convert"),
        (b"[" * 100_000, "no event with a duration", "record"),
    ],
)
def test_content_that_is_no_trace(tmp_path: Path, content: bytes, message: str, hint: str) -> None:
    path = tmp_path / "input"
    for data in (content, gzip.compress(content)) if content and content[0] != 0x1F else (content,):
        if data.startswith(b"\x1f") and content.startswith(b"PAR1"):
            continue  # Parquet packs itself
        path.write_bytes(data)
        with pytest.raises(InputError) as caught:
            read_trace(path, Integrity("input"))
        assert str(path) in caught.value.message
        assert message in caught.value.message
        assert hint in caught.value.hint
        assert "\n" not in str(caught.value)


def _record(*fields: bytes) -> bytes:
    """One entry of a protobuf's list, under 128 bytes."""
    content = b"".join(fields)
    return b"\n" + bytes([len(content)]) + content


SUMS = {"name": "aten::mm", "cpu_time_total": 12.5, "count": 3}
DUMP = {"version": "2.5", "nccl_version": "2.21", "entries": [{"collective_seq_id": 1, "state": "started"}]}


@pytest.mark.parametrize(
    ("content", "message", "hint"),
    [
        (
            _record(b"\x08\x01", b"\x12\x09/host:CPU") + _record(b"\x12\x0d/device:GPU:0"),
            "XPlane",
            "trace.json.gz",
        ),
        (_record(b"\x12\x0d/device:TPU:0"), "XPlane", "create_perfetto_trace"),
        (_record(b"\x50\x01", b"\x32\x04\x0a\x02\x08\x06") + _record(b"\x40\x05"), "Perfetto", "traceconv"),
        (_record(b"\x18\x01", b"{" * 100, b"\x00"), "Perfetto", "export_chrome_trace"),
        (
            json.dumps({"$schema": "https://www.speedscope.app/file-format-schema.json", "profiles": []}),
            "speedscope",
            "export",
        ),
        (json.dumps({"profiles": [], "x": 1, "shared": {"frames": []}}), "speedscope", "export"),
        (json.dumps({"x": 1, "rocprofiler-sdk-json-tool": []}), "rocprofv3", "export_chrome_trace"),
        (json.dumps(DUMP), "flight recorder", "torchfrtrace"),
        (pickle.dumps(DUMP), "flight recorder", "torchfrtrace"),
        (pickle.dumps({"segments": [], "device_traces": []}), "memory snapshot", "export_chrome_trace"),
        (json.dumps([SUMS, SUMS]), "key_averages", "export_chrome_trace"),
        (
            json.dumps({"rows": [{"Name": "aten::mm", "Self CPU %": "3 %"}]}),
            "key_averages",
            "export_chrome_trace",
        ),
        (json.dumps({"nodes": [], "samples": [], "timeDeltas": []}), "V8", "export_chrome_trace"),
    ],
)
def test_what_another_tool_wrote_is_named(
    tmp_path: Path, content: str | bytes, message: str, hint: str
) -> None:
    path = tmp_path / "input"
    data = content.encode() if isinstance(content, str) else content
    for written in (data, gzip.compress(data)):
        path.write_bytes(written)
        with pytest.raises(InputError) as caught:
            read_trace(path, Integrity("input"))
        assert message in caught.value.message
        assert hint in caught.value.hint


@pytest.mark.parametrize(
    "around",
    [
        '{"distributedInfo": {"pg_config": [], "nccl_version": "2.21"}, "entries": [], "traceEvents": [%s]}',
        "\n[%s]",
        '\n{"$schema": "x", "profiles": [], "shared": {}, "traceEvents": [%s]}',
        '[{"name": "cpu_time_total", "ph": "C", "args": {"cpu_time_total": 3}}, %s]',
    ],
)
def test_a_trace_that_has_words_of_other_tools_is_read(tmp_path: Path, around: str) -> None:
    path = tmp_path / "input"
    path.write_text(around % '{"ph": "X", "name": "a", "pid": 1, "tid": 1, "ts": 1, "dur": 1}')
    assert read_trace(path, Integrity("input")).events.num_rows == 1


def test_paths_that_are_no_file(tmp_path: Path) -> None:
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    for path, message in (
        (tmp_path, "is a directory"),
        (tmp_path / "absent", "does not exist"),
        (tmp_path / "absent" / "below", "does not exist"),
        (tmp_path / ("x" * 300), "File name too long"),
        (loop, "Too many levels of symbolic links"),
        (Path("/dev/null"), "is a device"),
        (Path("/dev/zero"), "is a device"),
    ):
        with pytest.raises(InputError, match=message):
            read_trace(path, Integrity("input"))


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every file")
def test_a_file_without_read_permission(tmp_path: Path) -> None:
    path = tmp_path / "locked"
    path.touch(mode=0o000)
    with pytest.raises(InputError, match="cannot be read: Permission denied"):
        read_trace(path, Integrity("input"))


LIMITS = Limits(unpacked=1_000_000, events=3, threads=2)
EVENT = b'{"ph":"X","cat":"cpu_op","name":"a","pid":1,"tid":%d,"ts":1,"dur":1}'


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (gzip.compress(b" " * 50_000_000), "holds more than 1,000,000 bytes of text"),
        (gzip.compress(b" " * 600_000) * 2, "holds more than 1,000,000 bytes of text"),
        (b" " * 1_000_001, "holds more than 1,000,000 bytes of text"),
        (b"[" + b",".join([EVENT % 1] * 4) + b"]", "holds more than 3 entries"),
        (b"[" + b",".join(EVENT % k for k in range(3)) + b"]", "has 3 threads and streams"),
    ],
)
def test_what_is_beyond_a_limit(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "large"
    path.write_bytes(content)
    with pytest.raises(InputError, match=message) as caught:
        read_trace(path, Integrity("large", LIMITS))
    assert "--limit" in caught.value.hint


def test_a_long_text_is_cut_and_counted(tmp_path: Path) -> None:
    path = tmp_path / "long"
    path.write_bytes(b"[" + EVENT.replace(b'"a"', b'"%s"' % (b"a" * 100)) % 1 + b"]")
    integrity = Integrity("long", Limits(text=10))
    trace = read_trace(path, integrity)
    assert trace.events["name"].to_pylist() == ["a" * 10]
    assert "text_truncated" in {finding.code for finding in integrity}


def test_a_pipe_is_read_to_its_end(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    content = b"[" + b",".join([EVENT % 1] * 30_000) + b"]"
    writer = threading.Thread(target=pipe.write_bytes, args=[content])
    writer.start()
    assert read_trace(pipe, Integrity("pipe")).events.num_rows == 30_000
    writer.join()


def test_a_pipe_without_a_writer_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_bytes, "PATIENCE_S", 0.1)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match="is a pipe that nobody writes to"):
        read_trace(tmp_path / "pipe", Integrity("pipe"))


def test_a_pipe_without_a_name_and_writer_is_refused_at_once() -> None:
    read, write = os.pipe()
    os.close(write)
    try:
        with pytest.raises(InputError, match="nobody writes to"):
            read_trace(Path(f"/dev/fd/{read}"), Integrity("pipe"))
    finally:
        os.close(read)


def test_a_file_that_grows_meanwhile_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "growing"
    path.write_bytes(b"[" + EVENT % 1)
    read = os.readv

    def read_and_write(descriptor: int, buffers: Sequence[memoryview]) -> int:
        size = read(descriptor, buffers)
        if not size:
            path.write_bytes(b"another file")
        return size

    monkeypatch.setattr(os, "readv", read_and_write)
    integrity = Integrity("growing")
    read_bytes(path, integrity)
    assert [finding.code for finding in integrity] == ["changed_while_read"]
