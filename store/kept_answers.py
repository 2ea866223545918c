"""Answers kept beside the run that they are about, in files named by everything that they depend on."""

import os
from contextlib import suppress

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from tracegraph.store.connection import Database
from tracegraph.store.connection_settings import ConnectionSettings
from tracegraph.store.managed.server import served_database
from tracegraph.store.workspace import Workspace

FOLDER = "answers"
_MOST = 500
"""The most answers that are kept of one run; beyond it those go that were not asked for longest."""


class KeptAnswers:
    """The kept answers of a workspace's runs, for as long as nobody else changes its database.

    For a server that `settings.uri` names nothing is kept, because others may write to it unseen.
    """

    def __init__(self, workspace: Workspace, settings: ConnectionSettings, database: Database) -> None:
        self._workspace, self._database = workspace, database
        self._managed = settings.uri is None

    def hold(self) -> bool:
        """Tell whether the database holds only what tracegraph stored, so that answers are still true."""
        return self._managed and not served_database.may_be_changed(
            self._workspace.neo4j_home, self._database
        )

    def load(self, run: str, key: str) -> pd.DataFrame | None:
        """Read the answer with that key; None if it is not kept."""
        path = self._workspace.run_folder(run) / FOLDER / f"{key}.parquet"
        try:
            table = pq.read_table(path)
            os.utime(path)
        except (OSError, pa.ArrowException):
            return None
        rows: pd.DataFrame = table.to_pandas(types_mapper=nullable)
        return rows

    def save(self, run: str, key: str, rows: pd.DataFrame) -> None:
        """Keep an answer. If it cannot be written it is dropped, since the query can be asked again."""
        folder = self._workspace.run_folder(run) / FOLDER
        fresh = folder / f".{key}.{os.getpid()}"
        with suppress(OSError):
            folder.mkdir(exist_ok=True)
            try:
                pq.write_table(pa.Table.from_pandas(rows, preserve_index=False), fresh, compression="zstd")
                fresh.replace(folder / f"{key}.parquet")
            finally:
                fresh.unlink(missing_ok=True)
            kept = sorted(folder.glob("*.parquet"), key=lambda path: path.stat().st_mtime)
            for path in kept[:-_MOST]:
                path.unlink(missing_ok=True)


def nullable(kind: pa.DataType) -> pd.Int64Dtype | None:
    """Choose pandas' nullable whole numbers for Arrow's, as a mapper of types for `to_pandas`."""
    return pd.Int64Dtype() if kind == pa.int64() else None
