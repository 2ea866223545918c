"""Whatever happens to a trace, it loads or is refused in one line: no other exception, at no stage."""

import gzip
import json
import random
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mutations import EXAMPLES, VALUES, mutate, run_all, seeds

from tracegraph.base.errors import InputError

FIELDS = ("ph", "cat", "name", "pid", "tid", "ts", "dur", "id", "args")
ARGUMENTS = ("correlation", "device", "stream", "Sequence number", "Fwd thread id", "bytes", "Input Dims")
CALL: dict[str, Any] = {
    "ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "dur": 1
}  # fmt: skip
KERNEL: dict[str, Any] = {**CALL, "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "dur": 5}
DOCUMENTS = seeds(sorted(EXAMPLES.glob("*.json.gz")))


def _run(data: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.json"
        path.write_bytes(data)
        with suppress(InputError):
            run_all(path)


def test_the_documents_are_whole_before_they_are_damaged(tmp_path: Path) -> None:
    for document in DOCUMENTS:
        (tmp_path / "trace.json").write_bytes(document)
        run_all(tmp_path / "trace.json")


@pytest.mark.parametrize("content", [b"SQLite format 3\0\xff", b"rank,step\n0,1\n", b"[{}]"])
def test_what_is_no_object_with_events_is_damaged_whole(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "plain").write_bytes(content)
    (tmp_path / "packed").write_bytes(gzip.compress(content))
    assert seeds([tmp_path / "plain", tmp_path / "packed"]) == [content, content]


@pytest.mark.parametrize(
    "turn",
    [k if k % 20 == 0 else pytest.param(k, marks=pytest.mark.exhaustive) for k in range(len(VALUES))],
)
def test_every_field_with_an_odd_value(turn: int) -> None:
    """One call with its kernel for each field; in each pair the field of one row has an odd value.

    Over all turns every field has every value, over every 20th every value is in some field.
    """
    events: list[dict[str, object]] = []
    for k, (row, field) in enumerate((row, field) for row in (0, 1) for field in (*FIELDS, *ARGUMENTS)):
        pair: list[dict[str, Any]] = [
            {**CALL, "ts": 10 * k + 0.5, "args": {"correlation": k + 1, "Sequence number": k}},
            {**KERNEL, "ts": 10 * k + 2.5, "args": {"correlation": k + 1, "device": 0, "stream": 7}},
        ]
        target = pair[row] if field in FIELDS else pair[row]["args"]
        target[field] = VALUES[(k + turn) % len(VALUES)]
        events += pair
    _run(json.dumps({"traceEvents": events}).encode())


@given(st.sampled_from(range(len(DOCUMENTS))), st.integers(0, 2**64))
def test_a_damaged_trace_loads_or_is_refused(document: int, seed: int) -> None:
    _run(mutate(DOCUMENTS[document], random.Random(seed)))


@given(st.binary(max_size=200), st.sampled_from([b"", b"[", b'{"traceEvents": [', b"\x1f\x8b\x08", b"PAR1"]))
def test_any_bytes_are_read_or_refused(data: bytes, begin: bytes) -> None:
    _run(begin + data)


@pytest.mark.parametrize(
    "rows",
    [
        [{**CALL, "ts": 1}, {**CALL, "cat": "cpu_op", "ts": 2, "args": {"Input Dims": "\ud800"}}],
        [{**KERNEL, "ts": 1}],
        [{**KERNEL, "ts": ts, "args": {"device": 0, "stream": ts, "correlation": ts}} for ts in (1, 2, 3)],
        [{**CALL, "ts": 1}],
    ],
    ids=["half a surrogate in shapes", "one kernel", "kernels only", "one call"],
)
def test_cases_that_fuzzing_found(rows: list[dict[str, object]]) -> None:
    _run(json.dumps(rows).encode())
