"""Files that are known to be no trace: each is refused by its name, with what to do instead."""

from pathlib import Path

from tracegraph.store.errors import InputError

_RECORD = "record one with torch.profiler and export_chrome_trace"
_UNPACK = "unpack it first and pass the trace in it"
_PICKLE = "a Python pickle (memory snapshot?), not a trace"
_UTF16 = "text in UTF-16, not in UTF-8"
_UTF32 = "text in UTF-32, not in UTF-8"
_PAGE = "a web page, not a trace"
_TAR, _TAR_AT = b"ustar", 257

_FOREIGN = (
    (b"SQLite format 3\0", "an SQLite database (Nsight Systems export?), not a Kineto trace", _RECORD),
    (b"PK\x03\x04", "a zip archive", _UNPACK),
    (b"\x28\xb5\x2f\xfd", "compressed with zstd", "unpack it with `zstd -d` and pass the result"),
    (b"\xfd7zXZ\0", "compressed with xz", "unpack it with `xz -d` and pass the result"),
    (b"BZh", "compressed with bzip2", "unpack it with `bunzip2` and pass the result"),
    (b"\x80\x02", _PICKLE, _RECORD),
    (b"\x80\x03", _PICKLE, _RECORD),
    (b"\x80\x04", _PICKLE, _RECORD),
    (b"\x80\x05", _PICKLE, _RECORD),
    (b"\x1f\x8b", "gzip within gzip", "unpack it once with `gunzip` and pass the result"),
    (b"\x04\x22\x4d\x18", "compressed with lz4", "unpack it with `lz4 -d` and pass the result"),
    (
        b"version https://git-lfs",
        "a Git LFS pointer, not the file it stands for",
        "fetch the file with `git lfs pull`",
    ),
    (b"<!DOCTYPE", _PAGE, "download the file itself"),
    (b"<html", _PAGE, "download the file itself"),
    (b"\xff\xfe\0\0", _UTF32, "convert it with `iconv -f UTF-32 -t UTF-8`"),
    (b"\0\0\xfe\xff", _UTF32, "convert it with `iconv -f UTF-32 -t UTF-8`"),
    (b"\xff\xfe", _UTF16, "convert it with `iconv -f UTF-16 -t UTF-8`"),
    (b"\xfe\xff", _UTF16, "convert it with `iconv -f UTF-16 -t UTF-8`"),
)
"""How the content begins, what it is, and what to do."""


def refuse_foreign(path: Path, head: bytes) -> None:
    """InputError when a file whose content begins with `head` is known to be no trace."""
    for mark, what, hint in _FOREIGN:
        if head.startswith(mark):
            raise InputError(f"{path} is {what}", hint)
    if head[_TAR_AT : _TAR_AT + len(_TAR)] == _TAR:
        raise InputError(f"{path} is a tar archive", _UNPACK)
