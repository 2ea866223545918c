"""Bytes of a trace file: what it is by its first bytes, unpacked."""

import hashlib
from pathlib import Path
from typing import Any

from isal import isal_zlib

from tracegraph.ingest.integrity.findings import Integrity
from tracegraph.ingest.limits import DEFAULT_LIMITS, Limits
from tracegraph.ingest.readers.file_bytes import read_bytes, too_large
from tracegraph.store.errors import InputError

_PIECE = 4096
_GZIP = b"\x1f\x8b"
_GZIP_WBITS = 31
_GZIP_ERROR: Any = isal_zlib.error  # its stub calls it an instance
_TAR, _TAR_AT = b"ustar", 257
_BOM = b"\xef\xbb\xbf"

__all__ = ["read_bytes", "sha256_of", "unpack"]

_RECORD = "record one with torch.profiler and export_chrome_trace"
_UNPACK = "unpack it first and pass the trace in it"
_FOREIGN = (
    (b"SQLite format 3\0", "an SQLite database (Nsight Systems export?), not a Kineto trace", _RECORD),
    (b"PK\x03\x04", "a zip archive", _UNPACK),
    (b"\x28\xb5\x2f\xfd", "compressed with zstd", "unpack it with `zstd -d` and pass the result"),
    (b"\xfd7zXZ\0", "compressed with xz", "unpack it with `xz -d` and pass the result"),
    (b"BZh", "compressed with bzip2", "unpack it with `bunzip2` and pass the result"),
    (b"\x80\x02", "a Python pickle (memory snapshot?), not a trace", _RECORD),
    (b"\x80\x03", "a Python pickle (memory snapshot?), not a trace", _RECORD),
    (b"\x80\x04", "a Python pickle (memory snapshot?), not a trace", _RECORD),
    (b"\x80\x05", "a Python pickle (memory snapshot?), not a trace", _RECORD),
    (_GZIP, "gzip within gzip", "unpack it once with `gunzip` and pass the result"),
    (b"\x04\x22\x4d\x18", "compressed with lz4", "unpack it with `lz4 -d` and pass the result"),
    (
        b"version https://git-lfs",
        "a Git LFS pointer, not the file it stands for",
        "fetch the file with `git lfs pull`",
    ),
    (b"<!DOCTYPE", "a web page, not a trace", "download the file itself"),
    (b"<html", "a web page, not a trace", "download the file itself"),
    (b"\xff\xfe", "text in UTF-16, not in UTF-8", "convert it with `iconv -t UTF-8`"),
    (b"\xfe\xff", "text in UTF-16, not in UTF-8", "convert it with `iconv -t UTF-8`"),
)


def sha256_of(data: bytes) -> str:
    """SHA-256 of a file's bytes, in hexadecimal."""
    return hashlib.sha256(data).hexdigest()


def unpack(
    path: Path, data: bytes, integrity: Integrity, limits: Limits = DEFAULT_LIMITS
) -> bytes | bytearray:
    """Text of a trace: `data` without gzip and byte order mark.

    A stream that is cut or damaged gives what comes before the damage, with a finding. InputError names
    a format that is known not to be a trace, or says that the text is larger than `limits.unpacked`.
    """
    text: bytes | bytearray = data
    if data.startswith(_GZIP):
        text, problem = _gunzip(path, data, limits)
        integrity.add(
            "gzip_damaged",
            "error",
            int(bool(problem)),
            f"{problem}; what comes before is read, what is lost after it is unknown",
        )
        if not text:
            raise InputError(f"{path}: {problem or 'the gzip stream is empty'}", "copy the file again")
    if text.startswith(_BOM):
        text = text[len(_BOM) :]
        integrity.add("byte_order_mark", "info", 1, "the text starts with a byte order mark")
    for magic, what, hint in _FOREIGN:
        if text.startswith(magic):
            raise InputError(f"{path} is {what}", hint)
    if text[_TAR_AT : _TAR_AT + len(_TAR)] == _TAR:
        raise InputError(f"{path} is a tar archive", _UNPACK)
    return text


def _gunzip(path: Path, data: bytes, limits: Limits) -> tuple[bytearray, str]:
    """Content of all gzip members, and what is wrong with the stream (empty if nothing)."""
    content = bytearray()
    stream = isal_zlib.decompressobj(wbits=_GZIP_WBITS)
    for start in range(0, len(data), _PIECE):
        piece = data[start : start + _PIECE]
        while piece:
            try:
                content += stream.decompress(piece)
            except _GZIP_ERROR as error:
                return (
                    content,
                    f"gzip stream damaged at or before byte {start + len(piece)} of {len(data)} ({error})",
                )
            if len(content) > limits.unpacked:
                raise too_large(path, limits)
            if not stream.eof:
                break
            piece = stream.unused_data.lstrip(b"\0")
            if piece:
                if not piece.startswith(_GZIP[: len(piece)]):
                    return content, f"bytes that are no gzip follow the stream near byte {start}"
                stream = isal_zlib.decompressobj(wbits=_GZIP_WBITS)
    return content, "" if stream.eof else f"gzip stream cut at byte {len(data)}"
