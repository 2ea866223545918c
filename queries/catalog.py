"""All queries by name with parameters and columns: the .cypher modules, and shapes of their rows."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources

import pandas as pd

from tracegraph.base.errors import InputError
from tracegraph.base.parallel import run_all
from tracegraph.base.suggest import did_you_mean
from tracegraph.queries import module
from tracegraph.queries.module import (
    Column,
    CypherModule,
    Parameter,
    complete_values,
    in_types,
    load,
    no_rows,
)
from tracegraph.queries.shapes.derived import DERIVED
from tracegraph.queries.shapes.derived_query import Derived
from tracegraph.queries.shapes.two_windows import about_b, apart
from tracegraph.store.connection import Database

SESSIONS = 2
"""How many modules are asked at a time."""
SHAPING = (
    "tracegraph.base",
    "tracegraph.queries.shapes",
    "tracegraph.queries.shapes.gpu",
    "tracegraph.queries.shapes.links",
    "tracegraph.queries.shapes.parallel",
    "tracegraph.queries.shapes.path",
    "tracegraph.queries.shapes.peak",
    "tracegraph.queries.shapes.transfers",
    "tracegraph.vocabulary",
)
"""Packages whose text decides how rows are shaped."""
_MEANT_WHOLE = 1_000
"""A query whose limit is at least this by default is meant to list all rows."""


@dataclass(frozen=True)
class Call:
    """A module to be asked, with its values in the order of its parameters; several queries may share it."""

    module: CypherModule
    values: tuple[object, ...]

    @property
    def named(self) -> dict[str, object]:
        """The values by the names of the parameters."""
        return {one.name: value for one, value in zip(self.module.parameters, self.values, strict=True)}

    def run(self, database: Database) -> pd.DataFrame:
        """Ask the module; the errors are those of `CypherModule.run`."""
        return self.module.run(database, **self.named)


@dataclass(frozen=True)
class Query:
    """A query that can be called by name: one module, or a shape of the rows of several.

    The modules in `again` are asked about a second window, B.
    """

    name: str
    summary: str
    modules: tuple[CypherModule, ...]
    columns: tuple[Column, ...]
    derived: Derived | None = None
    again: tuple[CypherModule, ...] = ()

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """The parameters of all modules, each once, and those of the shape; those about B end in `_b`."""
        of_a = {p.name: p for one in self.modules for p in one.parameters}
        of_b = {p.name: about_b(p) for one in self.again for p in one.parameters}
        own = () if self.derived is None else self.derived.parameters
        fixed = {} if self.derived is None else self.derived.fixed
        asked = [p for found in (of_a, of_b) for name, p in found.items() if name not in fixed]
        return (*asked, *own)

    @property
    def source(self) -> str:
        """All text that decides the rows: that of the modules, and of the functions that shape their rows."""
        shaping = () if self.derived is None else _shaping_texts()
        return "\n".join([*(one.text for one in (*self.modules, *self.again)), *shaping])

    @property
    def empty_when(self) -> str | None:
        """When it has no rows, in its own words or those of its first module; None if nothing says it."""
        if self.derived is not None and self.derived.empty_when is not None:
            return self.derived.empty_when
        notes = (note.partition("Empty when: ") for note in self.modules[0].notes)
        return next((case.rstrip(".") for _, found, case in notes if found), None)

    @property
    def needs_index(self) -> bool:
        """Tell whether one of its modules has to wait for indexes that are being built."""
        return any(module.needs_index for module in (*self.modules, *self.again))

    @property
    def needs_all_indexes(self) -> bool:
        """Tell whether one of its modules needs more indexes than the first screen of one rank does."""
        return any(module.needs_all_indexes for module in (*self.modules, *self.again))

    def takes(self, name: str) -> bool:
        """Tell whether it has a parameter of that name."""
        return any(parameter.name == name for parameter in self.parameters)

    def cut_at(self, values: Mapping[str, object], rows: int) -> int | None:
        """Return the limit that cut the result at this number of rows.

        None if these are all rows, or if the query is meant to list only the first few.
        """
        limit = next((one for one in self.parameters if one.name == "limit"), None)
        if limit is None or not isinstance(limit.default, int) or limit.default < _MEANT_WHOLE:
            return None
        given = int(str(values.get("limit", limit.default)))
        return given if rows >= given else None

    def complete(self, values: Mapping[str, object]) -> dict[str, object]:
        """Check the values of all parameters and fill in defaults; InputError says what is valid."""
        complete = complete_values(self.name, self.parameters, values)
        return complete if self.derived is None else self.derived.settle(complete)

    def run(self, database: Database, values: Mapping[str, object]) -> pd.DataFrame:
        """Ask the query for `values` of its parameters; two modules are asked at a time.

        The types of the result are those of `CypherModule.run`.

        Raises
        ------
        InputError
            A value is missing, unknown or not allowed.
        StoreError
            The server failed.
        """
        complete = self.complete(values)
        calls = self.calls(complete)

        def asked(call: Call) -> tuple[Call, pd.DataFrame]:
            return call, call.run(database)

        found: dict[Call, pd.DataFrame] = {}
        while due := self.due(complete, calls, found):
            found |= run_all(asked, due, SESSIONS, database.give_up)
        return self.shaped(complete, [found[call] for call in calls if call in found])

    def calls(self, values: Mapping[str, object]) -> list[Call]:
        """List all that it may ask for these `values`, in the order in which `shaped` takes the rows."""
        fixed = {} if self.derived is None else self.derived.fixed
        of_a, of_b = apart(values) if self.again else (values, {})
        asked = [(one, {**of_a, **fixed}) for one in self.modules]
        asked += [(one, {**of_b, **fixed}) for one in self.again]
        return [Call(one, tuple(known[p.name] for p in one.parameters)) for one, known in asked]

    def due(
        self, values: Mapping[str, object], calls: Sequence[Call], found: Mapping[Call, pd.DataFrame]
    ) -> list[Call]:
        """List which of its calls to ask next, each once, given the rows that are in `found`."""
        wanted = calls
        if self.derived is not None and self.derived.due_if is not None:
            rows = found.get(calls[0])
            wanted = calls if rows is not None and self.derived.due_if(values, rows) else calls[:1]
        # If a window is compared with itself, it is asked about once.
        return [call for call in dict.fromkeys(wanted) if call not in found]

    def shaped(self, values: Mapping[str, object], frames: Sequence[pd.DataFrame]) -> pd.DataFrame:
        """Make the result from those of the modules, in their order; without all of them it has no rows."""
        if self.derived is None:
            return frames[0]
        if len(frames) < len(self.modules) + len(self.again):
            return no_rows(self.columns)
        return in_types(self.derived.shape(values, *frames), self.columns)


@cache
def _shaping_texts() -> tuple[str, ...]:
    """Return the texts of all modules of the packages `SHAPING`, each package's by name."""
    folders = [sorted(resources.files(package).iterdir(), key=lambda file: file.name) for package in SHAPING]
    return tuple(file.read_text() for folder in folders for file in folder if file.name.endswith(".py"))


@cache
def queries() -> dict[str, Query]:
    """Return all queries by name, sorted; modules with a column of lists only serve for shapes."""
    own = [load(name) for name in module.names()]
    found = [
        Query(one.name, one.summary, (one,), one.columns)
        for one in own
        if all(column.type != "LIST" for column in one.columns)
    ]
    found += [
        Query(
            one.name,
            one.summary,
            tuple(map(load, one.modules)),
            one.columns,
            one,
            tuple(map(load, one.again)),
        )
        for one in DERIVED
    ]
    return {query.name: query for query in sorted(found, key=lambda query: query.name)}


def find(name: str) -> Query:
    """Find the query of that name; InputError names the one spelt most like it."""
    if name not in queries():
        listed = f"tracegraph query --list lists all {len(queries())}"
        raise InputError(f"there is no query named {name!r}", did_you_mean(name, queries(), listed))
    return queries()[name]


def asking(database: Database) -> Callable[[str, Mapping[str, object]], pd.DataFrame]:
    """Return a function that asks the database for the rows of a query, by name and values of parameters."""
    return lambda name, values: find(name).run(database, values)


def ask(database: Database, name: str, **values: object) -> pd.DataFrame:
    """Ask the database for the rows of the query of that name, as `Query.run` does."""
    return find(name).run(database, values)
