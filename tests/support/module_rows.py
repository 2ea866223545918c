"""Rows of Cypher modules for tests of what is made of them, without a database."""

from typing import Any

import pandas as pd

from tracegraph.queries.module import in_types, load


def rows_of(module: str, *rows: dict[str, Any]) -> pd.DataFrame:
    """The rows of a module; a number that is not given is 0, a text empty, and what may be null is null."""
    columns = load(module).columns
    empty: dict[str, Any] = {"INTEGER": 0, "FLOAT": 0.0, "STRING": "", "BOOLEAN": False}
    needed = {one.name: empty[one.type] for one in columns if one.type in empty and not one.nullable}
    given = pd.DataFrame([{**needed, **row} for row in rows], columns=[column.name for column in columns])
    return in_types(given, columns)
