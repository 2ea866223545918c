"""Content of a trace file without gzip around it; and gzip around what is written."""

from pathlib import Path
from typing import Any, BinaryIO

from isal import igzip, isal_zlib

from tracegraph.ingest.integrity.findings import Integrity
from tracegraph.ingest.limits import DEFAULT_LIMITS, Limits
from tracegraph.ingest.readers.file_bytes import too_large
from tracegraph.store.errors import InputError

PACKED = ".gz"
"""How the name of a packed file ends."""
_PIECE = 4096
_GZIP = b"\x1f\x8b"
_GZIP_WBITS = 31
_GZIP_ERROR: Any = isal_zlib.error  # its stub calls it an instance
_BOM = b"\xef\xbb\xbf"


def unpack(
    path: Path, data: bytes, integrity: Integrity, limits: Limits = DEFAULT_LIMITS
) -> bytes | bytearray:
    """Content of a trace file: `data` without gzip and byte order mark.

    A stream that is cut or damaged gives what comes before the damage, with a finding. InputError says that
    nothing comes before it, or that the content is larger than `limits.unpacked`.
    """
    content: bytes | bytearray = data
    if data.startswith(_GZIP):
        content, problem = _gunzip(path, data, limits)
        integrity.add(
            "gzip_damaged",
            "error",
            int(bool(problem)),
            f"{problem}; what comes before is read, what is lost after it is unknown",
        )
        if not content:
            raise InputError(f"{path}: {problem or 'the gzip stream is empty'}", "copy the file again")
    if content.startswith(_BOM):
        content = content[len(_BOM) :]
        integrity.add("byte_order_mark", "info", 1, "the text starts with a byte order mark")
    return content


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


def pack_into(file: BinaryIO, level: int) -> BinaryIO:
    """A file that writes into `file` as gzip; without name and time, so that equal content packs alike."""
    packing: Any = igzip.IGzipFile
    packed: BinaryIO = packing("", "wb", level, file, 0)
    return packed
