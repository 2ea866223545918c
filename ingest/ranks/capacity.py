"""How many files are read at once: as many as cores, memory and their size make worth while."""

import os
from collections.abc import Sequence
from pathlib import Path

from tracegraph.base.machine import cores, free_memory_bytes
from tracegraph.ingest.limits import MEMORY_OF_A_BYTE
from tracegraph.ingest.sources.source import Source, protocol

_PACKED = (".gz", ".parquet")
_PACKING = 15
"""How many bytes of text a packed byte is, as a rule."""
_REMOTE_BYTES = 128 << 20
"""What a file of unknown size is taken for, in bytes of text."""
_OWN_BYTES = 200 << 20
"""What a process takes before it reads anything."""
_WORTH_BYTES = 64 << 20
"""With less text than that in all files, this process, which reads 30 MiB of it a second, is done before two
others, each of which takes .7 s of CPU to begin."""
_FILE_BYTES = 3 << 20
"""How much text is read in the .1 s that a file takes however small it is."""
_OWN_FOLDERS = ("/dev/", "/proc/")


def text_bytes(source: Source) -> int:
    """How many bytes of text a source holds, roughly; 0 where that cannot be told."""
    if source.is_remote:
        return _REMOTE_BYTES
    try:
        size = Path(source.given).stat().st_size
    except OSError:
        return 0
    return size * (_PACKING if source.given.endswith(_PACKED) else 1)


def count_workers(sources: Sequence[Source]) -> int:
    """How many processes read the sources; 0 where this one does it sooner, or only it can."""
    sizes = [text_bytes(source) for source in sources]
    most = min(cores(), len(sources))
    work = sum(sizes) + _FILE_BYTES * len(sizes)
    if most < 2 or work < _WORTH_BYTES or not all(map(_is_seen_elsewhere, sources)):
        return 0
    room = int(free_memory_bytes() // (_OWN_BYTES + MEMORY_OF_A_BYTE * max(sizes)))
    return min(most, room) if room > 1 else 0


def _is_seen_elsewhere(source: Source) -> bool:
    """Whether another process finds the source: no pipe, no descriptor, nothing in this one's memory."""
    if source.is_remote:
        return protocol(source.given) != "memory"
    return os.path.isfile(source.given) and not source.given.startswith(_OWN_FOLDERS)
