"""The strict way from JSON text to the texts of its entries: one pass of the decoder, no copies."""

import re
from collections.abc import Iterator
from pathlib import Path

import msgspec
import numpy as np
import numpy.typing as npt
from msgspec import UNSET, Raw, Struct, UnsetType

from tracegraph.ingest.readers.chrome_text import Batch
from tracegraph.ingest.readers.kineto.document import BATCH, Facts, TopLevel, read_facts
from tracegraph.store.errors import InputError

_LIST_FIRST = re.compile(rb"\s*\[")
_LIST_KEY = re.compile(rb'"traceEvents"\s*:\s*\[')
_RECORD = "record one with torch.profiler and export_chrome_trace"


class _ListOnly(Struct, gc=False):
    traceEvents: Raw


class StrictDocument:
    """A document that the strict decoder has taken as a whole; lets go of the text as it is read."""

    def __init__(self, facts: Facts, events: list[Raw]) -> None:
        self._facts = facts
        self._events = events

    def batches(self) -> Iterator[Batch]:
        """Events in the order of the file; once."""
        events, self._events = self._events, []
        for start in range(0, len(events), BATCH):
            texts = events[start : start + BATCH]
            yield Batch(texts, range(start, start + len(texts)))

    def facts(self) -> Facts:
        """Rank, devices and versions."""
        return self._facts

    def count_other_lists(self, data: bytes | bytearray) -> int:
        """Lists of events in the text beside this one, which is the last of equal keys; ask first."""
        if not self._events or _is_list(data):
            return 0
        first, last = (np.frombuffer(self._events[k], np.uint8) for k in (0, -1))
        base = _address(np.frombuffer(data, np.uint8))
        before = _LIST_KEY.findall(data, 0, _address(first) - base)
        after = _LIST_KEY.findall(data, _address(last) - base + len(last))
        return len(before) + len(after) - 1


def parse_strict(path: Path, data: bytes | bytearray) -> StrictDocument:
    """Split a well-formed document into its events.

    Raises msgspec.DecodeError or RecursionError when the text is not well-formed JSON, InputError when it
    is, but holds no list of events.
    """
    if _is_list(data):
        return StrictDocument(Facts(), msgspec.json.decode(data, type=list[Raw]))
    try:
        top = msgspec.json.decode(data, type=TopLevel)
    except msgspec.ValidationError as error:
        raise InputError(f"{path} is no trace: {error}", _RECORD) from None
    if isinstance(top.traceEvents, UnsetType):
        what = (
            "an execution trace (it has `nodes`), not a profiler trace"
            if top.nodes is not UNSET
            else "no trace"
        )
        raise InputError(f"{path} is {what}: the key traceEvents is missing", _RECORD)
    return StrictDocument(read_facts(top), top.traceEvents)


def _is_list(data: bytes | bytearray) -> bool:
    return bool(_LIST_FIRST.match(data))


def locate_list(data: bytes | bytearray) -> tuple[int, int]:
    """Start and end (byte offsets) of the list of events in a text that `parse_strict` takes."""
    if _is_list(data):
        events = msgspec.json.decode(data, type=Raw)
    else:
        events = msgspec.json.decode(data, type=_ListOnly).traceEvents
    # the raw value is a view into `data`, so that its address tells its place
    view = np.frombuffer(events, np.uint8)
    start = _address(view) - _address(np.frombuffer(data, np.uint8))
    return start, start + len(view)


def _address(view: npt.NDArray[np.uint8]) -> int:
    return int(view.__array_interface__["data"][0])
