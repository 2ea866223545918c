"""Kineto JSON to Parquet and back, without loss: order, keys, number literals and unknown fields stay."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
from isal import igzip

from tracegraph.ingest.integrity.findings import Integrity
from tracegraph.ingest.limits import DEFAULT_LIMITS, Limits
from tracegraph.ingest.microseconds import to_ns
from tracegraph.ingest.readers.kineto import parquet_file
from tracegraph.ingest.readers.kineto.document import Batch, StrictDocument, locate_list, parse_strict
from tracegraph.ingest.readers.kineto.entry_decoding import Event, decode_events, time_literals
from tracegraph.ingest.readers.unpacking import read_bytes, unpack
from tracegraph.store.errors import InputError

_GZIP_LEVEL = 2
_JSON = (".json", ".json.gz")


@dataclass(frozen=True)
class Converted:
    """What was written."""

    path: Path
    events: int
    bytes: int


def convert_trace(
    source: Path, target: Path, replace: bool = False, limits: Limits = DEFAULT_LIMITS
) -> Converted:
    """Write `source` in the other form: JSON (plain or gzip) to .parquet, Parquet to .json or .json.gz.

    The target appears whole or not at all. InputError when it exists and `replace` is false, when its name
    does not fit, or when the source is damaged, since then nothing could be kept without loss.
    """
    data = read_bytes(source, limits=limits)
    from_parquet = data.startswith(parquet_file.MAGIC)
    _check_target(source, target, _JSON if from_parquet else (".parquet",), replace)
    if from_parquet:
        document = parquet_file.ParquetDocument(source, data, limits)
        with _new_file(target) as temporary:
            events = _write_json(document, temporary, packed=target.name.endswith(".gz"))
    else:
        with _new_file(target) as temporary:
            events = _write_parquet(source, data, temporary, limits)
    return Converted(target, events, target.stat().st_size)


def _check_target(source: Path, target: Path, endings: tuple[str, ...], replace: bool) -> None:
    if not target.name.endswith(endings):
        raise InputError(
            f"{source} cannot be converted to {target}", f"name the output {target.stem}{endings[0]}"
        )
    if not target.parent.is_dir():
        raise InputError(f"{target.parent} is no folder", "create it, or choose another")
    if target.exists() and not replace:
        raise InputError(f"{target} exists already", "choose another name, or replace it with --force")
    if target.exists() and target.samefile(source):
        raise InputError(f"{target} is the input itself", "choose another name")
    if target.is_dir():
        raise InputError(f"{target} is a directory", "choose the name of a file")


@contextmanager
def _new_file(target: Path) -> Iterator[Path]:
    """A temporary path beside `target` that becomes `target` when all has been written."""
    temporary = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        yield temporary
        with temporary.open("rb") as file:
            os.fsync(file.fileno())
        temporary.replace(target)
    except OSError as error:
        raise InputError(
            f"{target} cannot be written: {error.strerror or error}", "check the folder"
        ) from None
    finally:
        temporary.unlink(missing_ok=True)


def _write_parquet(source: Path, data: bytes, target: Path, limits: Limits) -> int:
    """Write a row group a batch; returns the number of rows."""
    integrity = Integrity(str(source))
    text = unpack(source, data, integrity, limits)
    for finding in integrity:
        if finding.level == "error":
            raise _refusal(source, finding.message)
    head, document, tail = _split(source, text)
    schema = parquet_file.SCHEMA.with_metadata({parquet_file.HEAD: head, parquet_file.TAIL: tail})
    rows = 0
    with pq.ParquetWriter(target, schema, compression="zstd") as writer:
        for batch in document.batches():
            writer.write_table(_to_table(source, batch))
            rows += len(batch.texts)
    return rows


def _split(source: Path, text: bytes | bytearray) -> tuple[bytes, StrictDocument, bytes]:
    """The document, and its text before and after the list of events."""
    try:
        document = parse_strict(source, text)
        start, end = locate_list(text)
        head, tail = bytes(text[:start]), bytes(text[end:])
        head.decode()
        tail.decode()
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise _refusal(source, str(error)) from None
    return head, document, tail


def _refusal(source: Path, reason: str) -> InputError:
    return InputError(
        f"{source} cannot be converted without loss: {reason}",
        "`tracegraph report` reads damaged traces and says what is lost",
    )


def _to_table(source: Path, batch: Batch) -> pa.Table:
    texts = batch.texts
    try:
        exact = [bytes(text).decode() for text in texts]
    except UnicodeDecodeError as error:
        raise _refusal(source, f"an event from index {batch.positions[0]} on is no UTF-8 ({error})") from None
    events = [event or Event() for event in decode_events(texts)[0]]
    columns = {
        "source_index": pa.array(np.array(batch.positions, dtype=np.int64)),
        "ph": _texts([event.ph for event in events]),
        "cat": _texts([event.cat for event in events]),
        "name": _texts([event.name for event in events]),
        "pid": _texts([event.pid for event in events]),
        "tid": _texts([event.tid for event in events]),
        "ts_ns": _nullable(to_ns([event.ts for event in events], lambda k: time_literals(texts[k])[0])),
        "dur_ns": _nullable(to_ns([event.dur for event in events], lambda k: time_literals(texts[k])[1])),
        "json": pa.array(exact, pa.large_string()),
    }
    return pa.table([columns[name] for name in parquet_file.SCHEMA.names], schema=parquet_file.SCHEMA)


def _texts(values: list[str | None] | list[int | str | None]) -> "pa.Array[Any]":
    return pa.array([None if v is None else str(v) for v in values], pa.string()).dictionary_encode()


def _nullable(times: tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]) -> "pa.Array[Any]":
    return pa.array(times[0], mask=~times[1])


def _write_json(document: parquet_file.ParquetDocument, target: Path, packed: bool) -> int:
    """Write the document batch by batch; returns the number of events."""
    events = 0
    with target.open("wb") as raw, _gzip(raw) if packed else nullcontext(raw) as file:
        file.write(document.head + b"[")
        for batch in document.batches():
            file.write((b",\n" if events else b"\n") + b",\n".join(batch.texts))
            events += len(batch.texts)
        file.write(b"\n]" + document.tail)
    return events


def _gzip(raw: BinaryIO) -> BinaryIO:
    """A packing file over `raw`, without name and time, so that the same trace gives the same bytes."""
    packing: Any = igzip.IGzipFile
    file: BinaryIO = packing("", "wb", _GZIP_LEVEL, raw, 0)
    return file
