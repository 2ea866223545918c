"""A remote file as a local one, for as long as it is read."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from tracegraph.base.errors import InputError
from tracegraph.ingest.findings import Integrity
from tracegraph.ingest.limits import DEFAULT_LIMITS, Limits
from tracegraph.ingest.readers.file_bytes import too_large
from tracegraph.ingest.sources.remote import open_remote, refusal
from tracegraph.ingest.sources.source import Source
from tracegraph.ingest.sources.web import open_stream, other_host

# Bytes that are copied at a time.
_PIECE = 1 << 20


@contextmanager
def local_copy(
    source: Source, limits: Limits = DEFAULT_LIMITS, integrity: Integrity | None = None
) -> Iterator[Path]:
    """Yield the place of a source on this machine for the block: its own path, or that of a copy of a URL.

    The copy is a file without a name, so that nothing of it is left however the process ends. It is written
    piece by piece, so that it needs little memory. `integrity` gets a finding if it comes from another server
    than named.

    Raises
    ------
    InputError
        If the URL cannot be read or holds more than `limits.unpacked` bytes, or if the disk is full.
    """
    if not source.is_remote:
        yield Path(source.given)
        return
    with tempfile.TemporaryFile(prefix="tracegraph-") as copy:
        _fetch(source, copy, limits, integrity)
        yield Path(f"/dev/fd/{copy.fileno()}")


def _fetch(source: Source, copy: BinaryIO, limits: Limits, integrity: Integrity | None) -> None:
    written = 0
    for piece in _pieces(source, integrity):
        written += len(piece)
        if written > limits.unpacked:
            raise too_large(Path(source.name), limits)
        try:
            copy.write(piece)
            copy.flush()
        except OSError as error:
            raise InputError(
                f"no room for a copy of {source.shown} in {tempfile.gettempdir()}: {error.strerror}",
                "set TMPDIR to a folder on another disk",
            ) from None
    copy.seek(0)


def _pieces(source: Source, integrity: Integrity | None) -> Iterator[bytes]:
    system, path = open_remote(source.given)
    try:
        with open_stream(system, source.given, path) as stream:
            if integrity is not None and (other := other_host(stream, source.given)) is not None:
                integrity.add("redirected", 1, f"the server sent on to {other}: it is read from there")
            while piece := stream.read(_PIECE):
                yield piece
    except (InputError, GeneratorExit):
        raise
    except Exception as error:  # a driver may raise anything
        raise refusal(source.given, error) from None
