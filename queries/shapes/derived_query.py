"""A query that is made of the rows of Cypher modules."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from tracegraph.queries.module import Column, Parameter

Values = Mapping[str, Any]


@dataclass(frozen=True)
class Derived:
    """A query whose rows `shape` makes of its parameters and of the rows of `modules`, in their order.

    `again`: modules whose rows about a second window, B, follow. `fixed`: values that all of them get, so
    that nobody gives them. `parameters`: what the shape itself takes.
    """

    name: str
    summary: str
    modules: tuple[str, ...]
    columns: tuple[Column, ...]
    shape: Callable[..., pd.DataFrame]
    again: tuple[str, ...] = ()
    fixed: Values = field(default_factory=dict)
    parameters: tuple[Parameter, ...] = ()
