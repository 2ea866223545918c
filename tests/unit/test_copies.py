"""Work shared with copies of this process: the same result, also where a copy ends or cannot be made."""

import json
import os
import signal
import threading
import time
from dataclasses import fields
from pathlib import Path

import numpy as np
import psutil
import pyarrow as pa
import pytest

from tracegraph.base import copies
from tracegraph.base.copies import count_at_once, in_copy, leave_cores
from tracegraph.base.parallel import beside
from tracegraph.ingest.integrity_findings import Integrity
from tracegraph.ingest.readers import read_trace
from tracegraph.ingest.readers.kineto import entries, strict_document
from tracegraph.ingest.trace import TraceFile

ME = os.getpid()


def test_what_a_copy_finds_comes_back_with_its_arrays() -> None:
    held = np.arange(1_000_000)
    with in_copy(lambda: (os.getpid(), held * 2)) as found:
        process, doubled = found()
    assert process != ME
    assert np.array_equal(doubled, held * 2)


def test_work_of_a_copy_that_is_killed_is_done_here() -> None:
    def work() -> int:
        if os.getpid() != ME:
            os.kill(os.getpid(), signal.SIGKILL)
        return os.getpid()

    with in_copy(work) as found:
        assert found() == ME


def test_an_error_is_raised_to_who_asks() -> None:
    def work() -> int:
        raise ValueError(os.getpid())

    with in_copy(work) as found, pytest.raises(ValueError, match=str(ME)):
        found()


def test_work_is_done_here_where_no_copy_can_be_made(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> int:
        raise BlockingIOError

    monkeypatch.setattr(os, "fork", refuse)
    with in_copy(os.getpid) as found:
        assert found() == ME


def test_a_copy_ends_with_the_block() -> None:
    others = set(psutil.Process().children())
    with in_copy(lambda: time.sleep(60)):
        (copy,) = set(psutil.Process().children()) - others
    assert not copy.is_running()


def test_only_the_main_thread_makes_copies(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copies, "cores", lambda: 4)
    assert count_at_once() == 4
    assert beside(count_at_once).result() == 1


def test_a_process_among_others_makes_no_copies(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copies, "cores", lambda: 4)
    monkeypatch.setattr(copies, "_cores_are_taken", threading.Event())
    leave_cores()
    assert count_at_once() == 1


def test_work_of_a_copy_that_never_ends_is_done_here(monkeypatch: pytest.MonkeyPatch) -> None:
    def work() -> int:
        while os.getpid() != ME:
            time.sleep(1)
        return os.getpid()

    monkeypatch.setattr(copies, "_PATIENCE_S", 0.1)
    with in_copy(work) as found:
        assert found() == ME


def _entry(k: int) -> dict[str, object]:
    work = {"correlation": k, "stream": 7, "device": 0, "x": "y" * (k % 40)}
    memory = {"Bytes": k, "Device Type": 0, "Device Id": -1, "Total Allocated": k}
    kinds: list[dict[str, object]] = [
        {"ph": "X", "cat": "cpu_op", "args": {"Input Dims": [[k % 5]], "Sequence number": k}},
        {"ph": "X", "cat": "kernel", "args": work},
        {"ph": "X", "cat": "python_function", "args": {"Python id": k, "Python parent id": k - 7}},
        {"ph": "X", "cat": "cuda_profiler_range", "args": {"counter": k}},
        {"ph": "X", "cat": "cpu_op", "args": k},
        {"ph": "s", "cat": "ac2g", "id": k},
        {"ph": "f", "cat": "ac2g", "id": k - 1},
        {"ph": "i", "name": "[memory]", "args": memory},
        {"ph": "M", "name": "thread_name", "args": {"name": f"thread {k}"}},
        {"ph": ["X"]},
        {"ph": "b"},
    ]
    return {"name": f"n{k % 13}", "pid": 1, "tid": k % 3, "ts": k, "dur": 1, **kinds[k % len(kinds)]}


def _read(path: Path) -> tuple[TraceFile, list[dict[str, object]]]:
    integrity = Integrity(path.name)
    return read_trace(path, integrity), integrity.rows()


def test_a_trace_read_in_shares_is_the_trace_read_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "trace.json"
    path.write_text(json.dumps({"traceEvents": [*(_entry(k) for k in range(1000)), 7]}))
    monkeypatch.setattr(strict_document, "BATCH", 64)
    shares = []
    for count in (1, 3):
        monkeypatch.setattr(entries, "count_at_once", lambda count=count: count)
        shares.append(_read(path))
    (whole, found), (joined, found_too) = shares
    assert found == found_too
    assert {"entry_not_object", "event_repaired", "args_unusable"} <= {str(one["code"]) for one in found}
    for field in fields(TraceFile):
        one, other = getattr(whole, field.name), getattr(joined, field.name)
        assert one.equals(other) if isinstance(one, pa.Table) else one == other, field.name
