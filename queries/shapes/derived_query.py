"""The declaration of a query that is made from the rows of Cypher modules."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from tracegraph.queries.module import Column, Parameter

Values = Mapping[str, Any]


@dataclass(frozen=True)
class Derived:
    """A query whose rows `shape` makes from its values and from the rows of `modules`, in their order.

    The rows of the modules in `again`, about a second window, B, follow those. `fixed` are values that all
    modules get, so that a caller does not give them. `parameters` are those of the shape itself. `settle`
    turns values that a caller may give in several ways into the one that decides the rows. `empty_when` says
    when there are no rows; without it, there are none when the first module has none. `due_if` decides from
    the values and the rows of the first module whether to ask the others, which take long; where they are not
    asked, the query has no rows.
    """

    name: str
    summary: str
    modules: tuple[str, ...]
    columns: tuple[Column, ...]
    shape: Callable[..., pd.DataFrame]
    again: tuple[str, ...] = ()
    fixed: Values = field(default_factory=dict)
    parameters: tuple[Parameter, ...] = ()
    settle: Callable[[Values], dict[str, Any]] = dict
    empty_when: str | None = None
    due_if: Callable[[Values, pd.DataFrame], bool] | None = None


def any_rows(_: Values, rows: pd.DataFrame) -> bool:
    """Tell whether the first module has rows, for a query that has none without them."""
    return not rows.empty
