"""Writes the names of events in a report: readable, or as in the file; no two look the same."""

from collections.abc import Iterable, Iterator

import pandas as pd

from tracegraph.workbench.sections.blocks import Block, Plot, Table
from tracegraph.workbench.text.names import readable
from tracegraph.workbench.text.text import ELLIPSIS, visible

LABEL = "label"
"""The last column of rows that have a `name`: the name in readable form."""
_MOST_CHARS = 500
"""A longer text is not a name that can be shortened by meaning, so that it is cut."""


class ShownNames:
    """The names in the tables and plots of a report; `full`: as in the file."""

    def __init__(self, blocks: Iterable[Block], *, full: bool = False) -> None:
        self._full = full
        self._texts = {} if full else readable(_names_in(blocks))

    def of(self, name: object) -> str:
        """Write a name as one safe line of any width."""
        text = self._texts.get(str(name), str(name))
        return visible(text if self._full or len(text) <= _MOST_CHARS else text[:_MOST_CHARS] + ELLIPSIS)


def with_labels(frame: pd.DataFrame) -> pd.DataFrame:
    """Add a last column with readable names to rows that have names."""
    if "name" not in frame.columns:
        return frame
    codes, values = pd.factorize(frame["name"])
    labels = pd.Series([*readable(map(str, values)).values(), None], dtype=object)
    return frame.assign(**{LABEL: labels.take(codes).set_axis(frame.index)})


def _names_in(blocks: Iterable[Block]) -> Iterator[str]:
    tables = (block for block in blocks if isinstance(block, Table | Plot))
    for block in tables:
        for column in block.columns:
            values = block.frame[column.field]
            if column.kind == "name":
                yield from map(str, values.dropna().unique())
            elif column.kind == "lines":
                yield from (str(name) for lines in values for _, name in lines if name)
