"""Fixtures that all tests share."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tracegraph.ingest.integrity.codes import CODES
from tracegraph.ingest.integrity.findings import Finding, Integrity
from tracegraph.ingest.readers import read_trace
from tracegraph.ingest.trace import TraceFile

SHARED_TRACES = Path(__file__).parents[1].parent / "shared" / "traces"

KNOWN = {(name, code.level) for name, code in CODES.items()}
ReadDocument = Callable[[str | bytes], tuple[TraceFile, dict[str, Finding]]]


@pytest.fixture(scope="session")
def shared_trace() -> Callable[[str], Path]:
    """Path of a real trace by its name below shared/traces; the test is skipped where it is absent."""

    def find(name: str) -> Path:
        path = SHARED_TRACES / name
        if not path.exists():
            pytest.skip(f"real trace {name} is not here: {SHARED_TRACES} has none")
        return path

    return find


@pytest.fixture
def read_document(tmp_path: Path) -> ReadDocument:
    """Read a document given as text: its trace, and the findings by their code."""

    def read(document: str | bytes) -> tuple[TraceFile, dict[str, Finding]]:
        path = tmp_path / "trace.json"
        path.write_bytes(document.encode() if isinstance(document, str) else document)
        integrity = Integrity(path.name)
        trace = read_trace(path, integrity)
        assert {(finding.code, finding.level) for finding in integrity} <= KNOWN
        return trace, {finding.code: finding for finding in integrity}

    return read
