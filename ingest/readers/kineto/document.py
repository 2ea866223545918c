"""The strict way from JSON text to the texts of its events: one pass of the decoder, no copies."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import msgspec
import numpy as np
import numpy.typing as npt
from msgspec import UNSET, Raw, Struct, UnsetType

from tracegraph.store.errors import InputError

BATCH = 32_768
"""Events decoded at a time: their objects live only until they are columns."""

RawEvent = Raw | bytes
_VERSIONS = (
    "schemaVersion",
    "cuda_runtime_version",
    "cuda_driver_version",
    "cupti_version",
    "hip_runtime_version",
    "hip_driver_version",
    "roctracer_version",
    "rocprofiler_version",
)
_LIST_FIRST = re.compile(rb"\s*\[")
_LIST_KEY = re.compile(rb'"traceEvents"\s*:\s*\[')
_RECORD = "record one with torch.profiler and export_chrome_trace"


@dataclass(frozen=True)
class Batch:
    """Texts of events, and the position of each in the file's list."""

    texts: Sequence[RawEvent]
    positions: Sequence[int]


@dataclass(frozen=True)
class Facts:
    """What is used of the document around the list of events."""

    rank: int | None = None
    devices: list[str] = field(default_factory=list)
    versions: dict[str, str] = field(default_factory=dict)


class Document(Protocol):
    """A file as batches of event texts."""

    def batches(self) -> Iterator[Batch]:
        """Events in the order of the file."""

    def facts(self) -> Facts:
        """Rank, devices and versions; ask after the last batch."""


class TopLevel(Struct, gc=False):
    """Keys of the document; any value is taken as it is, so that an odd one costs only itself."""

    traceEvents: list[Raw] | UnsetType = UNSET
    nodes: Raw | UnsetType = UNSET  # of an execution trace
    distributedInfo: Raw | UnsetType = UNSET
    deviceProperties: Raw | UnsetType = UNSET
    schemaVersion: Raw | UnsetType = UNSET
    cuda_runtime_version: Raw | UnsetType = UNSET
    cuda_driver_version: Raw | UnsetType = UNSET
    cupti_version: Raw | UnsetType = UNSET
    hip_runtime_version: Raw | UnsetType = UNSET
    hip_driver_version: Raw | UnsetType = UNSET
    roctracer_version: Raw | UnsetType = UNSET
    rocprofiler_version: Raw | UnsetType = UNSET


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


def read_facts(top: TopLevel) -> Facts:
    """The facts in `top`; what has another form than Kineto writes is left out."""
    info = _plain(top.distributedInfo)
    rank = info.get("rank") if isinstance(info, dict) else None
    properties = _plain(top.deviceProperties)
    devices = [
        str(device["name"])
        for device in (properties if isinstance(properties, list) else [])
        if isinstance(device, dict) and "name" in device
    ]
    versions = {name: _plain(getattr(top, name)) for name in _VERSIONS}
    return Facts(
        rank if isinstance(rank, int) and not isinstance(rank, bool) and rank >= 0 else None,
        devices,
        {name: str(value) for name, value in versions.items() if isinstance(value, str | int | float)},
    )


def _plain(raw: Raw | UnsetType) -> object:
    if isinstance(raw, UnsetType):
        return None
    try:
        return msgspec.json.decode(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, ValueError):
        return None
