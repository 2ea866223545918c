"""A document of Kineto's: batches of entries, and what is used of the text around their list."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from tracegraph.ingest.readers.chrome_text import Batch

BATCH = 32_768
"""Entries decoded at a time: their objects live only until they are columns."""
_LONGEST_FACT = 1 << 20
"""Bytes of a fact around the list that are decoded; as objects they may take twenty times as much."""

_MOST_DEVICES = 1 << 12
"""Indices of devices from here on are not believed: no host has as many."""


@dataclass(frozen=True)
class Facts:
    """What is used of the document around the list of events."""

    rank: int | None = None
    world_size: int | None = None
    devices: list[str] = field(default_factory=list)
    device_memory: list[int | None] = field(default_factory=list)
    versions: dict[str, str] = field(default_factory=dict)


class Document(Protocol):
    """A file as batches of event texts."""

    def batches(self) -> Iterable[Batch]:
        """Return events in the order of the file, once; a sequence of batches can be read in any order."""

    def facts(self) -> Facts:
        """Return rank, devices and versions; ask after the last batch."""


class Versions(Struct, gc=False):
    """Keys of the document that name versions."""

    schemaVersion: Raw | UnsetType = UNSET
    cuda_runtime_version: Raw | UnsetType = UNSET
    cuda_driver_version: Raw | UnsetType = UNSET
    cupti_version: Raw | UnsetType = UNSET
    hip_runtime_version: Raw | UnsetType = UNSET
    hip_driver_version: Raw | UnsetType = UNSET
    roctracer_version: Raw | UnsetType = UNSET
    rocprofiler_version: Raw | UnsetType = UNSET


class TopLevel(Versions, gc=False):
    """Keys of the document; each value is taken as it is, so that an odd one costs only itself."""

    traceEvents: list[Raw] | UnsetType = UNSET
    distributedInfo: Raw | UnsetType = UNSET
    deviceProperties: Raw | UnsetType = UNSET


def read_facts(top: TopLevel) -> Facts:
    """Read the facts in `top`; what has another form than Kineto's is left out."""
    info = _plain(top.distributedInfo)
    rank, size = (info.get("rank"), info.get("world_size")) if isinstance(info, dict) else (None, None)
    properties = _plain(top.deviceProperties)
    described = [one for one in (properties if isinstance(properties, list) else []) if isinstance(one, dict)]
    versions = {name: _plain(getattr(top, name)) for name in Versions.__struct_fields__}
    return Facts(
        _number(rank, 0),
        _number(size, 1),
        [str(device["name"]) for device in described if "name" in device],
        _device_memory(described),
        {name: str(value) for name, value in versions.items() if isinstance(value, str | int | float)},
    )


def _device_memory(described: Sequence[Mapping[str, object]]) -> list[int | None]:
    """List the bytes of memory by index of the device, None for one that is not described."""
    known: dict[int, int] = {}
    for device in described:
        index, total = _number(device.get("id"), 0), _number(device.get("totalGlobalMem"), 1)
        if index is not None and total is not None and index < _MOST_DEVICES and total < 1 << 63:
            known[index] = total
    return [known.get(index) for index in range(max(known, default=-1) + 1)]


def _number(value: object, least: int) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= least else None


def _plain(raw: Raw | UnsetType) -> object:
    if isinstance(raw, UnsetType) or len(memoryview(raw)) > _LONGEST_FACT:
        return None
    try:
        return msgspec.json.decode(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, ValueError):
        return None
