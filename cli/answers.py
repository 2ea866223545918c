"""Answers to queries about a run: those that the workspace keeps, else the database's."""

from collections.abc import Mapping
from functools import cached_property

import pandas as pd
import pyarrow as pa

from tracegraph.queries import catalog, inventory
from tracegraph.queries.module import in_types
from tracegraph.store.connection import Database
from tracegraph.store.load import await_indexes
from tracegraph.store.progress import Progress, silent
from tracegraph.store.workspace import Workspace


class Answers:
    """Asks about one run that is ready; `details`: all that is stored about it.

    What is not kept is asked from `indexed`.
    """

    def __init__(
        self, database: Database, run: str, workspace: Workspace, progress: Progress = silent
    ) -> None:
        self._database, self._run, self._workspace = database, run, workspace
        self._progress = progress
        self.details = inventory.run_details(database, run).iloc[0]

    @cached_property
    def indexed(self) -> Database:
        """The database, once the server has built the indexes that it may still be building."""
        await_indexes(self._database, self._progress)
        return self._database

    def of(self, query: str, parameters: Mapping[str, object]) -> pd.DataFrame:
        """Return the rows of a query, in its types; `parameters` are all but the run."""
        kept = self._kept(query, parameters)
        if kept is None:
            return self._ask(query, parameters)
        plain = pa.schema([field.with_type(_decoded(field.type)) for field in kept.schema])
        return _frame(kept.cast(plain), query)

    def path(self, parameters: Mapping[str, object]) -> pd.DataFrame:
        """Return the rows of `critical_path` with texts as categories: a million rows have a few hundred."""
        kept = self._kept("critical_path", parameters)
        rows = self._ask("critical_path", parameters) if kept is None else _frame(kept, "critical_path")
        texts = [column.name for column in catalog.find("critical_path").columns if column.type == "STRING"]
        return rows.astype(dict.fromkeys(texts, "category"))

    def _ask(self, query: str, parameters: Mapping[str, object]) -> pd.DataFrame:
        return catalog.find(query).run(self.indexed, {"run": self._run, **parameters})

    def _kept(self, query: str, parameters: Mapping[str, object]) -> pa.Table | None:
        kept = self._workspace.answer(self._run, str(self.details["created"]), query, parameters)
        columns = {column.name for column in catalog.find(query).columns}
        # An earlier version may have kept fewer columns.
        return kept if kept is not None and columns <= set(kept.column_names) else None


def _frame(rows: pa.Table, query: str) -> pd.DataFrame:
    return in_types(rows.to_pandas(types_mapper=_nullable), catalog.find(query).columns)


def _nullable(kind: pa.DataType) -> pd.Int64Dtype | None:
    return pd.Int64Dtype() if kind == pa.int64() else None


def _decoded(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if pa.types.is_dictionary(kind) else kind
