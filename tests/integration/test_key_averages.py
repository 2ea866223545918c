"""Operators of a recorded trace are those that torch's own `key_averages` told when it was recorded."""

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from storing_runs import store_run

from tracegraph.base.progress import silent
from tracegraph.ingest.pipeline import ingest_run
from tracegraph.queries.catalog import asking, find
from tracegraph.queries.runs import fill
from tracegraph.store.connection import Database
from tracegraph.store.connection_settings import ConnectionSettings
from tracegraph.store.workspace import Workspace

DATA = Path(__file__).parents[1] / "data"
RUN = "key-averages"
LEFT_OUT, TWICE = "aten::div_", "aten::mse_loss_backward"
"""Operators that call themselves."""


@pytest.fixture(scope="module")
def run(workspace: Workspace, database: Database) -> str:
    tables, manifest = ingest_run([DATA / "key_averages.json.gz"], RUN, silent)
    store_run(workspace, ConnectionSettings(), tables, manifest, load="bolt")
    return RUN


def written(shapes: str | None) -> str:
    """Shapes as torch writes them: none is an empty list, and so is a list of tensors."""
    return json.dumps([[] if any(map(is_list, one)) else one for one in json.loads(shapes or "[]")])


def is_list(size: object) -> bool:
    return isinstance(size, list)


def ours(run: str, database: Database, *, by_shape: bool) -> pd.DataFrame:
    query = find("operators")
    return query.run(database, fill(asking(database), query, {"run": run, "by_shape": by_shape}))


def theirs(table: str) -> pd.DataFrame:
    told = pd.DataFrame(json.loads((DATA / "key_averages.table.json").read_text())[table])
    return told[~told["is_annotation"]]


def rows(*columns: "pd.Series[Any]") -> list[tuple[Any, ...]]:
    return sorted(zip(*columns, strict=True))


def all_calls_ns(operators: pd.DataFrame) -> "pd.Series[int]":
    """Their time with calls inside others counted, too."""
    return (operators["count"] * operators["mean_cpu_ns"]).round().astype("int64")


def in_ns(us: "pd.Series[float]") -> "pd.Series[int]":
    return (us * 1000).round().astype("int64")


@pytest.mark.parametrize(("table", "by_shape"), [("by_name", False), ("by_shape", True)])
def test_times_of_operators_are_those_of_torch(
    table: str, by_shape: bool, run: str, database: Database
) -> None:
    found, told = ours(run, database, by_shape=by_shape), theirs(table)
    found["cpu_ns"] = found["cpu_ns"].where(found["name"] != TWICE, all_calls_ns(found))
    assert len(told) > 40
    assert rows(found["name"], found["shapes"].map(written), found["self_cpu_ns"], found["cpu_ns"]) == rows(
        told["name"],
        told["shapes"].map(written) if by_shape else pd.Series("[]", told.index),
        in_ns(told["self_cpu_us"]),
        in_ns(told["cpu_us"]),
    )
    assert found["self_gpu_ns"].isna().all()


def test_calls_inside_others_of_their_name(run: str, database: Database) -> None:
    """Torch leaves out those that are all there is inside the other, and counts the rest twice."""
    found, told = (one.set_index("name") for one in (ours(run, database, by_shape=False), theirs("by_name")))
    more = found["count"] - told["count"]
    assert more[more != 0].to_dict() == {LEFT_OUT: 2}
    assert set(found.index[all_calls_ns(found) > found["cpu_ns"]]) == {LEFT_OUT, TWICE}
    assert in_ns(told["cpu_us"])[LEFT_OUT] == found["cpu_ns"][LEFT_OUT]
    assert in_ns(told["cpu_us"])[TWICE] == all_calls_ns(found)[TWICE]
