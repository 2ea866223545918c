"""Decode one event with types: the fields that are used, in the types that real files hold."""

import json
import math
from collections.abc import Sequence
from typing import TypeVar

import msgspec
from msgspec import Raw, Struct, field

from tracegraph.ingest.readers.chrome_text import RawEntry
from tracegraph.vocabulary.device_peaks import FASTEST_COPY

NULL = Raw(b"null")
Id = int | str | None


class Event(Struct, gc=False):
    """Any entry of the list; a field that is absent or null is None."""

    ph: str | None = None
    cat: str | None = None
    name: str | None = None
    pid: Id = None
    tid: Id = None
    ts: int | float | None = None
    dur: int | float | None = None
    id: Id = None
    args: Raw = NULL


class _QuotedTimes(Event, gc=False):
    """An entry whose times are texts, as Ascend's profiler writes them: texts keep all digits."""

    ts: int | float | str | None = None  # type: ignore[assignment]
    dur: int | float | str | None = None  # type: ignore[assignment]


class Arguments(Struct, gc=False, frozen=True):
    """Arguments that analyses use, of every category; a value of another type is read as None."""

    correlation: Id = None
    external_id: Id = field(default=None, name="External id")
    device: Id = None
    stream: Id = None
    stream_id: Id = field(default=None, name="Stream Id")
    connection: Id = field(default=None, name="connection_id")
    correlation_id: Id = None
    task_type: Id = field(default=None, name="Task Type")
    sequence_number: Id = field(default=None, name="Sequence number")
    forward_thread: Id = field(default=None, name="Fwd thread id")
    wait_on_stream: Id = None
    wait_on_record: Id = field(default=None, name="wait_on_cuda_event_record_corr_id")
    bytes: Id = None
    rate: Raw = field(default=NULL, name="memory bandwidth (GB/s)")
    elements: Id = field(default=None, name="In msg nelems")
    dims: Raw = field(default=NULL, name="Input Dims")
    dims_old: Raw = field(default=NULL, name="Input dims")
    types: Raw = field(default=NULL, name="Input type")
    strides: Raw = field(default=NULL, name="Input Strides")
    scalars: Raw = field(default=NULL, name="Concrete Inputs")
    collective: Id = field(default=None, name="Collective name")
    group: Id = field(default=None, name="Process Group Name")
    dtype: Id = None
    group_ranks: Id = field(default=None, name="Process Group Ranks")
    group_size: Id = field(default=None, name="Group size")
    group_sequence: Id = field(default=None, name="Seq")
    receiver: Id = field(default=None, name="Dst Rank")
    sender: Id = field(default=None, name="Src Rank")

    @property
    def link(self) -> Id:
        """What joins a call with device work in files of profilers other than Kineto."""
        named = (one for one in (self.correlation, self.connection, self.correlation_id) if one is not None)
        return next(named, None)

    @property
    def bandwidth(self) -> int | None:
        """What a copy moves, B/s; None if the file does not state it or no copy can be that fast."""
        if self.rate is NULL:  # as of every kernel: an exception takes longer
            return None
        try:
            stated = 1e9 * float(memoryview(self.rate))
        except ValueError:
            return None
        return round(stated) if 0 < stated < FASTEST_COPY else None


class FrameLinks(Struct, gc=False, frozen=True):
    """Arguments of a Python frame: its number and its caller's."""

    frame: Id = field(default=None, name="Python id")
    outer_frame: Id = field(default=None, name="Python parent id")


class MemoryArguments(Struct, gc=False, frozen=True):
    """Arguments of a memory row."""

    bytes: Id = field(default=None, name="Bytes")
    device_type: Id = field(default=None, name="Device Type")
    device: Id = field(default=None, name="Device Id")
    allocated: Id = field(default=None, name="Total Allocated")
    reserved: Id = field(default=None, name="Total Reserved")
    address: Id = field(default=None, name="Addr")


class _Label(Struct, gc=False):
    name: Id = None
    labels: Id = None


_FAILURES = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, ValueError)
_decode_event = msgspec.json.Decoder(Event).decode
_decode_quoted = msgspec.json.Decoder(_QuotedTimes).decode
_decode_arguments = msgspec.json.Decoder(Arguments | None).decode
_decode_links = msgspec.json.Decoder(FrameLinks | None).decode
_decode_memory = msgspec.json.Decoder(MemoryArguments | None).decode
_decode_label = msgspec.json.Decoder(_Label | None).decode
# A counter that is larger is not a measurement, but a broken number.
_LARGEST = 1e300
_NO_ARGUMENTS = Arguments()
_NO_LINKS = FrameLinks()
_NO_MEMORY = MemoryArguments()
_Known = TypeVar("_Known", Event, Arguments, _Label)


def decode_events(texts: Sequence[RawEntry]) -> tuple[Sequence[Event | None], list[int]]:
    """Decode one event for each text, None for a text that is not an object.

    The second result lists the places of the texts that were repaired.
    """
    try:
        return [_decode_event(text) for text in texts], []
    except _FAILURES:
        pass
    events: list[Event | None] = []
    repaired = []
    for k, text in enumerate(texts):
        try:
            events.append(_decode_event(text))
        except _FAILURES:
            quoted = _decode_quoted_times(text)
            events.append(_decode_leniently(text) if quoted is None else quoted)
            if quoted is None:
                repaired.append(k)
    return events, repaired


def _decode_quoted_times(text: RawEntry) -> Event | None:
    """Decode an entry in which only the times are texts, each a number; None for any other entry."""
    try:
        event = _decode_quoted(text)
        event.ts, event.dur = (
            float(time) if isinstance(time, str) else time for time in (event.ts, event.dur)
        )
    except _FAILURES:
        return None
    return event


def decode_arguments(texts: Sequence[Raw]) -> tuple[list[Arguments], list[int]]:
    """Decode the arguments of each text, all None if it has none.

    The second result lists the places of the texts that are not objects.
    """
    try:
        return [_decode_arguments(text) or _NO_ARGUMENTS for text in texts], []
    except _FAILURES:
        pass
    found = [_arguments_leniently(text) for text in texts]
    return [one or _NO_ARGUMENTS for one in found], [k for k, one in enumerate(found) if one is None]


def decode_links(texts: Sequence[Raw]) -> list[FrameLinks]:
    """Decode the numbers of each Python frame; those of a frame with odd arguments are None."""
    try:
        return [_decode_links(text) or _NO_LINKS for text in texts]
    except _FAILURES:
        return [_links_leniently(text) for text in texts]


def decode_memory(text: Raw) -> MemoryArguments:
    """Decode the arguments of a memory row, all None if they are odd."""
    try:
        return _decode_memory(text) or _NO_MEMORY
    except _FAILURES:
        return _NO_MEMORY


def decode_counters(text: Raw) -> dict[str, float]:
    """Decode all arguments of a range that are finite numbers."""
    try:
        values: object = msgspec.json.decode(text)
    except _FAILURES:
        values = _load(text)
    if not isinstance(values, dict):
        return {}
    numbers = {
        name: float(value)
        for name, value in values.items()
        if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < _LARGEST
    }
    return {_text(name) or "": value for name, value in numbers.items()}


def decode_label(text: Raw) -> str | None:
    """Find the argument `name` of a metadata event, or its `labels`."""
    try:
        label = _decode_label(text)
    except _FAILURES:
        return None
    said = None if label is None else label.labels if label.name is None else label.name
    return None if said is None else str(said)


def _decode_leniently(text: RawEntry) -> Event | None:
    """Decode an event, with each field of an odd type converted to the expected type or left out."""
    values = _load(text)
    if not isinstance(values, dict):
        return None
    arguments = values.get("args")
    return Event(
        ph=_text(values.get("ph")),
        cat=_text(values.get("cat")),
        name=_text(values.get("name")),
        pid=_text(values.get("pid")),
        tid=_text(values.get("tid")),
        ts=_number(values.get("ts")),
        dur=_number(values.get("dur")),
        id=_text(values.get("id")),
        args=NULL if arguments is None else Raw(json.dumps(arguments).encode()),
    )


def _arguments_leniently(text: Raw) -> Arguments | None:
    try:
        return _decode_arguments(text) or _NO_ARGUMENTS
    except _FAILURES:
        values = _load(text)
    if not isinstance(values, dict):
        return None
    known: dict[str, object] = {}
    for entry in msgspec.structs.fields(Arguments):
        value = values.get(entry.encode_name)
        if entry.type is Raw:
            known[entry.name] = Raw(json.dumps(value).encode())
        elif isinstance(value, int) and not isinstance(value, bool):
            known[entry.name] = value
        elif isinstance(value, str):
            known[entry.name] = _text(value)
    return Arguments(**known)  # type: ignore[arg-type]


def _links_leniently(text: Raw) -> FrameLinks:
    try:
        return _decode_links(text) or _NO_LINKS
    except _FAILURES:
        return _NO_LINKS


def _load(text: RawEntry) -> object:
    try:
        value: object = json.loads(bytes(text).decode("utf-8", "replace"), strict=False, parse_float=_finite)
    except (ValueError, RecursionError):
        return None
    return value


def _finite(digits: str) -> float | None:
    number = float(digits)
    return number if math.isfinite(number) else None


def _text(value: object) -> str | None:
    """Convert a scalar to text; lone surrogates are replaced, since UTF-8 cannot hold them."""
    if value is None or isinstance(value, dict | list):
        return None
    return str(value).encode("utf-8", "replace").decode()


def _number(value: object) -> int | float | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return value
    try:
        return float(value) if isinstance(value, str) else None
    except ValueError:
        return None
