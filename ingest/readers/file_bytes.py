"""Read the bytes of what a path names: a file, or a pipe that another program writes to."""

import errno
import os
import select
import stat
import time
from pathlib import Path

from tracegraph.base.errors import InputError
from tracegraph.ingest.integrity_findings import Integrity
from tracegraph.ingest.limits import Limits
from tracegraph.ingest.readers.unpacking import Content, new_content

PATIENCE_S = 10.0
"""Seconds that a pipe may be without a writer."""
# Bytes that are read from a pipe at a time.
_PIECE = 1 << 20
_HINTS = {
    errno.ENOENT: "check the spelling of the path",
    errno.ELOOP: "the link leads back to itself; pass the file it should lead to",
    errno.ENAMETOOLONG: "check the spelling of the path",
}
_REASONS = {errno.ENOENT: "does not exist"}


def read_bytes(path: Path, integrity: Integrity) -> Content:
    """Read the content of a file or pipe; `integrity` gets a finding if it changes meanwhile.

    Raises
    ------
    InputError
        If it cannot be read, is empty, or is larger than the limits allow.
    """
    try:
        # Without O_NONBLOCK, opening a pipe waits for a writer, for ever if need be.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise _refusal(path, error) from None
    try:
        before = os.fstat(descriptor)
        data = _read(path, descriptor, before, integrity.limits)
        after = os.fstat(descriptor)
    except OSError as error:
        raise _refusal(path, error) from None
    finally:
        os.close(descriptor)
    if not data:
        raise InputError(f"{path} is empty (0 bytes)", "record or copy the trace again")
    if stat.S_ISREG(before.st_mode):
        changed = (before.st_size, before.st_mtime_ns) != (after.st_size, after.st_mtime_ns)
        message = f"the file changed while it was read; the {len(data)} bytes that were read count"
        integrity.add("changed_while_read", int(changed or len(data) != after.st_size), message)
    return data


def _read(path: Path, descriptor: int, found: os.stat_result, limits: Limits) -> Content:
    if stat.S_ISDIR(found.st_mode):
        raise InputError(f"{path} is a directory", "pass a trace file in it")
    if stat.S_ISFIFO(found.st_mode):
        return _read_pipe(path, descriptor, limits)
    if not stat.S_ISREG(found.st_mode):
        raise InputError(f"{path} is a device, not a file", "pass a trace file")
    limits.check_unpacked(path, found.st_size)
    os.set_blocking(descriptor, True)
    content = new_content(found.st_size)
    size = 0
    while piece := os.readv(descriptor, [content[size:]]):
        size += piece
    return content[:size]


def _read_pipe(path: Path, descriptor: int, limits: Limits) -> Content:
    """Read until the last writer closes the pipe; the first one has `PATIENCE_S` seconds to come."""
    # A pipe without a name, as the shell's <(…) makes, can get no writer later.
    give_up = time.monotonic() + (PATIENCE_S if os.path.exists(os.path.realpath(path)) else 0.0)
    content = bytearray()
    while True:
        try:
            piece = os.read(descriptor, _PIECE)
        except BlockingIOError:  # a writer is still there
            select.select([descriptor], [], [])
            continue
        content += piece
        limits.check_unpacked(path, len(content))
        if piece:
            continue
        if content:
            return memoryview(content)
        if time.monotonic() >= give_up:
            raise InputError(
                f"{path} is a pipe that nobody writes to",
                "start what writes the trace first, or pass a file",
            )
        time.sleep(0.05)


def _refusal(path: Path, error: OSError) -> InputError:
    number = error.errno or 0
    reason = _REASONS.get(number, f"cannot be read: {error.strerror}")
    return InputError(f"{path} {reason}", _HINTS.get(number, "check its permissions"))
