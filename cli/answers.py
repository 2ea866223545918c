"""Answers to queries about a run: those that the workspace keeps, else the database's."""

from collections.abc import Mapping

import pandas as pd
import pyarrow as pa

from tracegraph.queries import catalog, inventory
from tracegraph.queries.module import in_types
from tracegraph.store.connection import Database
from tracegraph.store.workspace import Workspace


class Answers:
    """Asks about one run that is ready."""

    def __init__(self, database: Database, run: str, workspace: Workspace) -> None:
        self._database, self._run, self._workspace = database, run, workspace
        self._created = str(inventory.run_details(database, run)["created"].iloc[0])

    def of(self, query: str, parameters: Mapping[str, object]) -> pd.DataFrame:
        """Return the rows of a query, in its types; `parameters` are all but the run."""
        asked = catalog.find(query)
        kept = self._workspace.answer(self._run, self._created, query, parameters)
        # An earlier version may have kept fewer columns.
        if kept is not None and {column.name for column in asked.columns} <= set(kept.column_names):
            return in_types(kept.to_pandas(types_mapper=_nullable), asked.columns)
        return asked.run(self._database, {"run": self._run, **parameters})


def _nullable(kind: pa.DataType) -> pd.Int64Dtype | None:
    return pd.Int64Dtype() if kind == pa.int64() else None
