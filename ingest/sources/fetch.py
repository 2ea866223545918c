"""A remote file as a local one, for as long as it is read."""

import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from tracegraph.base.errors import InputError
from tracegraph.ingest.integrity_findings import Integrity
from tracegraph.ingest.limits import Limits
from tracegraph.ingest.sources.remote import open_remote, open_stream, other_host, refusal
from tracegraph.ingest.sources.source import Source, Url

# Bytes that are copied at a time.
_PIECE = 1 << 20


@contextmanager
def local_copy(source: Source, integrity: Integrity) -> Iterator[Path]:
    """Yield the place of a source on this machine for the block: its own path, or that of a copy of a URL.

    The copy is a file without a name, so that nothing of it is left however the process ends. It is written
    piece by piece, so that it needs little memory. `integrity` gets a finding if it comes from another server
    than named.

    Raises
    ------
    InputError
        If the URL cannot be read or is larger than the limits allow, or if the disk is full.
    """
    url = source.url
    if url is None:
        yield Path(source.given)
        return
    with tempfile.TemporaryFile(prefix="tracegraph-") as copy:
        _write(_pieces(url, integrity), copy, source, integrity.limits)
        yield Path(f"/dev/fd/{copy.fileno()}")


def _write(pieces: Iterable[bytes], copy: BinaryIO, source: Source, limits: Limits) -> None:
    written = 0
    for piece in pieces:
        written += len(piece)
        limits.check_unpacked(source.name, written)
        try:
            copy.write(piece)
            copy.flush()
        except OSError as error:
            raise InputError(
                f"no room for a copy of {source.shown} in {tempfile.gettempdir()}: {error.strerror}",
                "set TMPDIR to a folder on another disk",
            ) from None
    copy.seek(0)


def _pieces(url: Url, integrity: Integrity) -> Iterator[bytes]:
    system, path = open_remote(url)
    try:
        with open_stream(system, url, path) as stream:
            if (other := other_host(stream, url)) is not None:
                integrity.add("redirected", 1, f"the server sent on to {other}: it is read from there")
            while piece := stream.read(_PIECE):
                yield piece
    except (InputError, GeneratorExit):
        raise
    except Exception as error:  # a driver may raise anything
        raise refusal(url, error) from None
