"""Which run `$run` is in a query of one's own."""

from collections.abc import Mapping

import pandas as pd
import pytest

from tracegraph.base.errors import InputError
from tracegraph.workbench.methods.own_query import with_run


def newest(query: str, values: Mapping[str, object]) -> pd.DataFrame:
    if query == "newest_ready_run":
        return pd.DataFrame({"name": ["newest"]})
    assert query == "run_details"
    return pd.DataFrame({"state": ["ready"], "schema_version": [None]})


def nothing(query: str, values: Mapping[str, object]) -> pd.DataFrame:
    pytest.fail(f"asked for {query}")


@pytest.mark.parametrize(
    "query", ["MATCH (e {run: $run})", "RETURN $`run`", "RETURN '\\'', $run // x", "$run"]
)
def test_the_newest_where_the_query_uses_it(query: str) -> None:
    assert with_run(newest, query, None, {"limit": 1}) == {"run": "newest", "limit": 1}
    assert with_run(newest, query, "other", {}) == {"run": "other"}
    assert with_run(nothing, query, None, {"run": 7}) == {"run": 7}


@pytest.mark.parametrize(
    "query",
    [
        "RETURN 1",
        "RETURN '$run'",
        'RETURN "\\"$run"',
        "RETURN 1 // $run",
        "/* $run */ RETURN $running",
        "`$run`",
    ],
)
def test_a_query_without_it_asks_nothing(query: str) -> None:
    assert with_run(nothing, query, None, {}) == {}
    with pytest.raises(InputError, match=r"does not use \$run.*write \{run: \$run\}"):
        with_run(nothing, query, "other", {})


def test_given_twice() -> None:
    with pytest.raises(InputError, match="'a' and the run is 'b'; give one"):
        with_run(nothing, "RETURN $run", "b", {"run": "a"})


@pytest.mark.parametrize("query", ["", " \n"])
def test_an_empty_query_is_refused(query: str) -> None:
    with pytest.raises(InputError, match="the query is empty"):
        with_run(nothing, query, None, {})
