"""Objects through a pipe, with their arrays beside them, so that nothing large is copied on the way."""

import pickle
import struct
from collections.abc import Sequence
from typing import Any, BinaryIO

_COUNT = struct.Struct("<Q")


def send(stream: BinaryIO, message: object) -> None:
    """Write one object; OSError if nobody reads any more."""
    arrays: list[pickle.PickleBuffer] = []
    head = pickle.dumps(message, protocol=5, buffer_callback=arrays.append)
    parts: Sequence[bytes | memoryview] = [head, *(one.raw() for one in arrays)]
    sizes = [memoryview(part).nbytes for part in parts]
    stream.write(_COUNT.pack(len(sizes)) + struct.pack(f"<{len(sizes)}Q", *sizes))
    for part in parts:
        stream.write(part)
    stream.flush()


def receive(stream: BinaryIO) -> Any:
    """Read one object; EOFError if the writer has ended, also in the midst of one."""
    (count,) = _COUNT.unpack(_read(stream, _COUNT.size))
    sizes = struct.unpack(f"<{count}Q", _read(stream, 8 * count))
    head, *arrays = (_read(stream, size) for size in sizes)
    return pickle.loads(head, buffers=arrays)


def _read(stream: BinaryIO, size: int) -> bytearray:
    content = bytearray(size)
    view, done = memoryview(content), 0
    while done < size:
        got = stream.readinto(view[done:])  # type: ignore[attr-defined]
        if not got:
            raise EOFError
        done += got
    return content
