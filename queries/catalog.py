"""All queries by name with parameters and columns: the .cypher modules, and what is made of their rows."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import pandas as pd

from tracegraph.queries import call_tree, inside, lateness, module, outline, roles, shapes, unclear
from tracegraph.queries.module import Column, CypherModule, Parameter, complete_values, in_types, load
from tracegraph.queries.shapes import Derived
from tracegraph.store import categories, gaps, python_frames, step_names
from tracegraph.store.connection import Database
from tracegraph.store.errors import InputError
from tracegraph.store.suggest import did_you_mean

_OWN = (shapes, inside, call_tree, outline, lateness, unclear, roles)
SHAPING = (*_OWN, categories, gaps, python_frames, step_names)
"""All modules whose text decides how rows are shaped."""


@dataclass(frozen=True)
class Query:
    """A query that can be called by name: one module, or a shape of the rows of several."""

    name: str
    summary: str
    modules: tuple[CypherModule, ...]
    columns: tuple[Column, ...]
    derived: Derived | None = None

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """The parameters of all modules, each once."""
        return tuple({p.name: p for one in self.modules for p in one.parameters}.values())

    @property
    def source(self) -> str:
        """All text that decides on the rows: that of the modules, and of the functions that shape theirs."""
        shaping = () if self.derived is None else map(inspect.getsource, SHAPING)
        return "\n".join([*(one.text for one in self.modules), *shaping])

    def takes(self, name: str) -> bool:
        """Whether it has a parameter of that name."""
        return any(parameter.name == name for parameter in self.parameters)

    def complete(self, values: Mapping[str, object]) -> dict[str, object]:
        """Checked values of all parameters, defaults filled in; InputError names what is valid."""
        return complete_values(self.name, self.parameters, values)

    def run(self, database: Database, values: Mapping[str, object]) -> pd.DataFrame:
        """Result for `values` of the parameters, in the types that `CypherModule.run` tells.

        Raises:
            InputError: a value is missing, unknown or not allowed.
            StoreError: the server failed.
        """
        complete = self.complete(values)
        frames = [
            one.run(database, **{p.name: complete[p.name] for p in one.parameters}) for one in self.modules
        ]
        return self.shaped(complete, frames)

    def shaped(self, values: Mapping[str, object], frames: Sequence[pd.DataFrame]) -> pd.DataFrame:
        """The result from those of the modules, in their order."""
        if self.derived is None:
            return frames[0]
        return in_types(self.derived.shape(values, *frames), self.columns)


@cache
def queries() -> dict[str, Query]:
    """All queries by name, sorted; modules with lists as columns are only there to be shaped."""
    own = [load(name) for name in module.names()]
    found = [
        Query(one.name, one.summary, (one,), one.columns)
        for one in own
        if all(column.type != "LIST" for column in one.columns)
    ]
    found += [
        Query(one.name, one.summary, tuple(map(load, one.modules)), one.columns, one)
        for one in shapes.DERIVED
    ]
    return {query.name: query for query in sorted(found, key=lambda query: query.name)}


def find(name: str) -> Query:
    """The query of that name; InputError lists those there are."""
    if name not in queries():
        listed = f"there are: {', '.join(queries())}"
        raise InputError(f"there is no query named {name!r}", did_you_mean(name, queries(), listed))
    return queries()[name]


def asking(database: Database) -> Callable[[str, Mapping[str, object]], pd.DataFrame]:
    """What gives the rows of a query by name, for values of its parameters, always from the database."""
    return lambda name, values: find(name).run(database, values)


def ask(database: Database, name: str, **values: object) -> pd.DataFrame:
    """Rows of the query of that name, as of `Query.run`."""
    return find(name).run(database, values)
