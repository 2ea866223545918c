"""An edited graph that is kept is a run; its paths are those that the object gave."""

from collections.abc import Callable

import pandas as pd
import pytest

from tracegraph.base.errors import InputError
from tracegraph.store.connection_settings import ConnectionSettings
from tracegraph.store.workspace import Workspace
from tracegraph.workbench.bench import Workbench
from tracegraph.workbench.graph.causal_graph import CausalGraph
from tracegraph.workbench.run import Run

pytestmark = pytest.mark.usefixtures("database")


@pytest.fixture
def run(workspace: Workspace, stored_example: Callable[[str], str]) -> Run:
    return Workbench(workspace, ConnectionSettings()).run(stored_example("simulated_gpu"))


def test_unedited_it_has_the_paths_of_the_run(run: Run) -> None:
    check_path(run.graph().critical_path(), run.critical_path())
    for number in run.steps()["number"]:
        check_path(run.graph(step=number, rank=0).critical_path(), run.critical_path(step=number))


def test_edited_it_has_those_of_the_run_that_it_is_kept_as(run: Run) -> None:
    graph = run.graph()
    edit(graph)
    kept = graph.keep("edited")
    try:
        assert graph.length_ns != graph.recorded_ns
        check_path(graph.critical_path(), kept.critical_path())
        details = kept.run_details().iloc[0]
        assert details["scenario_of"] == run.name
        assert details["window_end_ns"] - details["window_start_ns"] == graph.length_ns
        assert graph.keep("edited").name == "edited"
        assert kept.graph().length_ns == graph.length_ns
        graph.set_work(int(graph.nodes.index[0]), 1)
        with pytest.raises(InputError, match="holds another scenario or file"):
            graph.keep("edited")
        assert run.bench.verify("edited", run.name).predicted.gain_ns != 0
    finally:
        kept.delete()


def test_a_step_that_is_edited_is_that_of_the_run_that_it_is_kept_as(run: Run) -> None:
    graph = run.graph(step=3)
    edit(graph)
    kept = graph.keep("edited-step")
    try:
        check_path(graph.critical_path(), kept.critical_path(step=3))
        steps = kept.steps().set_index("number")
        assert steps.loc[3, "window_end_ns"] - steps.loc[3, "start_ns"] == graph.length_ns
    finally:
        kept.delete()


def edit(graph: CausalGraph) -> None:
    """Gemms take half their time, a copy waits for nothing of another stream, launches are slower."""
    graph.scale_work(graph.select("category=kernel,name=sm90_xmma_gemm*"), 0.5)
    edges = graph.edges
    graph.remove_edges(edges[edges["mechanism"] == "stream wait event"])
    launches = edges[edges["mechanism"] == "launch"]
    graph.set_lag(launches, (launches["lag_ns"] + 700).to_numpy())


def check_path(found: pd.DataFrame, expected: pd.DataFrame) -> None:
    assert found.columns.tolist() == expected.columns.tolist()
    assert found.dtypes.to_dict() == expected.dtypes.to_dict()
    for column in found.columns:
        mine, theirs = found[column].astype(object), expected[column].astype(object)
        assert ((mine == theirs) | (mine.isna() & theirs.isna())).all(), column


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"step": 9}, "the run has no step 9; present: 2, 3"),
        ({"step": 2, "rank": 4}, "the run has no step 2 of rank 4; its trace has no steps"),
        ({"rank": 0}, "the rank is that of a step; give the step, too"),
    ],
)
def test_what_cannot_be_asked(run: Run, asked: dict[str, int], message: str) -> None:
    with pytest.raises(InputError, match=message):
        run.graph(**asked)
