"""One file, one graph: the tables do not depend on the process that makes them."""

import hashlib
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from export import from_tables

from tracegraph.base.progress import silent
from tracegraph.ingest.pipeline import ingest_run
from tracegraph.store.schema.schema import INDEXES

EXAMPLE = Path(__file__).parents[2] / "examples" / "traces" / "simulated_gpu.json.gz"
ELSEWHERE = f"""
import sys
from pathlib import Path
sys.path += {sys.path!r}
import test_pipeline
print(test_pipeline.digest(Path(sys.argv[1])))
"""


def digest(trace: Path) -> str:
    """SHA-256 of all nodes and relationships but the time of ingest."""
    tables = ingest_run([trace], "same", silent)[0].completed()
    tables.nodes["Run"] = tables.nodes["Run"].drop_columns("created")
    return hashlib.sha256(repr(from_tables(tables)).encode()).hexdigest()


def in_another_process(trace: Path) -> str:
    """The same in a process with another order of its sets."""
    environment = {**os.environ, "PYTHONHASHSEED": "1", "PYTHONPATH": str(Path(__file__).parent)}
    command = [sys.executable, "-c", ELSEWHERE, str(trace)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.strip()


def test_another_process_makes_the_same_graph() -> None:
    assert digest(EXAMPLE) == digest(EXAMPLE) == in_another_process(EXAMPLE)


@pytest.mark.parametrize("name", ["b1_hta_alexnet_cuda_sync.json.gz"])
def test_another_process_makes_the_same_graph_of_a_real_trace(
    shared_trace: Callable[[str], Path], name: str
) -> None:
    assert digest(shared_trace(name)) == in_another_process(shared_trace(name))


def test_every_node_has_what_its_indexes_know_it_by() -> None:
    tables = ingest_run([EXAMPLE], "same", silent)[0].completed()
    for table in tables.nodes.values():
        for row in table.to_pylist():
            labels = row["labels"].split(";")
            known_by = [index for index in INDEXES if index.label in labels]
            assert all(row[name] is not None for index in known_by for name in index.properties)
