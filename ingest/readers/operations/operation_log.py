"""Operation logs as Parquet or CSV: a row an operation of a worker, with its step, type and times."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq

from tracegraph.base.errors import InputError
from tracegraph.ingest.arrays import Ints
from tracegraph.ingest.integrity_findings import Integrity
from tracegraph.ingest.readers.operations.log_events import build_log
from tracegraph.ingest.readers.source_file import SourceFile
from tracegraph.ingest.readers.trace_format import TraceFormat
from tracegraph.ingest.readers.unpacking import Content
from tracegraph.ingest.trace import TraceFile
from tracegraph.vocabulary.operation_types import OPERATION_TYPE

_NUMBERS = {"dp_rank": "data_rank", "stage": "stage", "rank": "rank", "step": "step", "seq_id": "sequence"}
_CHUNKS = {"mc": "chunk", "gmc": "model_chunk"}
_TYPE, _TIMES = "optype", ("start_ts", "duration")
_NEEDED = (*_NUMBERS, _TYPE, *_TIMES)
"""The columns that a log must have; times are in seconds, the start from the begin of the step."""
_PARQUET = b"PAR1"
_LONGEST_S = 30 * 86_400.0
"""A time beyond this many seconds is a mistake, as in other formats."""
_DAMAGE = (pa.ArrowException, OSError, UnicodeDecodeError)


def _sniff(head: bytes) -> bool:
    return head.startswith(_PARQUET) or set(_NEEDED) <= set(_columns_of_text(head))


def _columns_of_text(head: bytes) -> list[str]:
    line = head.removeprefix(b"\xef\xbb\xbf").split(b"\n", 1)[0]
    return [name.strip(' \r"') for name in line.decode("utf-8", "replace").split(",")]


def _holds(source: SourceFile) -> bool:
    if not source.head.startswith(_PARQUET):
        return True
    try:
        return set(_NEEDED) <= set(pq.read_schema(pa.BufferReader(source.peek())).names)
    except (*_DAMAGE, KeyError):
        return False


def _read(source: SourceFile, integrity: Integrity) -> TraceFile:
    table = _read_table(source.path, source.head, source.take(), integrity)
    table = table.append_column("source_index", pa.array(np.arange(table.num_rows)))
    table = _without_unusable(table, integrity)
    return build_log(source, _rows_of(source.path, table), integrity)


def _read_table(path: Path, head: bytes, content: Content, integrity: Integrity) -> pa.Table:
    limits = integrity.limits
    try:
        if head.startswith(_PARQUET):
            file = pq.ParquetFile(pa.BufferReader(content))
            groups = range(file.num_row_groups)
            limits.check_unpacked(path, sum(file.metadata.row_group(k).total_byte_size for k in groups))
            limits.check_events(path, file.metadata.num_rows)
            wanted = [name for name in file.schema_arrow.names if name in (*_NEEDED, *_CHUNKS)]
            return file.read(columns=wanted)
        limits.check_unpacked(path, len(content))
        wanted = [name for name in _columns_of_text(head) if name in (*_NEEDED, *_CHUNKS)]
        options = pa.csv.ConvertOptions(include_columns=wanted)
        table = pa.csv.read_csv(pa.BufferReader(content), convert_options=options)
    except _DAMAGE as error:
        reason = " ".join(str(error).split())
        raise InputError(f"{path} is a damaged operation log: {reason}", "write it again") from None
    limits.check_events(path, table.num_rows)
    return table


def _without_unusable(table: pa.Table, integrity: Integrity) -> pa.Table:
    """Leave out rows without a usable time, and state how many they are."""
    start, length = (_seconds(table, name) for name in _TIMES)
    places = np.arange(table.num_rows)
    early = ~(np.abs(start) <= _LONGEST_S)
    integrity.add_places("start_missing", "operations without a usable start_ts are dropped", places[early])
    negative = ~early & (length < 0)
    integrity.add_places(
        "duration_negative", "operations with a negative duration are dropped", places[negative]
    )
    unknown = ~early & ~negative & ~(length <= _LONGEST_S)
    integrity.add_places(
        "duration_missing", "operations without a usable duration are dropped", places[unknown]
    )
    return table.filter(pa.array(~(early | negative | unknown)))


def _seconds(table: pa.Table, name: str) -> "np.ndarray[tuple[int], np.dtype[np.float64]]":
    try:
        column = pc.cast(table[name], pa.float64())
    except pa.ArrowException:
        raise _wrong(name, table, "seconds") from None
    return np.asarray(column.to_numpy(zero_copy_only=False), dtype=np.float64)


def _rows_of(path: Path, table: pa.Table) -> pd.DataFrame:
    """Make the columns of OPERATION_SCHEMA of the table, the times from the begin of each step, ns."""
    columns: dict[str, object] = {"source_index": table["source_index"].to_numpy()}
    columns |= {name: _whole(path, table, given) for given, name in _NUMBERS.items()}
    missing = {"chunk": 0, "model_chunk": columns["stage"]}  # one chunk a stage
    columns |= {
        name: _whole(path, table, given) if given in table.column_names else missing[name]
        for given, name in _CHUNKS.items()
    }
    columns["type"] = _types(path, table)
    start, length = (np.rint(_seconds(table, name) * 1e9).astype(np.int64) for name in _TIMES)
    return pd.DataFrame({**columns, "start_ns": start, "end_ns": start + length})


def _whole(path: Path, table: pa.Table, name: str) -> Ints:
    try:
        column = pc.cast(table[name], pa.int64())
    except pa.ArrowException:
        raise _wrong(name, table, "whole numbers", path) from None
    if column.null_count:
        row = table["source_index"][int(np.flatnonzero(column.is_null().to_numpy())[0])]
        raise InputError(f"{path} has no {name} in row {row}", "state it for every operation")
    return np.asarray(column.to_numpy(), dtype=np.int64)


def _wrong(name: str, table: pa.Table, what: str, path: Path | str = "the log") -> InputError:
    return InputError(
        f"{path}: column {name} holds {table[name].type} instead of {what}",
        "write it as docs/operations.md says",
    )


def _types(path: Path, table: pa.Table) -> Sequence[str]:
    texts: list[str] = pc.cast(table[_TYPE], pa.string()).to_pylist()
    for text in dict.fromkeys(texts):
        if text not in OPERATION_TYPE:
            raise InputError(
                f"{path} holds operations of an unknown type: {str(text)[:60]!r}",
                f"name them as one of {', '.join(OPERATION_TYPE)}",
            )
    return texts


OPERATIONS = TraceFormat(
    name="operation log",
    suffixes=(".operations.parquet", ".operations.csv"),
    sniff=_sniff,
    read=_read,
    holds=_holds,
)
"""Tables as they come with the paper on stragglers by what-if analysis, and others of their form."""
