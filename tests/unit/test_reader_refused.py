"""Input that is no trace ends in one line that names the file, what is wrong and what to do."""

import gzip
import os
from pathlib import Path

import pytest

from tracegraph.ingest.integrity import Integrity
from tracegraph.ingest.readers import read_trace, source
from tracegraph.store.errors import InputError


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
        (b"SQLite format 3\0....", "SQLite", "export_chrome_trace"),
        (b"PK\x03\x04....", "zip archive", "unpack"),
        (b"\x28\xb5\x2f\xfd....", "zstd", "unpack"),
        (b"\x80\x04\x95....", "pickle", "export_chrome_trace"),
        ("[]".encode("utf-16"), "UTF-16", "iconv"),
        (gzip.compress(b""), "gzip stream is empty", "copy"),
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


def test_paths_that_are_no_file(tmp_path: Path) -> None:
    for path, message in ((tmp_path, "is a directory"), (tmp_path / "absent", "does not exist")):
        with pytest.raises(InputError, match=message):
            read_trace(path, Integrity("input"))


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every file")
def test_a_file_without_read_permission(tmp_path: Path) -> None:
    path = tmp_path / "locked"
    path.touch(mode=0o000)
    with pytest.raises(InputError, match="cannot be read: Permission denied"):
        read_trace(path, Integrity("input"))


def test_a_gzip_bomb_stops_at_the_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "MAX_UNPACKED", 1_000_000)
    path = tmp_path / "bomb.json.gz"
    path.write_bytes(gzip.compress(b" " * 50_000_000))
    with pytest.raises(InputError, match="unpacks to more than 1000000 bytes"):
        read_trace(path, Integrity("bomb"))
