"""Rows as plain data."""

import json

import pandas as pd

_DIGITS = 12


def records(frame: pd.DataFrame) -> list[dict[str, object]]:
    """The rows as objects that JSON can hold: whole numbers stay exact, what is missing is None."""
    found: list[dict[str, object]] = json.loads(frame.to_json(orient="records", double_precision=_DIGITS))
    return found
