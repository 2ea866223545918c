"""The traces that HTA's numbers are about, as runs of one imported workspace, and those numbers."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pandas as pd

from tracegraph.base.progress import silent
from tracegraph.ingest.pipeline import ingest_run
from tracegraph.ingest.sources.source import as_source
from tracegraph.queries.catalog import asking, find
from tracegraph.queries.runs import fill
from tracegraph.store.connection import Database
from tracegraph.store.connection_settings import ConnectionSettings
from tracegraph.store.load.indexes import begin_schema, finish_schema
from tracegraph.store.managed.rebuild.offline_import import build_home
from tracegraph.store.session import open_database
from tracegraph.store.workspace import Workspace

SHARED = Path(__file__).parents[3] / "shared"
EXPECTED = SHARED / "expected" / "hta"
FILES = {
    "a1": "a1_megatron_tp8_a100_8rank/rank*.json.gz",
    "a2": "a2_megatron_tp2_v100_2rank/rank*.json",
    "a3": "a3_torchrec_sst_v100_4rank/rank*.json.gz",
    "a4": "a4_*.json.gz",
    "a5": "a5_*.json.gz",
    "a6": "a6_*.json.gz",
    "b1": "b1_*.json.gz",
    "b2": "b2_*.json.gz",
    "c1": "c1_*.json.gz",
    "c2": "c2_*.json.gz",
    "d1": "d1_*.json.gz",
    "d2": "d2_*_kineto.json.gz",
    "e1": "e1_*.json.gz",
    "e3": "e3_*.json.gz",
    "h1_h100": "h1_qwen_h100.json.gz",
    "h1_mi300": "h1_qwen_mi300.json.gz",
    "h2": "h2_*.json.gz",
    "i1": "i1_*.json.gz",
    "i2_exec": "i2_*_exec.json.gz",
    "i3": "i3_*.json.gz",
    "k1": "k1_*.json.gz",
}
"""Files of each trace, below shared/traces; a run bears its name."""


class HtaRuns:
    """The runs in an open database: a run is named as the trace."""

    def __init__(self, database: Database) -> None:
        self.database = database

    def rows(self, query: str, run: str, **values: object) -> pd.DataFrame:
        """Rows of one of our queries about a run; what a user would not give is filled in."""
        asked = find(query)
        return asked.run(self.database, fill(asking(self.database), asked, {"run": run, **values}))


def files_of(trace: str) -> list[Path]:
    """The files of a trace, a rank each."""
    return sorted((SHARED / "traces").glob(FILES[trace]))


def expected(trace: str, feature: str, variant: str = "") -> pd.DataFrame | None:
    """HTA's rows, times in µs; `variant` is "ns" or "full". None where it has none: see failures.tsv."""
    path = EXPECTED / trace / variant / f"{feature}.csv"
    return pd.read_csv(path) if path.exists() else None


@contextmanager
def hta_runs(workspace: Workspace) -> Iterator[HtaRuns]:
    """All traces as runs of a workspace, imported at once."""
    for trace in FILES:
        with workspace.spool() as folder:
            sources = [as_source(path) for path in files_of(trace)]
            tables, manifest = ingest_run(sources, trace, silent, folder=folder)
            workspace.save_run(tables, manifest)
    build_home(workspace, (workspace.load_run(trace) for trace in FILES), silent)
    with open_database(workspace, ConnectionSettings()) as database:
        begin_schema(database)
        finish_schema(database)
        yield HtaRuns(database)
