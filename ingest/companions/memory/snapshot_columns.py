"""Turns a pickled snapshot into columns, in a process of its own whose memory and time are bounded.

A pickle is a program, and a hostile one may ask for any amount of memory, or nest so deep that the
interpreter itself breaks. So it runs here: `python -m` this module reads the pickle from its standard input
and writes Arrow tables to its standard output, or one line on its standard error and exit code 2.
"""

import pickle
import resource
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, BinaryIO

import psutil
import pyarrow as pa

MOST_MEMORY = 10**9
"""Bytes that reading a snapshot may take beside what an idle interpreter takes."""
MOST_SECONDS = 100
"""Seconds of the processor that it may take. Chosen by eye: a hostile pickle can take any time."""
REFUSED = 2
"""The exit code where the content is refused; the reason is on standard error."""
TABLES = ("events", "segments", "blocks", "frames", "annotations")
"""The tables in the order in which they are written."""
EVENTS = pa.schema(
    [
        ("device", pa.int64()),
        ("action", pa.string()),
        ("at_ns", pa.int64()),
        ("address", pa.int64()),
        ("bytes", pa.int64()),
        ("free_bytes", pa.int64()),
        ("stack", pa.int64()),
    ]
)
"""Entries of device_traces; `free_bytes`: what the device had left when an allocation failed."""
SEGMENTS = pa.schema(
    [
        ("device", pa.int64()),
        ("segment", pa.int64()),
        ("address", pa.int64()),
        ("bytes", pa.int64()),
        ("stream", pa.int64()),
        ("pool", pa.string()),
        ("expandable", pa.bool_()),
    ]
)
BLOCKS = pa.schema(
    [
        ("segment", pa.int64()),
        ("address", pa.int64()),
        ("bytes", pa.int64()),
        ("requested", pa.int64()),
        ("state", pa.string()),
        ("stack", pa.int64()),
    ]
)
FRAMES = pa.schema(
    [("stack", pa.int64()), ("function", pa.string()), ("file", pa.string()), ("line", pa.int64())]
)
"""Frames of each stack, the innermost first."""
ANNOTATIONS = pa.schema(
    [("device", pa.int64()), ("stage", pa.string()), ("name", pa.string()), ("at_ns", pa.int64())]
)
_NS_PER_US = 1_000
_NOTHING_ELSE = "as a snapshot that holds nothing but numbers, texts, lists and dictionaries does not"


class _DataUnpickler(pickle.Unpickler):
    """Refuses every class and function: what is left is numbers, texts, lists, tuples and dictionaries."""

    def find_class(self, module: str, name: str, /) -> Any:
        raise pickle.UnpicklingError(f"it asks for {module}.{name}, {_NOTHING_ELSE}")

    def persistent_load(self, pid: Any, /) -> Any:
        raise pickle.UnpicklingError(f"it refers to an object outside, {_NOTHING_ELSE}")


class _Stacks:
    """Numbers stacks of frames: equal ones have one number.

    PyTorch shares the frames of equal stacks as a rule, so that most are known by the identity of theirs.
    """

    def __init__(self) -> None:
        self._known: dict[tuple[int, ...], int] = {}
        self._numbers: dict[tuple[tuple[Any, ...], ...], int] = {}
        self.frames: list[Mapping[str, Any]] = []
        self.stack: list[int] = []

    def number(self, frames: Sequence[Mapping[str, Any]] | None) -> int | None:
        if not frames:
            return None
        key = tuple(map(id, frames))
        if key not in self._known:
            content = tuple((one["name"], one["filename"], one["line"]) for one in frames)
            self._known[key] = number = self._numbers.setdefault(content, len(self._numbers))
            if number == len(self._numbers) - 1 and (not self.stack or self.stack[-1] < number):
                self.frames.extend(frames)
                self.stack.extend([number] * len(frames))
        return self._known[key]


def read_columns(file: BinaryIO) -> dict[str, pa.Table]:
    """Read a pickled snapshot into one table for each of `TABLES`.

    Raises
    ------
    ValueError
        The content is no snapshot; the text says why.
    """
    try:
        content = _DataUnpickler(file).load()
    except (pickle.UnpicklingError, EOFError, ValueError, IndexError, KeyError, TypeError) as error:
        raise ValueError(f"the pickle cannot be read: {error}") from None
    except (AttributeError, UnicodeDecodeError, OverflowError, ImportError) as error:
        raise ValueError(f"the pickle cannot be read: {error}") from None
    whole = {"segments": content} if isinstance(content, list) else content
    if not isinstance(whole, dict) or not isinstance(whole.get("segments"), list):
        raise ValueError("the pickle holds no list of segments, as a snapshot does")
    try:
        return _tables(whole)
    except (KeyError, TypeError, AttributeError, ValueError, OverflowError, pa.ArrowException) as error:
        raise ValueError(f"an entry has another form than in a snapshot: {error!r}"[:300]) from None


def _tables(whole: Mapping[str, Any]) -> dict[str, pa.Table]:
    stacks = _Stacks()
    traces = enumerate(whole.get("device_traces") or ())
    events = ((device, entry) for device, entries in traces for entry in entries)
    segments = list(enumerate(whole["segments"]))
    blocks = ((number, block) for number, segment in segments for block in segment["blocks"])
    made = {
        "events": _table(EVENTS, events, lambda device, entry: _event(device, entry, stacks)),
        "segments": _table(SEGMENTS, segments, _segment),
        "blocks": _table(BLOCKS, blocks, lambda segment, block: _block(segment, block, stacks)),
        "annotations": _table(ANNOTATIONS, enumerate(whole.get("external_annotations") or ()), _annotation),
    }
    rows = zip(stacks.stack, stacks.frames, strict=True)
    return {**made, "frames": _table(FRAMES, rows, _frame)}


def _table(
    schema: pa.Schema, items: Iterable[tuple[int, Any]], row: Callable[[int, Any], tuple[Any, ...]]
) -> pa.Table:
    columns: list[list[Any]] = [[] for _ in schema]
    for number, item in items:
        for column, value in zip(columns, row(number, item), strict=True):
            column.append(value)
    arrays = [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)]
    return pa.table(arrays, schema=schema)


def _event(device: int, entry: Mapping[str, Any], stacks: _Stacks) -> tuple[Any, ...]:
    at_us = entry.get("time_us")
    return (
        device,
        entry["action"],
        None if at_us is None else at_us * _NS_PER_US,
        entry.get("addr"),
        entry.get("size"),
        entry.get("device_free"),
        stacks.number(entry.get("frames")),
    )


def _segment(number: int, segment: Mapping[str, Any]) -> tuple[Any, ...]:
    return (
        segment.get("device", 0),
        number,
        segment["address"],
        segment["total_size"],
        segment.get("stream"),
        segment.get("segment_type"),
        segment.get("is_expandable", False),
    )


def _block(segment: int, block: Mapping[str, Any], stacks: _Stacks) -> tuple[Any, ...]:
    size = block["size"]
    requested = block.get("requested_size", size)
    return segment, block.get("address"), size, requested, block["state"], stacks.number(block.get("frames"))


def _annotation(_: int, entry: Mapping[str, Any]) -> tuple[Any, ...]:
    return entry.get("device", 0), entry["stage"], entry["name"], entry["time_us"] * _NS_PER_US


def _frame(stack: int, frame: Mapping[str, Any]) -> tuple[Any, ...]:
    return stack, frame["name"], frame["filename"], frame["line"]


def main() -> int:
    """Read the pickle on standard input and write its tables to standard output; return the exit code."""
    taken = psutil.Process().memory_info().vms
    resource.setrlimit(resource.RLIMIT_AS, (taken + MOST_MEMORY,) * 2)
    resource.setrlimit(resource.RLIMIT_CPU, (MOST_SECONDS,) * 2)
    try:
        tables = read_columns(sys.stdin.buffer)
        for name in TABLES:
            with pa.ipc.new_stream(sys.stdout.buffer, tables[name].schema) as writer:
                writer.write_table(tables[name])
    except (ValueError, MemoryError, RecursionError) as error:
        needs = f"it needs more than {MOST_MEMORY:,} bytes of memory"
        print(needs if isinstance(error, MemoryError) else error, file=sys.stderr)
        return REFUSED
    return 0


if __name__ == "__main__":
    sys.exit(main())
