"""The path's rows from the columns are those that the stored graph gives."""

from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from tracegraph.ingest.causal.events import read_events
from tracegraph.ingest.causal.model import build_model
from tracegraph.ingest.causal.path_rows import path_rows
from tracegraph.ingest.integrity.findings import Integrity
from tracegraph.ingest.pipeline import ingest_run
from tracegraph.ingest.readers import read_trace
from tracegraph.queries.catalog import ask, asking
from tracegraph.queries.runs import find_window
from tracegraph.store.connection import Database
from tracegraph.store.load import load_run
from tracegraph.store.progress import silent

TRACES = Path(__file__).parents[2] / "examples" / "traces"
OWN = ["simulated_gpu.json.gz", "train_small.json.gz", "slow_loader.json.gz", "two_threads.json.gz"]
REAL = [
    "b2_hta_cuda_event_sync.json.gz",
    "h2_hta_mi250_minitoy_train.json.gz",
    "a3_torchrec_sst_v100_4rank/rank3.pt.trace.json.gz",
    "torch_cpu/ddp_gloo_w2_straggler200_rank0.json.gz",
]
COMPARED = ["lane", "name", "category", "start_ns", "end_ns", "dependency"]
DETAILS = ["mechanism", "evidence", "confidence"]


def from_columns(path: Path) -> pd.DataFrame:
    integrity = Integrity(path.name)
    return path_rows(build_model(*read_events(read_trace(path, integrity)), integrity))


def from_database(database: Database, path: Path) -> pd.DataFrame:
    tables, _ = ingest_run([path], f"rows-{path.name}", silent)
    load_run(database, tables)
    window = find_window(asking(database), tables.run)
    return ask(database, "critical_path", run=tables.run, **vars(window))


def assert_same(database: Database, path: Path) -> None:
    ours, stored = from_columns(path), from_database(database, path)
    assert ours[COMPARED].to_dict("records") == stored[COMPARED].to_dict("records")
    assert ours["source_index"].tolist() == stored["source_index"].fillna(-1).tolist()
    empty = {"mechanism": "", "evidence": "", "confidence": -1.0}
    expected = stored[DETAILS].fillna(empty).to_dict("records")
    assert ours[DETAILS].fillna(empty).to_dict("records") == expected


@pytest.mark.parametrize("name", OWN)
def test_own_traces(database: Database, name: str) -> None:
    assert_same(database, TRACES / name)


@pytest.mark.parametrize("name", REAL)
def test_real_traces(database: Database, shared_trace: Callable[[str], Path], name: str) -> None:
    assert_same(database, shared_trace(name))
