"""Files that are known not to be traces: each is refused by its name, with what to do instead."""

import re
import shlex
from pathlib import Path, PurePath

from tracegraph.base.errors import InputError
from tracegraph.ingest.readers.foreign_json import EXPORT, FLIGHT_RECORDER
from tracegraph.ingest.readers.foreign_json import RECORD as _RECORD

_UNPACK = "unpack it first and pass the trace in it"
_PICKLE = "a Python pickle (memory snapshot?), not a trace"
_UTF16 = "text in UTF-16, not in UTF-8"
_UTF32 = "text in UTF-32, not in UTF-8"
_PAGE = "a web page, not a trace"
_PICKLED = re.compile(rb"\x80[\x02-\x05]")
_DUMPED = re.compile(rb"pg_config|pg_status|nccl_version|comm_lib_version|collective_seq_id")
_XPLANE = (
    "an XPlane protobuf of the TensorFlow or JAX profiler, which is not read",
    "pass the *.trace.json.gz that the profiler wrote beside it, or record with "
    "jax.profiler.trace(..., create_perfetto_trace=True)",
)
_PERFETTO = (
    "a Perfetto trace as protobuf (.pftrace), which is not read",
    f"{_RECORD}; Perfetto's `traceconv json` writes what it holds of Chrome's events as JSON",
)
_PLANES = re.compile(rb"/host:|/device:|#Chrome|Task Environment|derived_from_trace")
_NO_TEXT = re.compile(rb"[\x00-\x08\x0e-\x1f]")
# Protobuf: a record's tag, the bit of a length that goes on, and the tags of XPlane's first fields.
_RECORDS, _MORE, _ID, _NAME = b"\n", 0x80, b"\x08", b"\x12"
# The mark of a tar archive, and the byte at which it stands.
_TAR, _TAR_AT = b"ustar", 257

_REPORTS = (".nsys-rep", ".qdrep")
_EXPORTED_TEXT = re.compile(rb"\s*(?:Type: \d+\s|(?:Cuda|Nvtx|Osrt|Sched|TraceProcess)Event \{)")
"""How the text export of Nsight Systems begins (from its documentation)."""
_FOREIGN = (
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


def refuse_name(path: PurePath) -> None:
    """Raise InputError if the name of a file is that of a report of Nsight Systems that was not exported.

    Only NVIDIA's tools read its content.
    """
    if path.suffix in _REPORTS:
        command = f"{EXPORT} {shlex.quote(path.name)}"
        raise InputError(
            f"{path} is a report of Nsight Systems in its closed form",
            f"export it as a database with `{command}`, and pass that",
        )


def refuse_protobuf(path: Path, head: bytes) -> None:
    """Raise InputError if the content is a protobuf of Perfetto or XPlane, a list of records of a kind.

    Its first byte is a line break, so that it may look like JSON; but no text has its control characters.
    """
    if not head.startswith(_RECORDS) or not _NO_TEXT.search(head):
        return
    at = 1
    while at < len(head) and head[at] & _MORE:
        at += 1
    inner = head[at + 1 : at + 2]
    if not inner or inner[0] & 0x07 not in (0, 1, 2, 5) or inner[0] & ~0x07 == 0:
        return
    what, hint = _XPLANE if inner in (_ID, _NAME) and _PLANES.search(head) else _PERFETTO
    raise InputError(f"{path} is {what}", hint)


def refuse_foreign(path: Path, head: bytes) -> None:
    """Raise InputError if a file whose content begins with `head` is known not to be a trace."""
    if _PICKLED.match(head) and _DUMPED.search(head):
        raise InputError(f"{path} is {FLIGHT_RECORDER[0]}", FLIGHT_RECORDER[1])
    if _EXPORTED_TEXT.match(head):
        raise InputError(
            f"{path} is a report of Nsight Systems as text",
            f"export the report as a database instead: `{EXPORT} REPORT.nsys-rep`",
        )
    for mark, what, hint in _FOREIGN:
        if head.startswith(mark):
            raise InputError(f"{path} is {what}", hint)
    if head[_TAR_AT : _TAR_AT + len(_TAR)] == _TAR:
        raise InputError(f"{path} is a tar archive", _UNPACK)
