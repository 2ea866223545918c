"""The file that a trace is read from: its path, its SHA-256, and its content, in memory or on the disk."""

import hashlib
import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tracegraph.base.errors import InputError
from tracegraph.ingest.integrity_findings import Integrity
from tracegraph.ingest.limits import Limits
from tracegraph.ingest.readers.file_bytes import read_bytes
from tracegraph.ingest.readers.foreign_files import refuse_name
from tracegraph.ingest.readers.unpacking import Content, begins_with, unpack, unpack_into_file

HEAD_BYTES = 4096
"""Bytes of the content by which formats recognise their files."""
DATABASE = b"SQLite format 3\0"
"""How content begins that stays on the disk: a database is read where it is, however large."""
_PIECE = 1 << 20
"""Bytes that are read from a file at a time."""


class SourceFile:
    """A file with its content unpacked; `sha256` is that of the file as stored, in hexadecimal.

    A database is not held in memory: `take` gives nothing of it, and `local_file` its place on the disk.
    `limits` are those under which it is read.
    """

    def __init__(
        self,
        path: Path,
        sha256: str,
        content: Content | None,
        head: bytes,
        *,
        packed: bool,
        limits: Limits,
    ) -> None:
        self.path = path
        self.limits = limits
        self.sha256 = sha256
        self.head = head
        """How the content begins: formats recognise their files by this."""
        self._content = content
        self._packed = packed

    def peek(self) -> Content:
        """Return the content to look at, where how it begins does not tell the format; none of a database."""
        return memoryview(b"") if self._content is None else self._content

    def take(self) -> Content:
        """Give away the content once, so that its memory is free as soon as its reader lets go of it."""
        content, self._content = self._content, None
        return memoryview(b"") if content is None else content

    @contextmanager
    def local_file(self) -> Iterator[Path]:
        """Yield the place of the unpacked content for the block: of the file itself, or of a copy.

        A copy is made of what is packed, and of a file without a name of its own. It has no name any more
        once the block has ended; whoever opens it may read on.
        """
        if self._content is None and not self._packed and self.path.resolve().exists():
            yield self.path
            return
        with tempfile.TemporaryDirectory(prefix="tracegraph-") as folder:
            copy = Path(folder) / "content"
            try:
                self._copy_to(copy)
            except OSError as error:
                raise InputError(
                    f"no room for a copy of {self.path} in {tempfile.gettempdir()}: {error.strerror}",
                    "set TMPDIR to a folder on another disk",
                ) from None
            yield copy

    def _copy_to(self, copy: Path) -> None:
        with copy.open("wb") as target:
            if self._content is not None:  # what came from a pipe cannot be read again
                target.write(self._content)
                return
            with self.path.open("rb") as file:
                unpack_into_file(self.path, file, target)


def open_source(path: Path, integrity: Integrity, sha256: str | None = None) -> SourceFile:
    """Read and unpack a file; what is odd about its bytes goes to `integrity`.

    Raises
    ------
    InputError
        If it cannot be read, is empty or beyond the limits, or has another SHA-256 than `sha256`.
    """
    refuse_name(path)
    head, packed = _look(path)
    if head.startswith(DATABASE):
        found = digest(path)
        opened = SourceFile(path, found, None, head, packed=packed, limits=integrity.limits)
    else:
        data = read_bytes(path, integrity)
        found = hashlib.sha256(data).hexdigest()
        content = unpack(path, data, integrity)
        head = bytes(content[:HEAD_BYTES])
        opened = SourceFile(path, found, content, head, packed=packed, limits=integrity.limits)
    if sha256 is not None and found != sha256:
        raise InputError(f"{path} is not the file that was ingested", "ingest it again")
    return opened


def _look(path: Path) -> tuple[bytes, bool]:
    """Read how the unpacked content of a file begins, and whether it is packed; nothing of a pipe."""
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            return b"", False
        with path.open("rb") as file:
            return begins_with(file.read(HEAD_BYTES))
    except OSError:
        return b"", False  # `read_bytes` says what is wrong with it


def digest(path: Path) -> str:
    """Compute the SHA-256 of a file, as hex digits, without holding the file in memory."""
    found = hashlib.sha256()
    with path.open("rb") as file:
        while piece := file.read(_PIECE):
            found.update(piece)
    return found.hexdigest()
