"""What a change makes of a window, against plain replays; and the range around it."""

import dataclasses
from collections.abc import Sequence

import numpy as np
import pytest
import tiny
from hypothesis import given
from hypothesis import strategies as st
from random_traces import models, replay
from tiny import call, event, kernel, step, sync

from tracegraph.base.errors import InputError
from tracegraph.ingest.arrays import Flags, Floats, Ints
from tracegraph.ingest.causal.graph.dependencies import Dependencies, causal_order
from tracegraph.ingest.causal.graph.model import Model
from tracegraph.ingest.causal.graph.segments import WAIT, WORK
from tracegraph.ingest.what_if.changes.change import Change, step_window, whole_window
from tracegraph.ingest.what_if.graph.graph import StepWindow, graph_of
from tracegraph.ingest.what_if.graph.overhead import BOUNDS, FROM_FILE, Cost, Overhead
from tracegraph.ingest.what_if.graph.recorded_edges import on_recorded_edges
from tracegraph.ingest.what_if.predictions.gains import Gain
from tracegraph.ingest.what_if.predictions.predict import Predictor
from tracegraph.vocabulary.gaps import GAP_CODE, GAP_NAMES
from tracegraph.vocabulary.mechanisms import MECHANISMS
from tracegraph.workbench.what_if.answer import Question, answer

seeds = st.integers(0, 2**32 - 1)


def factors(model: Model, seed: int, most: float = 3.0) -> Floats:
    """A factor a segment: nothing, as it was, or anything between."""
    chance = np.random.default_rng(seed)
    count = len(model.segments)
    return np.where(chance.random(count) < 0.5, 1.0, np.round(chance.random(count) * most, 2) // 0.5 / 2)


def counted(model: Model) -> Dependencies:
    """The dependencies that hold in a replay: at other times others would hold the GIL.

    A cause that lost a close race by a nanosecond is complete before its effect at other times.
    """
    found = model.dependencies
    names = np.array([MECHANISMS[code].name for code in found.mechanism], dtype=object)
    columns = {
        field.name: getattr(found, field.name)[names != "GIL holder"] for field in dataclasses.fields(found)
    }
    columns["lag"] = np.maximum(columns["lag"], 0)
    return Dependencies(**columns)


def starts(model: Model, work: Ints, found: Dependencies) -> list[int]:
    """The starts of all segments, one after the other."""
    edges: list[list[tuple[int, int]]] = [[] for _ in work]
    for cause, effect, lag in zip(
        found.cause.tolist(), found.effect.tolist(), found.lag.tolist(), strict=True
    ):
        edges[effect].append((cause, lag))
    out = [model.window.start] * len(work)
    for at in causal_order(model.segments).tolist():
        arrivals = [out[cause] + int(work[cause]) + lag for cause, lag in edges[at]]
        out[at] = max([model.window.start, *arrivals])
    return out


def last(model: Model, start: list[int], work: Ints) -> int:
    """When the last work on a lane that matters is complete; without any, all work or the sink."""
    segments = model.segments
    counts = (segments.kind == WORK) & (segments.event >= 0)
    of_lanes = counts & model.lanes.frame["matters"].to_numpy()[segments.lane]
    counts[model.sink] = True
    return int((np.array(start) + work)[of_lanes if of_lanes.any() else counts].max())


@given(models(), seeds)
def test_random_factors_against_a_plain_replay(model: Model, seed: int) -> None:
    segments, factor = model.segments, factors(model, seed)
    work = np.rint(segments.work * factor).astype(np.int64)
    changed = dataclasses.replace(
        model, segments=dataclasses.replace(segments, work=work), dependencies=counted(model)
    )
    expected = replay(changed).starts
    graph = graph_of(model)
    predicted = Predictor(graph, whole_window(graph)).predict(Change(factor))
    assert predicted.after.start.tolist() == expected
    assert predicted.naive.gain_ns == last(model, segments.start.tolist(), segments.work) - last(
        model, expected, work
    )
    assert predicted.naive.base_ns == model.window.end - model.window.start
    assert predicted.corrected == predicted.naive


@given(models())
def test_a_factor_of_one_changes_nothing(model: Model) -> None:
    graph = graph_of(model)
    predicted = Predictor(graph, whole_window(graph), COSTLY).predict(Change(np.ones(len(model.segments))))
    assert predicted.after.start.tolist() == model.segments.start.tolist()
    assert predicted.corrected.gain_ns == predicted.naive.gain_ns == predicted.inferred_share == 0


COSTLY = Overhead(FROM_FILE, {role: Cost(700, 300) for role in BOUNDS}, BOUNDS)


@given(models(), seeds)
def test_the_range_holds_the_prediction(model: Model, seed: int) -> None:
    graph = graph_of(model)
    predicted = Predictor(graph, whole_window(graph), COSTLY).predict(Change(factors(model, seed)))
    low, said, high = predicted.low, predicted.corrected, predicted.high
    assert low.speedup <= said.speedup <= high.speedup
    assert low.gain_ns <= said.gain_ns <= high.gain_ns


def sure_starts(model: Model, factor: Floats) -> tuple[list[int], Ints]:
    """Starts and work where nothing inferred is a cause, one segment after the other.

    A wait that something inferred ended is work; what is left without a cause follows the segment before it
    on its lane, or starts when it did.
    """
    segments, found, begin = model.segments, model.dependencies, model.window.start
    freed = set(found.effect[found.binding & ~found.recorded].tolist())
    work, start, lane = segments.work.copy(), segments.start.tolist(), segments.lane.tolist()
    for at in freed:
        if at and lane[at - 1] == lane[at] and segments.kind[at - 1] == WAIT:
            work[at - 1] = segments.end[at - 1] - segments.start[at - 1]
    done = (segments.start + work).tolist()
    causes: list[list[tuple[int, int]]] = [[] for _ in start]
    for i in np.flatnonzero(found.recorded).tolist():
        cause, effect, binds = int(found.cause[i]), int(found.effect[i]), bool(found.binding[i])
        gap = start[effect] - done[cause]
        causes[effect].append((cause, max(0, gap if binds else min(int(found.lag[i]), gap))))
    for at in freed:
        if causes[at]:
            last = max(range(len(causes[at])), key=lambda i: (done[causes[at][i][0]], i))
            causes[at][last] = (causes[at][last][0], start[at] - done[causes[at][last][0]])
        elif at and lane[at - 1] == lane[at] and begin < start[at] and done[at - 1] <= start[at]:
            causes[at].append((at - 1, start[at] - done[at - 1]))
    work = np.rint(work * factor).astype(np.int64)
    out = [begin] * len(start)
    for at in causal_order(segments).tolist():
        arrivals = [out[cause] + int(work[cause]) + lag for cause, lag in causes[at]]
        out[at] = max([begin, *arrivals]) if arrivals or start[at] == begin else start[at]
    return out, work


@given(models(), seeds)
def test_inferred_share(model: Model, seed: int) -> None:
    graph, segments, factor = graph_of(model), model.segments, factors(model, seed)
    as_recorded, work = sure_starts(model, np.ones(len(segments)))
    assert as_recorded == segments.start.tolist()
    sure = last(model, as_recorded, work) - last(model, *sure_starts(model, factor))
    work = np.rint(segments.work * factor).astype(np.int64)
    gain = last(model, as_recorded, segments.work) - last(model, starts(model, work, counted(model)), work)
    said = Predictor(graph, whole_window(graph)).predict(Change(factor)).inferred_share
    binds = (model.dependencies.binding & ~model.dependencies.recorded).any()
    assert said == pytest.approx(np.clip(1 - sure / gain, 0, 1) if gain and binds else 0)


def test_works_of_no_length_at_one_moment_replay_as_recorded() -> None:
    elsewhere, without_a_call = kernel("k", 14, 14, 1, device=1), kernel("k", 14, 14, None)
    rows = (call("cudaLaunchKernel", 4, 4, 1), kernel("k", 4, 15, 1), elsewhere, without_a_call)
    assert graph_of(tiny.model(*rows)).replay


@given(models(), seeds)
def test_what_is_sure_rests_on_recorded_dependencies_and_keeps_every_start(model: Model, seed: int) -> None:
    graph = graph_of(model)
    sure = on_recorded_edges(graph)
    assert sure.replay.segments.start.tolist() == model.segments.start.tolist()  # tried by the replay itself
    assert sure is graph or sure.dependencies.recorded.all()
    share = Predictor(graph, whole_window(graph)).predict(Change(factors(model, seed))).inferred_share
    assert 0 <= share <= (0 if sure is graph else 1)


def test_the_share_of_a_gain_that_hangs_on_an_inferred_wait() -> None:
    # The thread is silent until the kernel ends, again and again: it waits for it, as far as times tell.
    rows = [row for step, lag in enumerate((12, 15, 11, 13)) for row in _round(3000 * step, lag)]
    model = tiny.model(*rows)
    graph = graph_of(model)
    assert not model.dependencies.recorded[model.dependencies.binding].all()
    names = model.events.name[model.segments.event]
    shares = {
        name: Predictor(graph, whole_window(graph)).predict(Change(np.where(names == name, 0.0, 1.0)))
        for name in ("k", "op")
    }
    assert shares["k"].inferred_share > 0.9
    assert shares["op"].inferred_share < 0.1


@pytest.mark.parametrize(("begins", "low", "why"), [(1200, 0, "no earlier launch shortens"), (206, 180, "")])
def test_an_earlier_launch_may_gain_nothing_behind_work_from_before_the_recording(
    begins: int, low: int, why: str
) -> None:
    # Four kernels in a row, 1 ms after their launches: their queue was held by work that is not in the file.
    calls = [call("l", 200 + 2 * i, 202 + 2 * i, i + 1) for i in range(4)]
    kernels = [kernel("k", begins + 101 * i, begins + 100 + 101 * i, i + 1) for i in range(4)]
    graph = graph_of(tiny.model(event("op", 0, 200), *calls, *kernels))
    is_op = graph.calls.name[graph.segments.event] == "op"
    said = Predictor(graph, whole_window(graph)).predict(Change(np.where(is_op, 0.0, 1.0)))
    assert said.corrected.gain_ns == 200_000
    assert said.low.gain_ns == 1000 * low
    assert why in said.wide


def _round(at: int, lag: int) -> list[tiny.Row]:
    return [
        tiny.call("cudaLaunchKernel", at, at + 4, at + 1),
        tiny.kernel("k", at + 7, at + 2000, at + 1),
        tiny.event("forward", at + 20, at + 2000 + lag, category="user_annotation"),
        tiny.event("op", at + 2000 + lag, at + 2990),
    ]


@given(models(), st.sampled_from(GAP_NAMES), seeds)
def test_removing_more_never_makes_the_window_longer(model: Model, gap: str, seed: int) -> None:
    graph = graph_of(model)
    predictor = Predictor(graph, whole_window(graph), COSTLY)
    some = factors(model, seed, most=1)
    more = np.where(np.random.default_rng(seed + 1).random(len(some)) < 0.5, some, 0)
    gains = [
        predictor.gain(change).gain_ns
        for change in (
            Change(some),
            Change(more),
            Change(more, (GAP_CODE[gap],)),
            Change(more, tuple(range(len(GAP_NAMES)))),
        )
    ]
    assert gains == sorted(gains)
    assert gains[0] >= 0


@given(models(), seeds)
def test_steps(model: Model, seed: int) -> None:
    graph, segments, factor = graph_of(model), model.segments, factors(model, seed)
    for one in graph.steps:
        if one.window_end == one.start:
            with pytest.raises(InputError, match="takes no time"):
                answer(graph, "run", Question(remove=("rank=0",), step=one.number))
            continue
        if not apart(one, graph.steps):
            continue  # whose work it is in both is not told
        inside = (segments.start >= one.start) & (segments.start < one.window_end)
        work = np.where(inside, np.rint(segments.work * factor), segments.work).astype(np.int64)
        expected = starts(model, work, counted(model))
        predicted = Predictor(graph, step_window(graph, one)).predict(Change(factor))
        assert predicted.after.start.tolist() == expected
        ends = inside & of_step(model, one)
        if ends.any():
            before, after = segments.completion[ends].max(), (np.array(expected) + work)[ends].max()
            assert predicted.naive == Gain(
                one.window_end - one.start, int(one.window_end - one.start - before + after)
            )


def apart(one: StepWindow, steps: Sequence[StepWindow]) -> bool:
    """Whether no other step begins in this one, as none does in a recording."""
    others = [step for step in steps if step is not one and step.rank == one.rank]
    return not any(one.start <= step.start < one.end or step.start <= one.start < step.end for step in others)


def of_step(model: Model, one: StepWindow) -> Flags:
    """Work on lanes that matter: on a thread before the step ends, on a GPU launched in the step."""
    segments, events, call_of = model.segments, model.events, model.launches.call
    issued = np.where(call_of >= 0, events.start[call_of], -1)[segments.event]
    launched = (issued >= one.start) & (issued < one.end) & ~segments.on_thread
    matters = model.lanes.frame["matters"].to_numpy()[segments.lane]
    is_work = (segments.kind == WORK) & (segments.event >= 0) & matters
    return is_work & (launched | (segments.on_thread & (segments.start < one.end)))


LAUNCHED = [event("op", 0, 3), call("l", 3, 5, 1), kernel("k", 8, 108, 1)]
SYNC = [call("cudaDeviceSynchronize", 5, 110, 2), event("after", 110, 120)]
RECORDED = [*LAUNCHED, *SYNC, sync("Context Sync", 5, 109, 2, stream=0)]
TWO_THREADS = [event("a", 0, 100), event("b", 150, 4000, thread=2), event("c", 6000, 6500)]
BACKWARD = [
    event("fw", 0, 10, sequence_number=1, forward_thread=0),
    event("bw", 30, 60, thread=2, sequence_number=1, forward_thread=1),
    event("after", 70, 80),
]


def frame(name: str, start: float, end: float, *, thread: int = 1) -> tiny.Row:
    return event(name, start, end, category="python_function", thread=thread)


# A thread whose call usually takes 10 µs and once 1000, in which another one runs Python.
GIL = [
    *(frame("step", 20 * i, 20 * i + 10) for i in range(5)),
    frame("main", 0, 3000),
    frame("step", 100, 1100),
    frame("spin", 0, 1105, thread=2),
    *(frame("loop", 110 + 10 * i, 112 + 10 * i, thread=2) for i in range(99)),
]


@pytest.mark.parametrize(
    ("rows", "policy", "question", "before", "after"),
    [
        # The thread goes on at once, and the kernel is the last.
        (LAUNCHED + SYNC, "evidence", {"remove_wait": ("waiting for GPU",)}, 120, 108),
        # The kernel begins as its call ends.
        (LAUNCHED + SYNC, "evidence", {"remove_wait": ("launch latency",)}, 120, 117),
        (LAUNCHED + SYNC, "evidence", {"remove_wait": ("launch", "GPU")}, 120, 105),
        (LAUNCHED + SYNC, "evidence", {"remove": ("name=k",), "remove_wait": ("GPU",)}, 120, 17),
        (LAUNCHED + SYNC, "evidence", {"scale": ((0.5, "name=k"),)}, 120, 70),
        (LAUNCHED + SYNC, "evidence", {"scale": ((2.0, "name=k"),)}, 120, 220),
        (LAUNCHED + SYNC, "evidence", {"scale": ((0.5, "name=k"), (0.5, "category=kernel"))}, 120, 45),
        # From 110 to 1092 the thread waits.
        (GIL, "evidence", {"remove_wait": ("GIL",)}, 3000, 2018),
        (TWO_THREADS, "evidence", {"remove_wait": ("untraced CPU time",)}, 6500, 3850),
        (TWO_THREADS, "serialise", {"remove_wait": ("GIL",)}, 6500, 3850),
        (TWO_THREADS, "serialise", {"remove": ("name=b",)}, 6500, 2650),
        # The forward thread goes on without the backward pass, after 10 µs of its own and 30 untraced.
        (BACKWARD, "evidence", {"remove_wait": ("another thread",)}, 80, 50),
        (BACKWARD, "evidence", {"remove": ("name=bw",)}, 80, 50),
    ],
)
def test_tiny_traces(
    rows: list[tiny.Row], policy: str, question: dict[str, tuple[str, ...]], before: float, after: float
) -> None:
    graph = graph_of(tiny.model(*rows, policy=policy))
    said = answer(graph, "run", Question(**question)).prediction.naive
    assert (said.base_ns / 1000, said.predicted_ns / 1000) == (before, after)


@pytest.mark.parametrize(
    ("rows", "policy", "removed", "expected"),
    [
        (RECORDED, "evidence", "name=k", 0),
        (LAUNCHED + SYNC, "evidence", "name=op", 0),
        # Without a row of its own, what the call waits for is inferred.
        (LAUNCHED + SYNC, "evidence", "name=k", 1),
        (TWO_THREADS, "serialise", "name=b", 1),
        (TWO_THREADS, "none", "name=c", 0),
    ],
)
def test_what_hangs_on_inferred_dependencies(
    rows: list[tiny.Row], policy: str, removed: str, expected: float
) -> None:
    graph = graph_of(tiny.model(*rows, policy=policy))
    assert answer(graph, "run", Question(remove=(removed,))).prediction.inferred_share == expected


TWO_STEPS = [
    step(1, 0, 20),
    call("l", 5, 10, 1),
    kernel("k", 12, 50, 1),
    step(2, 20, 100),
    event("op", 20, 40),
    call("l", 40, 45, 2),
    kernel("k", 50, 130, 2),
]


@pytest.mark.parametrize(
    ("number", "removed", "before", "after"),
    [
        # With the GPU work launched in it; the start stays where it was.
        (1, "name=k", 50, 20),
        (2, "name=k", 110, 80),
        (2, "name=op", 110, 110),
        (2, "under=ProfilerStep#2", 110, 30),
        # What lies in another step changes nothing.
        (2, "name=l,step=1", 110, 110),
        (1, "step=2", 50, 50),
    ],
)
def test_a_step(number: int, removed: str, before: float, after: float) -> None:
    graph = graph_of(tiny.model(*TWO_STEPS))
    said = answer(graph, "run", Question(remove=(removed,), step=number, overhead="none")).prediction.naive
    assert (said.base_ns / 1000, said.predicted_ns / 1000) == (before, after)


@pytest.mark.parametrize(
    ("question", "message", "advice"),
    [
        (
            {},
            "nothing is changed",
            "--remove, --scale, --remove-wait, --no-stragglers, --infinite-bandwidth, or a fix: --unsync",
        ),
        (
            {"step": 1},
            "nothing is changed",
            "--remove, --scale, --remove-wait, --no-stragglers, --infinite-bandwidth, or a fix: --unsync",
        ),
        ({"remove": ("name=k",), "step": 3}, "the run has no step 3", "present: 1, 2"),
        ({"scale": ((-0.5, "name=k"),)}, "-0.5 is no factor", "give one of 0 or more"),
        ({"scale": ((float("nan"), "name=k"),)}, "nan is no factor", "give one of 0 or more"),
        ({"scale": ((float("inf"), "name=k"),)}, "inf is no factor", "give one of 0 or more"),
        ({"remove": ("name=k",), "overhead": "much"}, "'much' is no cost of recording", "auto, none, or ns"),
        ({"remove": ("name=k",), "overhead": "-1"}, "'-1' is no cost of recording", "auto, none, or ns"),
        ({"remove": ("name=k",), "overhead": "inf"}, "'inf' is no cost of recording", "auto, none, or ns"),
    ],
)
def test_what_cannot_be_asked(question: dict[str, object], message: str, advice: str) -> None:
    with pytest.raises(InputError, match=message) as raised:
        answer(graph_of(tiny.model(*TWO_STEPS)), "run", Question(**question))
    assert advice in raised.value.hint


def test_a_gap_at_a_call_is_not_one_of_a_stream() -> None:
    """A kernel waits for another stream's, the thread for both."""
    rows = [
        tiny.call("cudaLaunchKernel", 0, 2, 1),
        tiny.kernel("first", 5, 105, 1, stream=7),
        tiny.call("cudaStreamWaitEvent", 3, 4, 2),
        tiny.sync("Stream Wait Event", 3, 4, 2, stream=20, wait_on_stream=7, wait_on_record=1),
        tiny.call("cudaLaunchKernel", 5, 7, 3),
        tiny.kernel("second", 107, 157, 3, stream=20),
        tiny.call("cudaDeviceSynchronize", 8, 160, 4),
        tiny.event("after", 160, 200),
    ]
    graph = graph_of(tiny.model(*rows))
    predictor = Predictor(graph, whole_window(graph))
    waiting = (GAP_CODE["waiting for GPU"],)
    factor = np.ones(len(graph.segments))
    everywhere = predictor.gain(Change(factor, waiting))
    at_calls = predictor.gain(Change(factor, at_calls=waiting))
    assert at_calls.predicted_ns > everywhere.predicted_ns
    assert at_calls.gain_ns > 0
