"""Finds which run `$run` is in a Cypher query of the user's own."""

import re
from collections.abc import Mapping

from tracegraph.base.errors import InputError
from tracegraph.queries.runs import Ask, ready_run

_TEXT_OR_COMMENT = r"'(?:\\.|[^'\\])*'|\"(?:\\.|[^\"\\])*\"|//[^\n]*|/\*.*?\*/"
_RUN = r"(?P<run>\$(?:run\b|`run`))"
_WORDS = re.compile(f"{_TEXT_OR_COMMENT}|{_RUN}|`[^`]*`", re.DOTALL)


def refuse_empty(query: str) -> None:
    """Refuse a query without text, which the driver would call a programming error.

    Raises
    ------
    InputError
        The query is empty.
    """
    if not query.strip():
        raise InputError("the query is empty", "write one, such as 'MATCH (r:Run) RETURN r'")


def with_run(ask: Ask, query: str, run: str | None, parameters: Mapping[str, object]) -> Mapping[str, object]:
    """Complete the parameters by `$run` if the query uses it: `run`, or the newest ready run.

    Raises
    ------
    InputError
        The query is empty, there is no such run, a run is given for a query that uses none, or two
        different runs are given.
    """
    refuse_empty(query)
    if run is None and ("run" in parameters or not _uses_run(query)):
        return parameters
    if "run" in parameters:
        raise InputError(f"$run is {parameters['run']!r} and the run is {run!r}", "give one of them")
    if not _uses_run(query):
        raise InputError(
            f"the query does not use $run, so it is not about run {run!r} only",
            "write {run: $run} in its patterns, or leave the run out",
        )
    return {"run": ready_run(ask, run), **parameters}


def _uses_run(query: str) -> bool:
    """Tell whether `$run` occurs in the query, outside texts, comments and quoted names."""
    return any(word["run"] for word in _WORDS.finditer(query))
