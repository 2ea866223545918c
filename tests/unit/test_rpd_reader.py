"""Databases of rocmProfileData: what independent SQL found in a real one, and what each table becomes."""

import sqlite3
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numpy as np
import pytest
from model_checks import check_tiling

from tracegraph.base.errors import InputError
from tracegraph.ingest.causal.events.event_arrays import read_events
from tracegraph.ingest.causal.graph.invariants import check_model
from tracegraph.ingest.causal.graph.model import build_model
from tracegraph.ingest.integrity_findings import Integrity
from tracegraph.ingest.intervals import union_length
from tracegraph.ingest.readers import read_parts_unchecked, read_trace
from tracegraph.ingest.trace import TraceFile

TABLES = {
    "rocpd_api": "id pid tid start end apiName_id args_id",
    "rocpd_op": "id gpuId queueId sequenceId start end description_id opType_id",
    "rocpd_api_ops": "id api_id op_id",
    "rocpd_copyapi": "api_ptr_id stream size",
    "rocpd_string": "id string",
}
"""The columns of each table that are read, and some more."""
TEXTS = ("", "hipLaunchKernel", "UserMarker", "OpTable::writeRows", "hipMemcpyAsync", "forward", "k")
WORDS = ("KernelExecution", "CopyHostToDevice", "Barrier")
ID = {text: number for number, text in enumerate(TEXTS + WORDS, 1)}
Rows = Iterable[Sequence[object]]


def _write(path: Path, without: str = "", **rows: Rows) -> Path:
    """A database with these rows by table, whose names are given without the prefix."""
    with sqlite3.connect(path) as connection:
        for table, columns in TABLES.items():
            if table != without:
                names = ", ".join(f'"{name}"' for name in columns.split())
                connection.execute(f"CREATE TABLE {table} ({names})")
                for row in rows.get(table.removeprefix("rocpd_"), ()):
                    connection.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(row))})", row)
    connection.close()
    return path


def _job(path: Path, *pids: int, without: str = "") -> Path:
    """A database in which each process launches a kernel and copies 400 bytes, within a range."""
    api: list[Sequence[object]] = []
    op: list[Sequence[object]] = []
    links: list[Sequence[object]] = []
    copies: list[Sequence[object]] = []
    for place, pid in enumerate(pids):
        n = 10 * place
        api += [
            (n + 1, pid, pid, 0, 100, ID["UserMarker"], ID["forward"]),
            (n + 2, pid, pid, 10, 20, ID["hipLaunchKernel"], ID[""]),
            (n + 3, pid, pid, 30, 40, ID["hipMemcpyAsync"], ID[""]),
            (n + 4, pid, pid + 1, 110, 120, ID["OpTable::writeRows"], ID[""]),
        ]
        op += [
            (n + 7, place, 0, 0, 15, 25, ID["k"], ID["KernelExecution"]),
            (n + 8, place, 0, 0, 50, 90, ID[""], ID["CopyHostToDevice"]),
            (n + 9, place, 0, 0, 90, 91, ID[""], ID["Barrier"]),
        ]
        links += [(n + 1, n + 2, n + 7), (n + 2, n + 3, n + 8), (n + 3, n + 2, n + 9)]
        copies.append((n + 3, "0x0", 400))
    texts = [(number, text) for text, number in ID.items()]
    return _write(path, without, api=api, op=op, api_ops=links, copyapi=copies, string=texts)


def _read(path: Path) -> tuple[TraceFile, dict[str, int]]:
    integrity = Integrity(path.name)
    trace = read_trace(path, integrity)
    return trace, {finding.code: finding.count for finding in integrity}


def test_a_real_file_has_what_sql_finds_and_a_path_that_tiles(shared_trace: Callable[[str], Path]) -> None:
    trace, findings = _read(shared_trace("h3_rpd_matmul.rpd"))
    model = build_model(*read_events(trace), Integrity("h3"))
    events, work = model.events, model.events.is_gpu
    assert union_length(events.start[work], events.end[work]) == 183918056
    kernels = events.category.among("kernel")
    assert (int(kernels.sum()), int((events.end - events.start)[kernels].sum())) == (29, 26399795)
    rows = trace.events.to_pandas()
    copies = rows[rows["name"] == "Memcpy HtoD"]
    assert (len(copies), int(copies["bytes"].sum())) == (2, 2032000000)
    assert int((model.launches.call[work] >= 0).sum()) == int(work.sum()) == 85
    assert "columns_missing" not in findings
    assert trace.versions == {"rpd_schema": "2"}
    check_model(model)
    check_tiling(model)


def test_calls_ranges_work_and_the_profiler_s_own(tmp_path: Path) -> None:
    trace, _ = _read(_job(tmp_path / "trace.rpd", 9))
    columns = ("category", "name", "pid", "tid", "correlation", "bytes", "bandwidth")
    assert [tuple(row.values()) for row in trace.events.select(list(columns)).to_pylist()] == [
        ("user_annotation", "forward", "9", "9", None, None, None),
        ("cuda_runtime", "hipLaunchKernel", "9", "9", 2, None, None),
        ("kernel", "k", "0", "0", 2, None, None),
        ("cuda_runtime", "hipMemcpyAsync", "9", "9", 3, None, None),
        ("gpu_memcpy", "Memcpy HtoD", "0", "0", 3, 400, 10**10),
        ("overhead", "OpTable::writeRows", "9", "10", None, None, None),
    ]
    assert trace.other_phases == {"i": 1}


def test_each_process_with_work_is_a_rank(tmp_path: Path) -> None:
    parts = read_parts_unchecked(_job(tmp_path / "trace.rpd", 40, 9), Integrity("trace.rpd"))
    assert [(trace.part, trace.rank, trace.events.num_rows) for trace, _ in parts] == [
        ("9", 0, 6),
        ("40", 1, 6),
    ]
    works = [np.unique(trace.events["device"].drop_null().to_numpy()).tolist() for trace, _ in parts]
    assert works == [[1], [0]]


@pytest.mark.parametrize(
    ("table", "rows"), [("rocpd_api", 2), ("rocpd_api_ops", 6), ("rocpd_string", 7), ("rocpd_copyapi", 6)]
)
def test_a_table_that_is_absent_is_a_finding(tmp_path: Path, table: str, rows: int) -> None:
    trace, findings = _read(_job(tmp_path / "trace.rpd", 9, without=table))
    assert trace.events.num_rows == rows
    assert ("columns_missing" in findings) == table.startswith("rocpd_api")


def test_a_database_without_rows_says_what_to_record(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="without any call or work") as caught:
        _read(_write(tmp_path / "trace.rpd"))
    assert "runTracer.sh" in caught.value.hint
