"""Whatever happens to a trace, it loads or is refused in one line: no other exception, at no stage."""

import random
import tempfile
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mutations import EXAMPLES, mutate, run_all, seeds

from tracegraph.store.errors import InputError

DOCUMENTS = seeds(sorted(EXAMPLES.glob("*.json.gz")))
_HEAD = '{"ph": "X", "cat": "cpu_op", "name": "a", "pid": 1, "tid": 1, "ts": 1, "dur": 9}'


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


@settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.sampled_from(DOCUMENTS), st.integers(0, 2**64))
def test_a_damaged_trace_loads_or_is_refused(document: bytes, seed: int) -> None:
    _run(mutate(document, random.Random(seed)))


@settings(max_examples=150, deadline=None)
@given(st.binary(max_size=200), st.sampled_from([b"", b"[", b'{"traceEvents": [', b"\x1f\x8b\x08", b"PAR1"]))
def test_any_bytes_are_read_or_refused(data: bytes, begin: bytes) -> None:
    _run(begin + data)


@pytest.mark.parametrize(
    "entry",
    [
        '{"ph": "X", "cat": "cpu_op", "name": "b", "pid": 1, "tid": 1, "ts": 2, "dur": 1,'
        ' "args": {"Input Dims": "\\ud800"}}',
    ],
)
def test_cases_that_fuzzing_found(entry: str) -> None:
    _run(f"[{_HEAD}, {entry}]".encode())
