"""One question has one answer, in a report and in what-if; and no range says more than is removed."""

import numpy as np
import pytest
import tiny
from hypothesis import given
from hypothesis import strategies as st
from random_traces import models
from tiny import call, event, kernel, step

from tracegraph.base.errors import InputError
from tracegraph.ingest.causal.graph.model import Model
from tracegraph.ingest.causal.graph.segments import GAP as SEGMENT_GAP
from tracegraph.ingest.what_if.changes.change import Change, whole_window
from tracegraph.ingest.what_if.graph.graph import ReplayGraph, graph_of
from tracegraph.ingest.what_if.graph.overhead import BOUNDS, FROM_FILE, NO_OVERHEAD, Cost, Overhead
from tracegraph.ingest.what_if.graph.subtrees import held_by
from tracegraph.ingest.what_if.predictions.gains import Gain, possible_range
from tracegraph.ingest.what_if.predictions.potential import find_potential
from tracegraph.ingest.what_if.predictions.predict import Predictor
from tracegraph.ingest.what_if.predictions.results import Prediction
from tracegraph.ingest.what_if.predictions.what_next import find_what_next
from tracegraph.vocabulary.categories import GAP
from tracegraph.vocabulary.gaps import GAP_NAMES
from tracegraph.workbench.what_if.answer import Question, answer
from tracegraph.workbench.what_if.selection import select
from tracegraph.workbench.what_if.selector import parse_selector
from tracegraph.workbench.what_if.wait_selection import match_waits

seeds = st.integers(0, 2**32 - 1)
COSTLY = Overhead(FROM_FILE, {role: Cost(700, 300) for role in BOUNDS}, BOUNDS)
costs = st.sampled_from([NO_OVERHEAD, COSTLY])


def asked(predictor: Predictor, text: str) -> Prediction:
    """What what-if says without what a selector, or `remove-wait=NAME`, means."""
    graph, (key, _, name) = predictor.graph, text.partition("=")
    nothing = Change(np.ones(len(graph.segments)))
    if key == "remove-wait":
        return predictor.predict(match_waits(graph, name).added_to(nothing))
    return predictor.predict(Change(np.where(select(graph, parse_selector(text)).segments, 0.0, 1.0)))


@given(models(), costs)
def test_a_report_says_of_each_row_what_what_if_says(model: Model, overhead: Overhead) -> None:
    graph = graph_of(model)
    predictor = Predictor(graph, whole_window(graph), overhead)
    for row in find_what_next(model, predictor):
        said = asked(predictor, str(row["selector"]))
        assert (row["gain_ns"], row["naive_ns"]) == (said.corrected.gain_ns, said.naive.gain_ns)
        assert row["basis"] == said.basis == ("corrected" if overhead is COSTLY else "naive")
    for row in find_potential(model, predictor):
        said = asked(predictor, str(row["selector"]))
        numbers = (said.corrected.gain_ns, said.low.gain_ns, said.high.gain_ns, said.wide)
        assert (row["gain_ns"], row["low_ns"], row["high_ns"], row["wide"]) == numbers


def leaves(graph: ReplayGraph) -> list[str]:
    """Names of events that call nothing, launch nothing and hand nothing over, but for the marks of steps."""
    frames, handed = graph.frames, graph.handed_over
    called = (frames.parent >= 0) & ~frames.category.among(GAP)
    calls = set(frames.name.codes[frames.parent[called & (frames.parent >= 0)]].tolist())
    found = []
    for code in sorted(set(frames.name.codes[called].tolist()) - calls):
        name = str(frames.name.values[code])
        inside = (held_by(graph, called & (frames.name.codes == code)) >= 0) & (handed.of_segment >= 0)
        by_itself = handed.spread(np.where(held_by(graph, called & (frames.name.codes == code)) >= 0, 0, -1))
        below = np.isin(frames.name.codes[frames.of_segment], code)
        if not name.startswith("ProfilerStep") and not (inside & ~below & (by_itself >= 0)).any():
            found.append(name)
    return found


@given(models(), costs)
def test_the_own_time_of_what_calls_nothing_is_all_that_is_under_it(model: Model, overhead: Overhead) -> None:
    graph = graph_of(model)
    predictor = Predictor(graph, whole_window(graph), overhead)
    for name in leaves(graph):
        try:
            under = asked(predictor, f"under={name}")
        except InputError:  # nothing of it is in the window
            continue
        own = asked(predictor, f"name={name}")
        assert (own.corrected, own.naive, own.removed_ns) == (under.corrected, under.naive, under.removed_ns)


@given(models(), seeds, st.sets(st.sampled_from(range(len(GAP_NAMES)))), costs)
def test_a_range_holds_its_gain_and_ends_at_what_is_removed_from_other_steps(
    model: Model, seed: int, gaps: set[int], overhead: Overhead
) -> None:
    graph, chance = graph_of(model), np.random.default_rng(seed)
    factor = np.where(chance.random(len(graph.segments)) < 0.5, 1.0, chance.random(len(graph.segments)))
    for change in (Change(factor), Change(factor, tuple(gaps)), Change(factor, at_calls=tuple(gaps))):
        said = Predictor(graph, whole_window(graph), overhead).predict(change)
        assert said.low.gain_ns <= said.corrected.gain_ns <= said.high.gain_ns
        assert said.low.gain_ns <= said.naive.gain_ns <= said.high.gain_ns
        if overhead is NO_OVERHEAD:
            assert said.high.gain_ns <= said.most_ns
            assert said.most_ns == said.removed_ns or len({one.number for one in graph.steps}) >= 3
        assert bool(said.wide) == (said.high.gain_ns > max(0, 10 * said.low.gain_ns))


def test_a_range_ends_at_what_is_removed() -> None:
    low, high = possible_range([Gain(1000, 900), Gain(1000, 950)], [105, 40])
    assert (low.gain_ns, high.gain_ns) == (40, 105)
    assert high.speedup == 1000 / 895


@pytest.mark.parametrize(
    ("loads", "high_us"), [((100, 100, 100), 300), ((100, 101, 102), 310.452), ((80, 100, 120), 330)]
)
def test_a_range_ends_at_what_is_removed_from_other_steps(loads: tuple[int, ...], high_us: float) -> None:
    # 100, 101 and 102 are 101 ± 4.3027 × 1 / √3 in the mean: 303 × (1 + 2.484 / 101). The last ones differ by
    # more than the 10 % by which a gain differs from one measurement to the next.
    rows: list[tiny.Row] = []
    at = 0
    for number, load in enumerate(loads, 1):
        rows += [tiny.step(number, at, at + load + 50), tiny.event("load", at, at + load)]
        rows.append(tiny.event("train", at + load, at + load + 50))
        at += load + 50
    graph = graph_of(tiny.model(*rows))
    said = answer(graph, "run", Question(remove=("name=load",), overhead="none")).prediction
    assert said.corrected.gain_ns == said.removed_ns == 1000 * sum(loads)
    assert said.high.gain_ns / 1000 == pytest.approx(high_us, abs=0.001)


def handed(*, annotation: str = "## backward ##") -> list[tiny.Row]:
    """A backward pass that the engine's thread is handed inside an annotation, then one outside of it."""
    rows: list[tiny.Row] = []
    for number, at in ((1, 0), (2, 1000)):
        rows += [
            event("fw", at + 10, at + 30, sequence_number=number, forward_thread=0),
            event("bw", at + 60, at + 260, thread=2, sequence_number=number, forward_thread=1),
            call("cudaLaunchKernel", at + 80, at + 90, number, thread=2),
            kernel("gemm", at + 95, at + 200, number),
            event("update", at + 270, at + 300),
        ]
    return [*rows, event(annotation, 40, 265, category="user_annotation")]


def test_under_holds_what_the_engine_is_handed_while_it_is_open() -> None:
    graph = graph_of(tiny.model(*handed()))
    found = select(graph, parse_selector("under=## backward ##"))
    names = graph.calls.name[graph.segments.event[found.segments & (graph.segments.event >= 0)]]
    begins = graph.segments.start[found.segments & (graph.segments.end > graph.segments.start)]
    assert {str(name) for name in names} == {"## backward ##", "bw", "cudaLaunchKernel", "gemm"}
    assert begins.max() < 1_000_000
    assert [one.name for one in found.matched] == ["## backward ##"]
    whole, inside, own = (
        answer(graph, "run", Question(remove=(text,))).prediction.corrected.gain_ns / 1000
        for text in ("under=bw", "under=## backward ##", "name=## backward ##")
    )
    assert inside == whole / 2 + own == 200 + own
    said = answer(graph, "run", Question(remove=("under=## backward ##",)))
    assert said.notes == (
        "305.000 µs of it is work that other threads were handed meanwhile, inferred by: autograd hand-off",
    )
    assert answer(graph, "run", Question(remove=("under=bw",))).notes == ()


def test_under_a_step_holds_the_backward_pass_of_that_step_alone() -> None:
    rows = handed(annotation="loss")
    model = tiny.model(step(1, 0, 900), step(2, 1000, 1900), *rows)
    graph = graph_of(model)
    found = select(graph, parse_selector("under=ProfilerStep#2,name=bw"))
    assert graph.segments.start[found.segments].min() >= 1_000_000


def test_what_is_handed_over_by_what_was_handed_over_belongs_to_the_first() -> None:
    graph = graph_of(tiny.model(*handed()))
    over = graph.handed_over
    first = np.where(np.arange(len(graph.segments)) == over.giver[0], 7, -1)
    spread = over.spread(first)
    assert set(spread[over.of_segment == 0].tolist()) == {7}
    assert set(spread[over.of_segment == 1].tolist()) == {-1}


def test_a_phase_holds_what_it_hands_over() -> None:
    graph = graph_of(tiny.model(*handed()))
    of_name, of_phase = (
        select(graph, parse_selector(text)).segments for text in ("under=## backward ##", "phase=backward")
    )
    work = graph.segments.work
    # The second pass, without an annotation, is a phase that is inferred.
    assert work[of_phase & (graph.segments.start < 1_000_000)].sum() == work[of_name].sum()
    assert work[of_phase & (graph.segments.start >= 1_000_000)].sum() > 0
    with pytest.raises(InputError, match="the run has no phase 'optimizer'"):
        select(graph, parse_selector("phase=optimizer"))


def test_what_no_rule_explains_in_a_call_is_its_own_time() -> None:
    """One call lasts a hundred times as long as others of its name beside a kernel that goes on after it."""
    short = [call("cudaMalloc", 20 + 10 * i, 24 + 10 * i, 10 + i) for i in range(6)]
    rows = [call("l", 0, 4, 1), kernel("k", 7, 2000, 1), *short, call("cudaMalloc", 100, 500, 20)]
    graph = graph_of(tiny.model(*rows, event("rest", 500, 3000)))
    unexplained = (graph.segments.kind == SEGMENT_GAP) & (graph.segments.event >= 0)
    assert (graph.segments.work[unexplained] > 300_000).any()
    own, under = (
        answer(graph, "run", Question(remove=(text,))).prediction.corrected.gain_ns
        for text in ("name=cudaMalloc", "under=cudaMalloc")
    )
    assert own == under == 6 * 4000 + 400_000


WAITING = [
    event("op", 0, 3),
    call("l", 3, 5, 1),
    kernel("k", 8, 108, 1),
    event("sync a", 5, 111),
    call("cudaDeviceSynchronize", 6, 110, 2),
    call("l", 111, 113, 3),
    kernel("k", 116, 216, 3),
    event("sync b", 113, 219),
    call("cudaDeviceSynchronize", 114, 218, 4),
    event("after", 219, 400),
]


def test_waits_end_where_they_are_asked_to() -> None:
    graph = graph_of(tiny.model(*WAITING))

    def said(name: str) -> tuple[int, float]:
        found = answer(graph, "run", Question(remove_wait=(name,)))
        assert found.matched[0].name.partition(" at ")[0] in ("waiting for GPU", "device synchronize")
        return found.matched[0].count, found.prediction.corrected.gain_ns / 1000

    whole = said("waiting for GPU")
    assert whole == said("waiting for GPU at a call") == said("device synchronize")
    parts = [said(f"waiting for GPU at sync {one}") for one in "ab"]
    assert [count for count, _ in parts] == [1, 1]
    # Without the first wait the second one still ends after both kernels, which run one after the other.
    assert [gain for _, gain in parts] == [8, 102]
    assert parts[0] == said("device synchronize at sync a")
    with pytest.raises(InputError, match="is no name in the run"):
        said("waiting for GPU at sync c")
    with pytest.raises(InputError, match="is no wait of the run"):
        said("waiting for GPU at op")
