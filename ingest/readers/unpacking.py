"""Take gzip from the content of a trace file, and put it around what is written."""

import io
import shutil
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa
from isal import igzip, isal_zlib

from tracegraph.base.errors import InputError
from tracegraph.base.malloc_settings import give_back_memory
from tracegraph.ingest.integrity_findings import Integrity
from tracegraph.ingest.limits import Limits

Content = memoryview
"""Bytes that were read or unpacked; those of a file may be written to."""
# Packed bytes that are unpacked at a time.
_PIECE = 4096
# Packed bytes that are copied at a time.
_COPIED = 1 << 20
_GZIP = b"\x1f\x8b"
# The wbits of zlib: 16 + 15 for a gzip member, -15 for its deflate stream without header and checksum.
_GZIP_WBITS, _RAW_WBITS = 31, -15
_TRAILER = struct.Struct("<II")
_BAD_CHECKSUM = "Incorrect checksum"
# Bits of the flags in the header of a gzip member (RFC 1952).
_HAS_CHECKSUM, _HAS_EXTRA, _HAS_NAME, _HAS_COMMENT = 2, 4, 8, 16
_GZIP_ERROR: Any = isal_zlib.error  # its stub calls it an instance
_BOM = b"\xef\xbb\xbf"
_KEPT = 10**9
"""Bytes that are kept before the size of the content is known, so that a refusal costs no more memory."""
_DENSEST = 1032
"""How many times its own size gzip can unpack to."""
_DENSE = 100
"""A large file that unpacks to more than this many times its size is not a trace.

Times and ids differ, so that traces pack to a thirtieth at best.
"""


def new_content(size: int) -> Content:
    """Make room for `size` bytes, which takes memory only as far as it is filled.

    It comes from Arrow's pool, where columns use it again: mapping memory for each file took a tenth of the
    time of reading.
    """
    return memoryview(pa.allocate_buffer(size)).cast("B")


def unpack(path: Path, data: Content, integrity: Integrity) -> Content:
    """Return the content of a trace file: `data` without gzip and byte order mark.

    A stream that is cut or damaged gives what comes before the damage, with a finding; a stream that is whole
    but for its checksum gives everything, with another finding.

    Raises
    ------
    InputError
        If nothing comes before the damage, if the content is larger than the limits allow, or if it is over
        a GB with next to no information.
    """
    content = data
    if data[: len(_GZIP)] == _GZIP:
        content, problem, unchecked = _gunzip(path, data, integrity.limits)
        integrity.add(
            "gzip_damaged",
            int(bool(problem)),
            f"{problem}; what comes before is read, what is lost after it is unknown",
        )
        integrity.add(
            "gzip_checksum",
            unchecked,
            "the checksum of the gzip stream does not fit its content, which is there in its full length",
        )
        if not content:
            raise InputError(f"{path}: {problem or 'the gzip stream is empty'}", "copy the file again")
    if content[: len(_BOM)] == _BOM:
        content = content[len(_BOM) :]
        integrity.add("byte_order_mark", 1, "the text starts with a byte order mark")
    return content


def _gunzip(path: Path, data: Content, limits: Limits) -> tuple[Content, str, int]:
    """Unpack all gzip members.

    A large content is unpacked twice: the first time what does not fit is counted, not kept, and no buffer
    has to grow.

    Returns
    -------
    content, problem, unchecked
        What is wrong with the members (empty if nothing), and how many have a checksum that does not fit.
    """
    content = new_content(min(_KEPT, limits.unpacked, _DENSEST * len(data)))
    found = _unpack_into(content, path, data, limits)
    if found.size > len(content):
        if found.size > _DENSE * len(data):
            raise _too_dense(path, found.size, len(data))
        del content
        give_back_memory()
        content = new_content(found.size)
        _unpack_into(content, path, data, limits)
    return content[: found.size], found.problem, found.unchecked


def _too_dense(path: Path, size: int, packed: int) -> InputError:
    return InputError(
        f"{path} unpacks to {size:,} bytes, {size // packed} times its size, as no trace does",
        "unpack it with `gunzip` and pass the result if it is one",
    )


@dataclass
class _Unpacked:
    """Bytes unpacked so far, where in the packed data the next member begins, and what is wrong there.

    `unchecked`: members that are whole but for a checksum that does not fit.
    """

    size: int = 0
    next: int = 0
    problem: str = ""
    unchecked: int = 0


def _unpack_into(content: Content, path: Path, data: Content, limits: Limits) -> _Unpacked:
    """Fill `content` with what fits; the size is that of everything that could be unpacked."""
    found = _Unpacked()
    while not found.problem and found.next < len(data):
        before = found.size
        if not bytes(data[found.next : found.next + len(_GZIP)]).startswith(_GZIP[: len(data) - found.next]):
            found.problem = f"bytes that are no gzip follow the stream near byte {found.next}"
            break
        begin = found.next
        try:
            _unpack_member(content, path, data, limits, found, isal_zlib.decompressobj(wbits=_GZIP_WBITS))
        except _GZIP_ERROR as error:
            place = f"at or before byte {min(found.next + _PIECE, len(data))} of {len(data)}"
            damaged = f"gzip stream damaged {place} ({error})"
            if _BAD_CHECKSUM not in str(error):
                found.problem = damaged
                break
            # The error withholds the last of the content.
            found.size, found.next = before, _end_of_header(data, begin)
            _unpack_member(content, path, data, limits, found, isal_zlib.decompressobj(wbits=_RAW_WBITS))
            found.next += _TRAILER.size
            _, length = _TRAILER.unpack(data[found.next - _TRAILER.size : found.next])
            if length == (found.size - before) % 2**32:
                found.unchecked += 1
            else:
                found.problem = damaged
        found.next = _after_padding(data, found.next)
    return found


def begins_with(data: bytes) -> tuple[bytes, bool]:
    """Find how content begins whose file begins with `data`, and whether it is packed."""
    if not data.startswith(_GZIP):
        return data, False
    try:
        return isal_zlib.decompressobj(wbits=_GZIP_WBITS).decompress(data), True
    except _GZIP_ERROR:
        return b"", True


def unpack_into_file(path: Path, file: BinaryIO, target: BinaryIO) -> None:
    """Copy a file without gzip into another one, piece by piece.

    Raises
    ------
    InputError
        If the stream is damaged or cut, since a database with a part missing cannot be read, or if it is
        over a GB with next to no information.
    """
    stream, packed, size = isal_zlib.decompressobj(wbits=_GZIP_WBITS), 0, 0
    piece = file.read(_COPIED)
    if not piece.startswith(_GZIP):
        target.write(piece)
        shutil.copyfileobj(file, target, _COPIED)
        return
    while piece:
        if stream.eof:
            stream = isal_zlib.decompressobj(wbits=_GZIP_WBITS)
        try:
            text = stream.decompress(piece)
        except _GZIP_ERROR as error:
            raise InputError(f"{path}: the gzip stream is damaged ({error})", "copy the file again") from None
        rest = stream.unused_data.lstrip(b"\0")  # another member follows, or the zeros of a tape
        packed += len(piece) - len(rest)
        size += target.write(text)
        if size > _KEPT and size > _DENSE * packed:
            raise _too_dense(path, size, packed)
        piece = rest or file.read(_COPIED)
    if not stream.eof:
        raise InputError(f"{path}: the gzip stream is cut at byte {packed}", "copy the file again")


def _after_padding(data: Content, begin: int) -> int:
    """Find the next byte that is not a zero; tapes and similar media put zeros at the end."""
    while begin < len(data):
        piece = bytes(data[begin : begin + _PIECE])
        left = len(piece.lstrip(b"\0"))
        begin += len(piece) - left
        if left:
            break
    return begin


def _unpack_member(
    content: Content, path: Path, data: Content, limits: Limits, found: _Unpacked, stream: Any
) -> None:
    """Unpack one member from `found.next` on, up to its end or the end of the data."""
    while found.next < len(data):
        piece = data[found.next : found.next + _PIECE]
        text = stream.decompress(piece)
        room = max(0, len(content) - found.size)
        content[found.size : found.size + len(text)] = text[:room]
        found.size += len(text)
        limits.check_unpacked(path, found.size)
        found.next += len(piece)
        if stream.eof:
            found.next -= len(stream.unused_data)
            return
    found.problem = f"gzip stream cut at byte {len(data)}"


def _end_of_header(data: Content, begin: int) -> int:
    """Find where the content of a gzip member begins (RFC 1952)."""
    flags, end = data[begin + 3], begin + 10
    if flags & _HAS_EXTRA:
        end += 2 + int.from_bytes(data[end : end + 2], "little")
    for text in (_HAS_NAME, _HAS_COMMENT):
        if flags & text:
            while data[end]:
                end += 1
            end += 1
    return end + (2 if flags & _HAS_CHECKSUM else 0)


def pack_into(file: BinaryIO, level: int) -> BinaryIO:
    """Open a file that writes gzip into `file`, without name and time so that equal content packs alike."""
    packing: Any = igzip.IGzipFile
    # A call of it takes as long as the packing of many small texts.
    return io.BufferedWriter(packing("", "wb", level, file, 0), _COPIED)
