"""The file that a trace is read from: its path, its SHA-256, and its content."""

import hashlib
from pathlib import Path

from tracegraph.base.errors import InputError
from tracegraph.ingest.findings import Integrity
from tracegraph.ingest.readers.file_bytes import Content, read_bytes
from tracegraph.ingest.readers.unpacking import unpack

HEAD_BYTES = 4096
"""Bytes of the content by which formats recognise their files."""


class SourceFile:
    """A file with its content unpacked; `sha256` is that of the file as stored, in hexadecimal."""

    def __init__(self, path: Path, sha256: str, content: Content) -> None:
        self.path = path
        self.sha256 = sha256
        self.head = bytes(content[:HEAD_BYTES])
        """How the content begins: formats recognise their files by this."""
        self._content = content

    def peek(self) -> Content:
        """Return the content to look at, for a format that is not known by how it begins."""
        return self._content

    def take(self) -> Content:
        """Give away the content once, so that its memory is free as soon as its reader lets go of it."""
        content, self._content = self._content, memoryview(b"")
        return content


def open_source(path: Path, integrity: Integrity, sha256: str | None = None) -> SourceFile:
    """Read and unpack a file; what is odd about its bytes goes to `integrity`.

    Raises
    ------
    InputError
        If it cannot be read, is empty or beyond the limits, or has another SHA-256 than `sha256`.
    """
    data = read_bytes(path, integrity)
    found = hashlib.sha256(data).hexdigest()
    if sha256 is not None and found != sha256:
        raise InputError(f"{path} is not the file that was ingested", "ingest it again")
    return SourceFile(path, found, unpack(path, data, integrity))
