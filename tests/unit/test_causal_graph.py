"""The graph as an object: unedited it is the run, an edit is what `what_if` predicts, circles are refused."""

from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import oracle
import pandas as pd
import pyarrow as pa
import pytest
import tiny
from hypothesis import assume, given
from hypothesis import strategies as st
from random_traces import rows
from tiny import call, event, kernel

from tracegraph.base.errors import InputError
from tracegraph.ingest.causal.graph.invariants import check_model
from tracegraph.ingest.integrity_findings import Integrity
from tracegraph.ingest.ranks.rank_part import build_checked
from tracegraph.ingest.readers import read_trace
from tracegraph.ingest.tables.graph import RunFacts, add_run, build_graph
from tracegraph.ingest.what_if.scenarios.kept_graph import read_graph
from tracegraph.store.tables import GraphTables
from tracegraph.vocabulary.mechanisms import CODE, GIL_HOLDER, PROGRAM_ORDER
from tracegraph.workbench.graph.causal_graph import CausalGraph
from tracegraph.workbench.graph.checks import _ADDABLE
from tracegraph.workbench.run import Run
from tracegraph.workbench.what_if.answer import Question, answer
from tracegraph.workbench.what_if.steps import find_step

EXAMPLES = Path(__file__).parents[2] / "examples" / "traces"
NAMES = ("simulated_gpu", "slow_loader", "two_threads")
GPU_STEP = (
    tiny.step(1, 0, 120),
    event("op", 0, 3),
    call("l", 3, 5, 1),
    kernel("k", 8, 108, 1),
    event("beside", 5, 60),
    call("cudaDeviceSynchronize", 60, 110, 2),
    event("after", 110, 120),
    kernel("other", 20, 30, None, stream=20),
)


def refuse(graph: CausalGraph, name: str) -> Run:
    raise AssertionError(f"{graph} is not to be stored as {name}")


def graph_of(tables: GraphTables, step: int | None = None) -> CausalGraph:
    graph = read_graph(tables)
    return CausalGraph("run", graph, lambda: tables, None if step is None else find_step(graph, step), refuse)


@cache
def example(name: str) -> GraphTables:
    integrity = Integrity(name)
    trace = read_trace(EXAMPLES / f"{name}.json.gz", integrity)
    model = build_checked(trace, integrity)
    tables = build_graph(trace, model, "run")
    add_run(tables, model, RunFacts("2026", "0", []))
    return tables


@pytest.fixture
def gpu_step() -> CausalGraph:
    return graph_of(tiny.tables(tiny.trace(*GPU_STEP)))


def node(graph: CausalGraph, name: str, kind: str = "work") -> int:
    """The first node of that name which takes time."""
    nodes = graph.nodes
    is_meant = (nodes["name"] == name) & (nodes["kind"] == kind) & (nodes["end_ns"] > nodes["start_ns"])
    return int(nodes.index[is_meant][0])


def names(path: pd.DataFrame) -> list[str]:
    return path["name"].tolist()


@pytest.mark.parametrize("name", NAMES)
def test_unedited_it_is_the_run(name: str) -> None:
    tables = example(name)
    graph = graph_of(tables)
    assert graph.length_ns == graph.recorded_ns
    replayed = graph.replay()
    assert (replayed["start_ns"] == graph.nodes["start_ns"]).all()
    assert not replayed["earlier_ns"].any()
    path = graph.critical_path()
    plain = pa.schema([(field.name, _decoded(field.type)) for field in tables.rows["critical_path"].schema])
    stored = tables.rows["critical_path"].cast(plain).to_pandas(types_mapper=_nullable)
    for column in stored.columns:
        mine, theirs = path[column].astype(object), stored[column].astype(object)
        assert ((mine == theirs) | (mine.isna() & theirs.isna())).all(), column


def _decoded(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def _nullable(kind: pa.DataType) -> pd.Int64Dtype | None:
    return pd.Int64Dtype() if kind == pa.int64() else None


@pytest.mark.parametrize(
    ("name", "selector", "step", "factor"),
    [
        ("simulated_gpu", "name=sm90_xmma_gemm*", None, 0.0),
        ("simulated_gpu", "name=sm90_xmma_gemm*", None, 2.5),
        ("simulated_gpu", "category=kernel", 3, 0.0),
        ("simulated_gpu", "category=kernel", 3, 0.3),
        ("slow_loader", "under=*decode*", None, 0.0),
    ],
)
def test_an_edit_is_what_what_if_predicts(name: str, selector: str, step: int | None, factor: float) -> None:
    graph = graph_of(example(name), step)
    graph.scale_work(graph.select(selector), factor)
    question = Question(scale=[(factor, selector)], step=step, overhead="none")
    predicted = answer(read_graph(example(name)), "run", question).prediction
    assert (graph.recorded_ns, graph.length_ns) == (predicted.naive.base_ns, predicted.naive.predicted_ns)
    replayed = graph.replay()
    assert replayed["start_ns"].tolist() == predicted.after.start[replayed.index].tolist()
    assert replayed["on_path"].tolist() == predicted.after.on_path[replayed.index].tolist()
    path = graph.critical_path()
    assert (path["start_ns"].to_numpy()[1:] == path["end_ns"].to_numpy()[:-1]).all()
    if step is None:
        assert (path["end_ns"] - path["start_ns"]).sum() == graph.length_ns


@st.composite
def edits(draw: st.DrawFn) -> list[tuple[str, int, int, int]]:
    kinds = st.sampled_from(["work", "lag", "remove", "add"])
    numbers = st.integers(0, 99)
    return draw(st.lists(st.tuples(kinds, numbers, numbers, st.integers(0, 60)), min_size=1, max_size=6))


@given(rows(), edits(), st.booleans())
def test_random_edits(events: list[tiny.Row], chosen: list[tuple[str, int, int, int]], of_step: bool) -> None:
    assume(any(row["category"] != "cuda_sync" and row["start_ns"] != row["end_ns"] for row in events))
    tables = tiny.tables(tiny.trace(*events))
    steps = [step.number for step in read_graph(tables).steps if step.window_end > step.start]
    graph = graph_of(tables, steps[0] if of_step and steps else None)
    for kind, first, second, ns in chosen:
        try:
            edit(graph, kind, first, second, ns)
        except InputError:
            continue
    if graph.step is None and has_circle(graph):
        with pytest.raises(InputError, match="in a circle"):
            graph.replay()
        return
    if graph.step is None:
        assert graph.replay()["start_ns"].tolist() == expected(graph).starts
    try:
        scenario = graph.scenario()
    except InputError:  # of a step, whose edges are not all there are
        return
    check_model(scenario)
    path = graph.critical_path()
    assert (path["start_ns"].to_numpy()[1:] == path["end_ns"].to_numpy()[:-1]).all()


def edit(graph: CausalGraph, kind: str, first: int, second: int, ns: int) -> None:
    nodes, edges = graph.nodes.index, graph.edges.index
    if kind == "work":
        graph.set_work(int(nodes[first % len(nodes)]), ns)
    elif kind == "add":
        graph.add_edges(int(nodes[first % len(nodes)]), int(nodes[second % len(nodes)]), lag_ns=ns)
    elif len(edges):
        edge = int(edges[first % len(edges)])
        graph.set_lag(edge, ns) if kind == "lag" else graph.remove_edges(edge)


def has_circle(graph: CausalGraph) -> bool:
    try:
        expected(graph)
    except ValueError:
        return True
    return False


def expected(graph: CausalGraph) -> oracle.Answer:
    """The oracle on the frames."""
    work, edges = graph.nodes["work_ns"].tolist(), graph.edges
    columns = zip(*(edges[name].tolist() for name in ("cause", "effect", "lag_ns", "mechanism")), strict=True)
    start = int(graph._span.start)
    return oracle.longest_path(work, [oracle.Edge(*column) for column in columns], start, len(work) - 1)


def test_a_dependency_that_is_removed_holds_nobody_up(gpu_step: CausalGraph) -> None:
    edges = gpu_step.edges
    gpu_step.remove_edges(edges[edges["mechanism"] == "device synchronize"])
    assert (gpu_step.recorded_ns, gpu_step.length_ns) == (120_000, 108_000)
    assert names(gpu_step.critical_path()) == ["op", "l", "launch latency", "k"]
    assert "device synchronize" not in set(gpu_step.edges["mechanism"])


def test_a_lag_is_what_passes_before_the_effect(gpu_step: CausalGraph) -> None:
    edges = gpu_step.edges
    launch = edges[edges["mechanism"] == "launch"]
    assert launch["lag_ns"].tolist() == [3_000]
    gpu_step.set_lag(launch, 10_000)
    assert gpu_step.length_ns == 127_000
    path = gpu_step.critical_path().set_index("name")
    assert path.loc["launch latency", "lag_ns"] == 10_000
    assert path.loc["k", "start_ns"] == 15_000


def test_what_is_recorded_later_can_be_waited_for(gpu_step: CausalGraph) -> None:
    # The kernel now waits for one that begins only after it.
    added = gpu_step.add_edges(node(gpu_step, "other"), node(gpu_step, "k"), lag_ns=1_000)
    assert gpu_step.edges.loc[added, ["mechanism", "evidence", "confidence", "binding"]].values.tolist() == [
        ["stream wait event", "inferred", 1.0, False]
    ]
    assert gpu_step.replay().loc[node(gpu_step, "k"), "start_ns"] == 31_000
    assert gpu_step.length_ns == 120_000 + 23_000
    assert names(gpu_step.critical_path())[-4:] == ["waiting for GPU", "k", "cudaDeviceSynchronize", "after"]


def test_a_circle_is_refused_and_can_be_taken_back(gpu_step: CausalGraph) -> None:
    kernel_, before = node(gpu_step, "k"), node(gpu_step, "l")
    added = gpu_step.add_edges(kernel_, before)
    for ask in (gpu_step.replay, gpu_step.critical_path, lambda: gpu_step.length_ns):
        with pytest.raises(InputError, match="in a circle"):
            ask()
    gpu_step.remove_edges(added)
    assert gpu_step.length_ns == 120_000


def test_of_a_step_only_what_starts_in_it_is_edited() -> None:
    parts = [
        row
        for number in range(3)
        for row in (
            tiny.step(number, 100 * number, 100 * number + 90),
            event("load", 100 * number, 100 * number + 40),
            event("op", 100 * number + 40, 100 * number + 90),
        )
    ]
    graph = graph_of(tiny.tables(tiny.trace(*parts)), 1)
    assert graph.nodes["start_ns"].between(100_000, 189_999).all()
    graph.scale_work(graph.select("name=load"), 0)
    assert (graph.recorded_ns, graph.length_ns) == (90_000, 50_000)
    path = graph.critical_path()
    assert path[["name", "start_ns", "end_ns", "dependency"]].values.tolist() == [
        ["op", 100_000, 150_000, "root"]
    ]
    with pytest.raises(InputError, match="there is no 0 in this graph"):
        graph.set_work(0, 1)


def test_copies_are_edited_apart_and_edits_taken_back(gpu_step: CausalGraph) -> None:
    other = gpu_step.copy()
    other.set_work(other.select("name=k"), 0)
    assert (gpu_step.length_ns, other.length_ns) == (120_000, 72_000)
    assert "120.000 µs of 120.000 µs" in repr(gpu_step)
    other.reset()
    assert other.length_ns == 120_000
    assert other.as_json() == gpu_step.as_json()


def test_what_a_kept_graph_says(gpu_step: CausalGraph) -> None:
    gpu_step.set_work(gpu_step.select("name=k"), 50_000)
    said = gpu_step.as_json()
    edits_ = said["change"]
    assert isinstance(edits_, dict)
    digest = edits_["edits"].pop("sha256")
    assert edits_ == {"edits": {"work": 1, "lags": 0, "removed": 0, "added": 0}}
    assert said["gain_ns"] == 48_000
    assert said["range"] == {
        "gain_low_ns": 43_200,
        "gain_high_ns": 52_800,
        "speedup_low": 120_000 / 76_800,
        "speedup_high": 120_000 / 67_200,
    }
    gpu_step.set_work(gpu_step.select("name=k"), 50_001)
    again = gpu_step.as_json()["change"]
    assert isinstance(again, dict)
    assert again["edits"]["sha256"] != digest


def test_edits_that_cannot_be(gpu_step: CausalGraph) -> None:
    nodes, edges = gpu_step.nodes, gpu_step.edges
    k, after, wait = node(gpu_step, "k"), node(gpu_step, "after"), node(gpu_step, "waiting for GPU", "wait")
    op = int(nodes.index[(nodes["lane"] == 0)][0])
    order = int(edges.index[(edges["mechanism"] == PROGRAM_ORDER) & (edges["cause"] == op)][0])
    refused: list[tuple[Callable[[], object], str]] = [
        (lambda: gpu_step.set_work(k, -1), "-1 is no work in ns"),
        (lambda: gpu_step.set_work(k, 0.5), "0.5 is no work in ns"),  # type: ignore[arg-type]
        (lambda: gpu_step.set_work([k, after], [1, 2, 3]), "is no work in ns"),
        (lambda: gpu_step.set_work(wait, 5), "is a wait, which does no work"),
        (lambda: gpu_step.set_work(nodes["name"] == "k", 0), "ids are whole numbers, not bool"),  # type: ignore[arg-type]
        (lambda: gpu_step.set_work(len(nodes), 0), f"there is no {len(nodes)} in this graph"),
        (lambda: gpu_step.scale_work(k, float("nan")), "nan is no factor"),
        (lambda: gpu_step.scale_work(k, -1), "-1 is no factor"),
        (lambda: gpu_step.set_lag(order, 5), "is program order: a thread goes on at once"),
        (lambda: gpu_step.set_lag(len(edges) + 50, 5), "in this graph"),
        (lambda: gpu_step.remove_edges(order), "is program order: a thread does one thing after the other"),
        (lambda: gpu_step.add_edges(k, k), "cannot wait for itself"),
        (lambda: gpu_step.add_edges(after, node(gpu_step, "beside")), "is on the thread of its cause"),
        (lambda: gpu_step.add_edges(k, op), "begins its thread with the window"),
        (lambda: gpu_step.add_edges([k, after], [wait]), "2 causes are given, and 1 effects"),
        (lambda: gpu_step.add_edges(k, after, lag_ns=-3), "-3 is no lag in ns"),
        (
            lambda: gpu_step.add_edges(k, after, mechanism=GIL_HOLDER),
            "is added by 'GIL holder'",
        ),
        (lambda: gpu_step.add_edges(k, after, mechanism="lauch"), "did you mean launch"),
        (lambda: gpu_step.select("name=gmem"), "matches nothing"),
        (lambda: gpu_step.take({}), "dict is no directed graph"),
    ]
    before = gpu_step.as_json()
    for ask, message in refused:
        with pytest.raises(InputError, match=message):
            ask()
    assert gpu_step.as_json() == before
    assert set(_ADDABLE) < set(CODE)


@pytest.mark.parametrize("library", ["rustworkx", "networkx"])
def test_edits_in_an_exported_graph_are_taken_over(gpu_step: CausalGraph, library: str) -> None:
    pytest.importorskip(library, reason=f"the extra graph is not installed: {library}")
    export = gpu_step.to_rustworkx if library == "rustworkx" else gpu_step.to_networkx
    network = export()
    gpu_step.take(network)
    assert gpu_step.length_ns == 120_000
    edges = gpu_step.edges
    k, other = node(gpu_step, "k"), node(gpu_step, "other")
    sync = edges[edges["mechanism"] == "device synchronize"]
    launch = edges.index[edges["mechanism"] == "launch"][0]
    if library == "rustworkx":
        place = {values["node"]: at for at, values in enumerate(network.nodes())}
        network[place[k]]["work_ns"] = 20_000
        lanes = {values["edge"]: values for values in network.edges()}
        lanes[launch]["lag_ns"] = 4_000
        for cause, effect in zip(sync["cause"], sync["effect"], strict=True):
            network.remove_edge(place[cause], place[effect])
        network.add_edge(place[other], place[k], {"lag_ns": 2_000, "mechanism": "stream resume"})
    else:
        network.nodes[k]["work_ns"] = 20_000
        (found,) = ((a, b, key) for a, b, key in network.edges(keys=True) if key == launch)
        network.edges[found]["lag_ns"] = 4_000
        for edge, row in sync.iterrows():
            network.remove_edge(row["cause"], row["effect"], edge)
        network.add_edge(other, k, lag_ns=2_000, mechanism="stream resume")
    gpu_step.take(network)
    after = gpu_step.edges
    assert gpu_step.nodes.loc[k, "work_ns"] == 20_000
    assert after.loc[launch, "lag_ns"] == 4_000
    assert not (after["mechanism"] == "device synchronize").any()
    added = after[~after.index.isin(edges.index)]
    assert added[["cause", "effect", "lag_ns", "mechanism"]].values.tolist() == [
        [other, k, 2_000, "stream resume"]
    ]
    assert gpu_step.replay().loc[k, "start_ns"] == 32_000
    part = export(gpu_step.select("category=kernel"))
    assert len(part.nodes() if library == "rustworkx" else part) == 2
    gpu_step.take(part)
    assert gpu_step.edges.equals(after)


def test_an_edit_that_cannot_be_taken_over_changes_nothing(gpu_step: CausalGraph) -> None:
    pytest.importorskip("networkx", reason="the extra graph is not installed: networkx")
    network = gpu_step.to_networkx()
    k, op = node(gpu_step, "k"), int(gpu_step.nodes.index[gpu_step.nodes["lane"] == 0][0])
    network.nodes[k]["work_ns"] = 1
    network.add_edge(k, op)
    with pytest.raises(InputError, match="begins its thread with the window"):
        gpu_step.take(network)
    assert gpu_step.nodes.loc[k, "work_ns"] == 100_000
    network.add_node("new")
    with pytest.raises(InputError, match="a node of the graph is no segment of the run"):
        gpu_step.take(network)


def test_frames_have_plain_types(gpu_step: CausalGraph) -> None:
    nodes, edges = gpu_step.nodes, gpu_step.edges
    assert nodes.loc[node(gpu_step, "k")].to_dict() == {
        "name": "k",
        "category": "kernel",
        "rank": 0,
        "lane": 1,
        "start_ns": 8_000,
        "end_ns": 108_000,
        "work_ns": 100_000,
        "kind": "work",
        "source_index": 3,
    }
    wait = nodes.loc[node(gpu_step, "waiting for GPU", "wait")]
    assert (wait["category"], wait["work_ns"], wait["source_index"] is pd.NA) == ("gap", 0, True)
    whole = [name for name in (*nodes, *edges) if name.endswith("_ns") or name in ("cause", "effect", "lane")]
    assert {str(frame[name].dtype) for frame in (nodes, edges) for name in whole if name in frame} == {
        "int64"
    }
    assert np.array_equal(edges.index, np.arange(len(edges)))


@pytest.mark.parametrize("replayed", [True, False])
def test_a_model_is_replayed_only_for_who_uses_that(replayed: bool) -> None:
    integrity = Integrity("two_threads")
    trace = read_trace(EXAMPLES / "two_threads.json.gz", integrity)
    assert ("slack" in vars(build_checked(trace, integrity, replayed=replayed))) == replayed
