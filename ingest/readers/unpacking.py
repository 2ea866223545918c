"""Content of a trace file without gzip around it; and gzip around what is written."""

from pathlib import Path
from typing import Any, BinaryIO

from isal import igzip, isal_zlib

from tracegraph.ingest.integrity.findings import Integrity
from tracegraph.ingest.limits import DEFAULT_LIMITS, Limits
from tracegraph.ingest.readers.file_bytes import Content, new_content, too_large
from tracegraph.store.errors import InputError
from tracegraph.store.memory import give_back_memory

PACKED = ".gz"
"""How the name of a packed file ends."""
_PIECE = 4096
_GZIP = b"\x1f\x8b"
_GZIP_WBITS = 31
_GZIP_ERROR: Any = isal_zlib.error  # its stub calls it an instance
_BOM = b"\xef\xbb\xbf"
_KEPT = 10**9
"""Bytes that are kept before the size of the content is known: a refusal costs no more memory."""
_DENSEST = 1032
"""Times its own size that gzip can unpack to."""
_DENSE = 100
"""The same of a file that is no trace: times and ids differ, so that traces pack to a thirtieth at best."""


def unpack(path: Path, data: Content, integrity: Integrity, limits: Limits = DEFAULT_LIMITS) -> Content:
    """Content of a trace file: `data` without gzip and byte order mark.

    A stream that is cut or damaged gives what comes before the damage, with a finding. InputError says that
    nothing comes before it, that the content is larger than `limits.unpacked`, or that it is over a GB of
    next to no information.
    """
    content = data
    if data[: len(_GZIP)] == _GZIP:
        content, problem = _gunzip(path, data, limits)
        integrity.add(
            "gzip_damaged",
            "error",
            int(bool(problem)),
            f"{problem}; what comes before is read, what is lost after it is unknown",
        )
        if not content:
            raise InputError(f"{path}: {problem or 'the gzip stream is empty'}", "copy the file again")
    if content[: len(_BOM)] == _BOM:
        content = content[len(_BOM) :]
        integrity.add("byte_order_mark", "info", 1, "the text starts with a byte order mark")
    return content


def _gunzip(path: Path, data: Content, limits: Limits) -> tuple[Content, str]:
    """Content of all gzip members, and what is wrong with the stream (empty if nothing).

    A large content is unpacked twice: what is too much is counted, not kept, and no buffer has to grow.
    """
    content = new_content(min(_KEPT, limits.unpacked, _DENSEST * len(data)))
    size, problem = _unpack_into(content, path, data, limits)
    if size > len(content):
        if size > _DENSE * len(data):
            raise InputError(
                f"{path} unpacks to {size:,} bytes, {size // len(data)} times its size, as no trace does",
                "unpack it with `gunzip` and pass the result if it is one",
            )
        del content
        give_back_memory()
        content = new_content(size)
        _unpack_into(content, path, data, limits)
    return content[:size], problem


def _unpack_into(content: Content, path: Path, data: Content, limits: Limits) -> tuple[int, str]:
    """Fill `content` with what fits; the size of all that could be unpacked, and what is wrong with it."""
    size = 0
    stream = isal_zlib.decompressobj(wbits=_GZIP_WBITS)
    for start in range(0, len(data), _PIECE):
        piece: Content | bytes = data[start : start + _PIECE]
        while piece:
            try:
                text = stream.decompress(piece)
            except _GZIP_ERROR as error:
                place = f"at or before byte {start + len(piece)} of {len(data)}"
                return size, f"gzip stream damaged {place} ({error})"
            room = max(0, len(content) - size)
            content[size : size + len(text)] = text[:room]
            size += len(text)
            if size > limits.unpacked:
                raise too_large(path, limits)
            if not stream.eof:
                break
            piece = stream.unused_data.lstrip(b"\0")
            if piece:
                if not piece.startswith(_GZIP[: len(piece)]):
                    return size, f"bytes that are no gzip follow the stream near byte {start}"
                stream = isal_zlib.decompressobj(wbits=_GZIP_WBITS)
    return size, "" if stream.eof else f"gzip stream cut at byte {len(data)}"


def pack_into(file: BinaryIO, level: int) -> BinaryIO:
    """A file that writes into `file` as gzip; without name and time, so that equal content packs alike."""
    packing: Any = igzip.IGzipFile
    packed: BinaryIO = packing("", "wb", level, file, 0)
    return packed
