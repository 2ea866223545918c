"""Turns a query into a method, with signature and docstring from the headers of its modules."""

import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pandas as pd

from tracegraph.queries.catalog import Query, queries
from tracegraph.queries.module import DTYPES, PYTHON_TYPES, Column, Parameter
from tracegraph.queries.runs import PARTS, RANK, WINDOW, parameters
from tracegraph.queries.shapes.replay_rows import RUN_COLUMNS
from tracegraph.queries.shapes.two_windows import RUN, first


class Runs(pd.DataFrame):
    """Rows of the query `runs`; a selection of its columns or rows is a frame of pandas as any other."""

    def _repr_html_(self) -> str | None:
        from tracegraph.workbench.notebook.cards import runs_card  # noqa: PLC0415 (only notebooks show it)

        whole = all(column.name in self.columns for column in RUN_COLUMNS)
        return runs_card(self) if whole else super()._repr_html_()  # type: ignore[misc]


_SHOWN: Mapping[str, type[pd.DataFrame]] = {"runs": Runs}
"""Frames that show themselves as a card in a notebook, by query."""
_SELF = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)


class Asking:
    """Something that has queries as methods."""

    def ask(self, query: str, /, **values: Any) -> pd.DataFrame:
        """Return the rows of a named query; a value of None counts as not given."""
        raise NotImplementedError


def of_runs() -> dict[str, Query]:
    """Collect the queries about a run, by name."""
    return {name: query for name, query in queries().items() if query.takes(RUN)}


def of_benches() -> dict[str, Query]:
    """Collect the queries about no run in particular, by name."""
    return {name: query for name, query in queries().items() if not query.takes(RUN)}


def add_methods(cls: type, asked: Mapping[str, Query]) -> None:
    """Give a class a method for each query.

    Raises
    ------
    TypeError
        The class already has an attribute of that name.
    """
    for name, query in asked.items():
        if hasattr(cls, name):
            raise TypeError(f"{cls.__name__}.{name} is there already; call the query by another name")
        setattr(cls, name, _method(cls, query))


def signature(query: Query) -> inspect.Signature:
    """Make a method's signature: what must be given first, by place or name; the rest by name only."""
    taken = [one for one in parameters(query) if one.name != RUN]
    needed = [one for one in taken if _is_needed(one)]
    rest = [one for one in taken if one not in needed]
    return inspect.Signature(
        [_SELF, *(_needed(one) for one in needed), *(_optional(one) for one in rest)],
        return_annotation=pd.DataFrame,
    )


def docstring(query: Query) -> str:
    """Make a method's docstring: the summary, its parameters, the columns of its rows, what raises."""
    return "\n".join(_lines(query))


def _lines(query: Query) -> Iterator[str]:
    yield query.summary
    taken = [one for one in parameters(query) if one.name != RUN]
    if taken:
        yield from ("", "Parameters:")
        yield from (f"    {one.name}: {one.meaning}" for one in taken)
    if any(one.name in WINDOW for one in taken):
        yield from ("", "Without a step, a phase or a window of its own it is about the whole run.")
    yield from ("", "Columns:")
    yield from (f"    {one.name} ({_dtype(one)}): {one.meaning}" for one in query.columns)
    yield from ("", "Raises:")
    yield "    InputError: a value is not allowed, or there is no such run, step or rank."
    yield "    StoreError: the server failed."


def _dtype(column: Column) -> str:
    name = DTYPES.get((column.type, False), "str")
    return f"{name}, may be missing" if column.nullable else name


def _is_needed(parameter: Parameter) -> bool:
    """Tell whether a caller must give a parameter because nothing else does."""
    may_miss = parameter.default is not None or parameter.nullable
    return not may_miss and first(parameter.name) not in (RUN, *WINDOW, *(one.name for one in PARTS))


def _needed(parameter: Parameter) -> inspect.Parameter:
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    return inspect.Parameter(parameter.name, kind, annotation=PYTHON_TYPES[parameter.type])


def _optional(parameter: Parameter) -> inspect.Parameter:
    type_ = PYTHON_TYPES[parameter.type]
    # Which rank is the first depends on the run.
    default = None if first(parameter.name) == RANK.name else parameter.default
    return inspect.Parameter(
        parameter.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=default,
        annotation=type_ if default is not None else type_ | None,
    )


def _method(cls: type, query: Query) -> Callable[..., pd.DataFrame]:
    accepted = signature(query)

    def method(self: Asking, *args: object, **values: object) -> pd.DataFrame:
        try:
            bound = accepted.bind(self, *args, **values).arguments
        except TypeError as error:
            raise TypeError(f"{query.name}(): {error}") from None
        rows = self.ask(query.name, **{name: value for name, value in bound.items() if name != _SELF.name})
        return _SHOWN[query.name](rows) if query.name in _SHOWN else rows

    method.__name__, method.__qualname__ = query.name, f"{cls.__qualname__}.{query.name}"
    method.__doc__, method.__module__ = docstring(query), cls.__module__
    method.__signature__ = accepted  # type: ignore[attr-defined]
    return method
