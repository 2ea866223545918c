"""Selectors of what-if: what they may say, and which work of a run they mean."""

import re

import pytest
import tiny
from tiny import Model, call, event, kernel, step

from tracegraph.base.errors import InputError
from tracegraph.ingest.what_if.graph.graph import ReplayGraph, graph_of
from tracegraph.workbench.what_if.selection import select
from tracegraph.workbench.what_if.selector import parse_selector
from tracegraph.workbench.what_if.wait_selection import match_waits


@pytest.mark.parametrize(
    ("text", "conditions"),
    [
        ("name=aten::mm", {"name": "aten::mm"}),
        ("under=f,category=kernel", {"under": "f", "category": "kernel"}),
        ("name=f(int, float),step=2", {"name": "f(int, float)", "step": "2"}),
        ("name=a,b=c,stream=7", {"name": "a,b=c", "stream": "7"}),
        (r"name=a\,step=2,rank=0", {"name": "a,step=2", "rank": "0"}),
        (r"name=a\,b", {"name": "a,b"}),
        ("name=x=y", {"name": "x=y"}),
        (" name = padded ,thread=main", {"name": "padded", "thread": "main"}),
        ("step=-1", {"step": "-1"}),
    ],
)
def test_a_value_ends_where_the_next_key_begins(text: str, conditions: dict[str, str]) -> None:
    assert parse_selector(text).conditions == conditions


@pytest.mark.parametrize(
    ("text", "message", "advice"),
    [
        ("", "selects nothing", "write key=value"),
        ("aten::mm", "'aten::mm' is no condition", "write key=value"),
        ("name=", "'name=' is no condition", "write key=value"),
        ("name= ,step=1", "'name= ' is no condition", "write key=value"),
        ("=f", "no key ''", "the keys are name, under"),
        ("nmae=f", "no key 'nmae'", "did you mean name?"),
        ("Under=f", "no key 'Under'", "did you mean under?"),
        ("name=a,name=b", "says name twice", "give each key once"),
        ("step=one", "step is a number, not 'one'", "write key=value"),
        ("stream=7.5", "stream is a number, not '7.5'", "write key=value"),
        ("rank=" + "9" * 19, "rank is a number", "write key=value"),
        ("step=²", "step is a number", "write key=value"),
    ],
)
def test_what_is_no_selector(text: str, message: str, advice: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)) as raised:
        parse_selector(text)
    assert raised.value.hint is not None
    assert advice in raised.value.hint


def frame(name: str, start: float, end: float, *, thread: int = 1) -> tiny.Row:
    return event(name, start, end, category="python_function", thread=thread)


def training() -> Model:
    """Two steps of one thread with two modules and GPU work on two streams; another thread beside it."""
    return tiny.model(
        step(1, 0, 50),
        frame("train.py(1): train[0]", 0, 40),
        frame("nn.Module: Linear_0", 2, 20),
        event("aten::mm", 4, 18),
        call("cudaLaunchKernel", 6, 10, 1),
        kernel("gemm", 12, 30, 1),
        frame("nn.Module: Conv_0", 20, 38),
        call("cudaLaunchKernel", 22, 26, 2),
        kernel("Memcpy, HtoD", 40, 48, 2, stream=20),
        step(2, 50, 100),
        frame("train.py(1): train[0]", 50, 80),
        frame("<built-in method mm of type object at 0x7f12>", 52, 70),
        call("cudaLaunchKernel", 54, 58, 3),
        kernel("gemm", 60, 90, 3),
        frame("train.py(9): train", 0, 12, thread=2),
        event("aten::mm", 5, 9, thread=2),
    )


@pytest.fixture(scope="module")
def model() -> Model:
    return training()


@pytest.fixture(scope="module")
def graph(model: Model) -> ReplayGraph:
    return graph_of(model)


def chosen(model: Model, graph: ReplayGraph, text: str) -> str:
    """The selected segments that last, as labels by start."""
    segments = model.segments
    found = [i for i, on in enumerate(select(graph, parse_selector(text)).segments) if on]
    lasting = [i for i in found if segments.end[i] > segments.start[i]]
    return "  ".join(tiny.label(model, i) for i in sorted(lasting, key=lambda i: int(segments.start[i])))


TRAIN = "train.py(1): train[0]@"
LINEAR = "nn.Module: Linear_0@2  aten::mm@4  cudaLaunchKernel@6  aten::mm@10  gemm@12  nn.Module: Linear_0@18"
CONV = "nn.Module: Conv_0@20  cudaLaunchKernel@22  nn.Module: Conv_0@26  Memcpy, HtoD@40"
BUILT_IN = "<built-in method mm of type object at 0x7f12>@"
THREAD_2 = "train.py(9): train@0  aten::mm@5  train.py(9): train@9  (untraced CPU time)@12"
STEP_2 = f"{TRAIN}50  {BUILT_IN}52  cudaLaunchKernel@54  {BUILT_IN}58  gemm@60  {TRAIN}70  ProfilerStep#2@80"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # Exactly, else as a glob, else as a part; `[` is no wildcard.
        ("name=train.py(1): train[0]", f"{TRAIN}0  {TRAIN}38  {TRAIN}50  {TRAIN}70"),
        ("name=train.py(?): train[0]", f"{TRAIN}0  {TRAIN}38  {TRAIN}50  {TRAIN}70"),
        ("name=*train", "train.py(9): train@0  train.py(9): train@9"),
        ("name=N[0", f"{TRAIN}0  {TRAIN}38  {TRAIN}50  {TRAIN}70"),
        ("name=Memcpy, HtoD", "Memcpy, HtoD@40"),
        ("name=built-in mm of type", f"{BUILT_IN}52  {BUILT_IN}58"),
        ("name=built-in*", f"{BUILT_IN}52  {BUILT_IN}58"),
        ("category=kernel", "gemm@12  Memcpy, HtoD@40  gemm@60"),
        ("category=kern", "gemm@12  Memcpy, HtoD@40  gemm@60"),
        ("stream=20", "Memcpy, HtoD@40"),
        ("thread=2", THREAD_2),
        ("thread=thread 2", THREAD_2),
        ("module=Linear_0", LINEAR),
        ("module=Conv", CONV),
        ("under=nn.Module: Linear_0", LINEAR),
        ("under=gemm", "gemm@12  gemm@60"),
        ("under=ProfilerStep#2", STEP_2),
        ("step=2", STEP_2),
        # Conjunctions.
        ("category=kernel,stream=7", "gemm@12  gemm@60"),
        ("under=Conv_0,category=kernel", "Memcpy, HtoD@40"),
        ("under=*train[0],category=kernel", "gemm@12  Memcpy, HtoD@40  gemm@60"),
        ("under=*train[0],category=kernel,step=2", "gemm@60"),
        ("under=ProfilerStep#1,name=gemm", "gemm@12"),
        ("under=*train[0],module=Linear_0,name=aten::mm", "aten::mm@4  aten::mm@10"),
        ("under=cudaLaunchKernel,step=2", "cudaLaunchKernel@54  gemm@60"),
        ("name=aten::mm,thread=2", "aten::mm@5"),
        ("name=aten::mm,rank=0", "aten::mm@4  aten::mm@5  aten::mm@10"),
    ],
)
def test_what_a_selector_selects(model: Model, graph: ReplayGraph, text: str, expected: str) -> None:
    assert chosen(model, graph, text) == expected


def test_under_takes_waits_inside_but_no_other_thread() -> None:
    model = tiny.model(
        frame("load", 0, 30),
        call("cudaDeviceSynchronize", 5, 25, 2),
        call("cudaLaunchKernel", 1, 4, 1),
        kernel("k", 6, 24, 1),
        frame("elsewhere", 2, 20, thread=2),
    )
    expected = (
        "load@0  cudaLaunchKernel@1  load@4  (waiting for GPU)@5  k@6  cudaDeviceSynchronize@24  load@25"
    )
    assert chosen(model, graph_of(model), "under=load") == expected


@pytest.mark.parametrize(
    ("text", "message", "advice"),
    [
        ("name=gmm", "'gmm' is no name in the run", "near it are: gemm"),
        ("under=trian", "'trian' is no name", "near it are: train.py(9): train, train.py(1): train[0]"),
        ("under=untraced CPU time", "is no name", "tracegraph report lists names"),
        ("under=thread 2", "is no name", "tracegraph report lists names"),
        ("module=aten::mm", "is no name", "tracegraph report lists names"),
        ("thread=9", "'9' is no name", "tracegraph report lists names"),
        ("category=kernals", "'kernals' is no name", "near it are: kernel"),
        ("name=\x1b[2J", "'\\x1b[2J' is no name", "tracegraph report lists names"),
        ("under=ProfilerStep#3", "matches no work of the run", "tracegraph report"),
        ("under=Linear_0,stream=20", "matches no work of the run", "tracegraph report"),
        ("stream=99", "matches no work of the run", "tracegraph report"),
        ("rank=1", "matches no work of the run", "tracegraph report"),
        ("step=3", "matches no work of the run", "tracegraph report"),
    ],
)
def test_nothing_matched(graph: ReplayGraph, text: str, message: str, advice: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)) as raised:
        select(graph, parse_selector(text))
    assert advice in raised.value.hint
    assert raised.value.exit_code == 2


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("name=gemm", [("gemm", 2, 48)]),
        ("category=kernel", [("gemm", 2, 48), ("Memcpy, HtoD", 1, 8)]),
        ("name=aten::mm", [("aten::mm", 2, 14)]),
        ("name=aten::mm,thread=2", [("aten::mm", 1, 4)]),
        ("module=Linear_0", [("nn.Module: Linear_0", 1, 36)]),
        ("under=Linear_0,category=kernel", [("nn.Module: Linear_0", 1, 18)]),
        ("under=train.py*", [("train.py(1): train[0]", 2, 126), ("train.py(9): train", 1, 12)]),
        (
            "under=*: *",  # each by the innermost that is meant
            [
                ("train.py(1): train[0]", 2, 64),
                ("nn.Module: Linear_0", 1, 36),
                ("nn.Module: Conv_0", 1, 26),
                ("train.py(9): train", 1, 12),
            ],
        ),
        ("under=ProfilerStep#2", [("ProfilerStep#", 1, 80)]),
        ("under=ProfilerStep*", [("ProfilerStep#", 2, 156)]),
    ],
)
def test_what_is_matched(graph: ReplayGraph, text: str, expected: list[tuple[str, int, float]]) -> None:
    found = select(graph, parse_selector(text)).matched
    assert [(one.name, one.count, one.own_ns / 1000) for one in found] == expected


GPU = [
    event("op", 0, 3),
    call("l", 3, 5, 1),
    kernel("k", 8, 108, 1),
    call("cudaDeviceSynchronize", 5, 110, 2),
    event("after", 120, 130),
]
RANKS = [
    event("op", 0, 6000),
    event("all_reduce", 6000, 206_000, category="user_annotation", thread=2, shapes="[[1000]]"),
    event("op", 206_050, 207_000),
]


@pytest.mark.parametrize(
    ("rows", "wanted", "expected"),
    [
        (GPU, "waiting for GPU", ("waiting for GPU", 1, 103)),
        (GPU, "gpu", ("waiting for GPU", 1, 103)),
        (GPU, "launch*", ("launch latency", 1, 3)),
        (GPU, "untraced", ("untraced CPU time", 1, 10)),
        # One wait, though both its stretch and the edge that ends it have the name.
        (
            [*RANKS[:1], {**RANKS[1], "name": "gloo:all_reduce"}, RANKS[2]],
            "rank",
            ("waiting for another rank", 1, 198_991),
        ),
    ],
)
def test_what_a_gap_means(rows: list[tiny.Row], wanted: str, expected: tuple[str, int, float]) -> None:
    found = match_waits(graph_of(tiny.model(*rows)), wanted).matched
    assert (found.name, found.count, found.own_ns / 1000) == expected


@pytest.mark.parametrize(
    ("wanted", "message", "advice"),
    [
        (
            "GIL",
            "'GIL' is no gap of the run",
            "name one of: untraced CPU time, launch latency, waiting for GPU, device synchronize",
        ),
        (
            "t",
            "'t' is several gaps of the run",
            "name one of: untraced CPU time, launch latency, waiting for GPU",
        ),
    ],
)
def test_what_is_no_gap(wanted: str, message: str, advice: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)) as raised:
        match_waits(graph_of(tiny.model(*GPU)), wanted)
    assert raised.value.hint == advice
