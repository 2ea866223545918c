"""Reads snapshots of the CUDA allocator: what `torch.cuda.memory._dump_snapshot` writes."""

import subprocess
import sys
from collections.abc import Mapping

import pyarrow as pa

from tracegraph.base.errors import InputError
from tracegraph.ingest.companions.memory.snapshot_columns import MOST_SECONDS, TABLES

_HINT = (
    "record it again with torch.cuda.memory._record_memory_history() and "
    "torch.cuda.memory._dump_snapshot(FILE)"
)
_PICKLE = b"\x80"
_WORDS = (b"device_traces", b"segments", b"total_size")
"""Keys of a snapshot, of which one stands among its first bytes or near them."""
_NEAR = 1 << 20
"""How many first bytes are searched for these words: a pickle names its keys where it first uses them."""
_LONGEST = 200
"""Characters of a reason that are shown."""


def is_snapshot(data: memoryview) -> bool:
    """Tell whether content is a pickle, of which a snapshot is the only kind that is read."""
    return bytes(data[:1]) == _PICKLE


def has_snapshot_words(data: memoryview) -> bool:
    """Tell whether a pickle speaks of segments, as a snapshot does."""
    return any(word in bytes(data[:_NEAR]) for word in _WORDS)


def read_snapshot(path: str, data: memoryview) -> Mapping[str, pa.Table]:
    """Read a pickled snapshot into columns, in a process with bounds on its memory and time.

    Returns
    -------
    Mapping
        The tables of `snapshot_columns`: events, segments, blocks, frames and annotations; sizes in bytes,
        times in ns since 1970.

    Raises
    ------
    InputError
        The pickle asks for a class, is damaged or no snapshot, or needs too much memory or time.
    """
    if not has_snapshot_words(data):
        raise InputError(f"{path} is a pickle but no snapshot of the allocator", _HINT)
    command = [sys.executable, "-m", "tracegraph.ingest.companions.memory.snapshot_columns"]
    try:
        ended = subprocess.run(
            command, input=data, capture_output=True, timeout=2 * MOST_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        raise _refused(path, f"reading it takes over {2 * MOST_SECONDS} s") from None
    if ended.returncode:
        lines = ended.stderr.decode("utf-8", "replace").strip().splitlines()
        broken = f"reading it ended with code {ended.returncode}"
        raise _refused(path, lines[-1] if lines and ended.returncode > 0 else broken)
    stream = pa.BufferReader(ended.stdout)
    return {name: pa.ipc.open_stream(stream).read_all() for name in TABLES}


def _refused(path: str, reason: str) -> InputError:
    return InputError(f"{path} is no usable snapshot: {reason[:_LONGEST]}", _HINT)
