"""Runs as queries see them: newest first, ready or not, and what a query is given that the user left out."""

from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from graphs import GPU_STEP, as_table, stored

from tracegraph.base.errors import InputError
from tracegraph.queries.catalog import ask, asking, find
from tracegraph.queries.runs import fill, ready_run
from tracegraph.store.connection import Database

RUNS = {"runs-old": ("ready", "2990"), "runs-new": ("ready", "2991"), "runs-loading": ("loading", "2992")}


@pytest.fixture(scope="module", autouse=True)
def three_runs(database: Database) -> Iterator[None]:
    with ExitStack() as graphs:
        for name, (state, created) in RUNS.items():
            graph = GPU_STEP.replace("'ready'", f"'{state}'").replace("2024-05-01", created)
            graphs.enter_context(stored(database, name, graph))
        yield


def test_runs_are_listed_newest_first(database: Database) -> None:
    rows = ask(database, "runs").head(3)
    assert as_table(rows[["name", "state", "created", "events", "duration_ns"]])[1:] == [
        "runs-loading loading 2992 7 130",
        "runs-new ready 2991 7 130",
        "runs-old ready 2990 7 130",
    ]


def test_newest_ready_run(database: Database) -> None:
    assert ask(database, "newest_ready_run")["name"].tolist() == ["runs-new"]
    assert ready_run(asking(database)) == "runs-new"
    assert ready_run(asking(database), "runs-old") == "runs-old"


@pytest.mark.parametrize(
    ("run", "message"),
    [("runs-loading", "'runs-loading' is not completely stored"), ("runs-none", "no run named 'runs-none'")],
)
def test_run_that_cannot_be_used(run: str, message: str, database: Database) -> None:
    with pytest.raises(InputError, match=message):
        ready_run(asking(database), run)


@pytest.mark.parametrize(("version", "hint"), [(1, "ingest its trace again"), (99, "update tracegraph")])
def test_a_run_of_another_schema_is_refused(version: int, hint: str, database: Database) -> None:
    graph = GPU_STEP.replace("state: 'ready',", f"state: 'ready', schema_version: {version},")
    with (
        stored(database, "runs-schema", graph.replace("2024-05-01", "2000")),
        pytest.raises(InputError, match=f"has schema version {version}") as raised,
    ):
        ready_run(asking(database), "runs-schema")
    assert raised.value.hint == hint


@pytest.mark.parametrize(
    ("name", "given", "filled"),
    [
        ("hotspots", {}, {"run": "runs-new", "start_ns": 0, "end_ns": 130, "chain": 2}),
        ("hotspots", {"step": 2}, {"run": "runs-new", "start_ns": 45, "end_ns": 100, "chain": 1}),
        ("hotspots", {"step": 2, "rank": 0}, {"run": "runs-new", "start_ns": 45, "end_ns": 100, "chain": 1}),
        ("hotspots", {"start_ns": 60}, {"run": "runs-new", "start_ns": 60, "end_ns": 130, "chain": 2}),
        ("gpu_busy", {"end_ns": 90}, {"run": "runs-new", "start_ns": 0, "end_ns": 90}),
        ("steps", {"run": "runs-old"}, {"run": "runs-old"}),
        ("runs", {}, {}),
    ],
)
def test_what_is_filled_in(
    name: str, given: dict[str, object], filled: dict[str, object], database: Database
) -> None:
    assert fill(asking(database), find(name), given) == filled


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"step": 3}, "no step 3; present: 1, 2"),
        ({"step": 1, "start_ns": 0}, "a step or phase gives start_ns, end_ns, chain"),
        ({"end_ns": 100}, "belong together"),
        ({"chain": 1}, "belong together"),
        ({"run": "runs-none"}, "no run named"),
        ({"step": 1, "rank": 7}, "has no step 1"),
        ({"rank": 0}, "the rank is that of a step"),
    ],
)
def test_windows_that_cannot_be_filled(given: dict[str, object], message: str, database: Database) -> None:
    with pytest.raises(InputError, match=message):
        fill(asking(database), find("hotspots"), given)
