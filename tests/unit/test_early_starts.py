"""Kernels of one stream that overlap: programmatic launches, noise, and streams that a tool merged."""

import numpy as np
import pytest

from tests.support import tiny
from tests.support.tiny import call, kernel
from tracegraph.ingest.causal.graph.invariants import check_model
from tracegraph.ingest.causal.graph.model import Model
from tracegraph.vocabulary.mechanisms import CODE, STREAM_ORDER

Work = tuple[float, float]


def launched(works: list[Work], *, late_us: float | None = None) -> Model:
    """Works of one stream, `a` and `b` in turn: enqueued long before, or each so long before its start."""
    at = [0.2 * i if late_us is None else start - late_us - 0.1 for i, (start, _) in enumerate(works)]
    calls = [call("launch", begin, begin + 0.1, i + 1) for i, begin in enumerate(at)]
    names = ("a", "b")
    rows = [kernel(names[i % 2], *work, i + 1) for i, work in enumerate(works)]
    return tiny.model(*calls, *rows)


def chain(count: int, length_us: float, overlap_us: float) -> list[Work]:
    """Works of one length, each of which starts before the one before has ended."""
    step = length_us - overlap_us
    return [(100 + i * step, 100 + i * step + length_us) for i in range(count)]


def alone_us(model: Model, name: str) -> float:
    """How long a name is on the path."""
    segments = model.segments
    mine = model.on_path & (segments.event >= 0) & (model.events.name[segments.event] == name)
    return float((segments.end - segments.start)[mine].sum()) / 1000


def is_chain(model: Model) -> bool:
    """Whether each work of the stream waits for the one that started before it."""
    found = model.dependencies
    order = found.binding & (found.mechanism == CODE[STREAM_ORDER])
    causes = dict(zip(found.effect[order].tolist(), found.cause[order].tolist(), strict=True))
    work = np.flatnonzero(~model.segments.on_thread & (model.segments.event >= 0))
    pairs = zip(work[1:].tolist(), work[:-1].tolist(), strict=True)
    return all(causes.get(later) == earlier for later, earlier in pairs)


@pytest.mark.parametrize("overlap_us", [1.0, 3.0, 10.0, 20.0, 30.0, 40.0])
def test_works_that_start_in_step_share_the_path(overlap_us: float) -> None:
    model = launched(chain(10, 60, overlap_us))
    check_model(model)
    assert is_chain(model)
    assert alone_us(model, "a") == pytest.approx(5 * (60 - overlap_us))
    assert alone_us(model, "b") == pytest.approx(5 * (60 - overlap_us) + overlap_us)
    assert not any("stream queue" in stretch for stretch in tiny.path(model))


def test_a_few_works_that_start_early_keep_their_order() -> None:
    works = [(100.0, 160.0), (161.0, 200.0), (190.0, 250.0), (251.0, 300.0), (301.0, 360.0)]
    model = launched(works)
    check_model(model)
    assert is_chain(model)
    found = model.dependencies
    on_gpu = ~model.segments.on_thread[found.effect] & (found.mechanism == CODE[STREAM_ORDER])
    assert (~found.recorded[on_gpu]).sum() == 1, "only the early start is inferred"


def test_a_work_that_starts_as_soon_as_it_is_launched_waits_for_nothing_else() -> None:
    model = launched(chain(10, 60, 20), late_us=3)
    assert tiny.dependencies(model, "INVOCATION", binding=True) == {
        (f"launch@{start - 3.1:g}", "launch", f"{'ab'[i % 2]}@{start:g}")
        for i, (start, _) in enumerate(chain(10, 60, 20))
    }


@pytest.mark.parametrize(
    ("lengths_us", "second_us"), [((60, 25), 107), ((60, 60), 107), ((60, 60), 121), ((20, 90), 107)]
)
def test_streams_that_a_tool_merged_keep_their_own_order(
    lengths_us: tuple[float, float], second_us: float
) -> None:
    works: list[Work] = []
    for length, begin in zip(lengths_us, (100, second_us), strict=True):
        count = int(600 / length)
        works += [(begin + i * (length + 1), begin + i * (length + 1) + length) for i in range(count)]
    works.sort()
    model = launched(works)
    check_model(model)
    assert not is_chain(model)
    found = model.dependencies
    order = np.flatnonzero(found.binding & (found.mechanism == CODE[STREAM_ORDER]))
    ends = model.segments.completion[found.cause[order]]
    assert (ends == model.events.end[model.segments.event[found.cause[order]]]).all(), "none is cut"


def test_without_a_work_that_started_early_a_wait_is_for_the_end_of_the_one_before() -> None:
    works = chain(4, 60, 20)
    end = works[-1][1]
    rows = [call("launch", i, i + 0.5, i + 1) for i in range(4)]
    rows += [kernel(f"k{i}", *work, i + 1) for i, work in enumerate(works)]
    rows += [call("cudaDeviceSynchronize", 10, end + 2, 9), tiny.event("after", end + 2, end + 9)]
    model = tiny.model(*rows)
    check_model(model)
    segments = model.segments
    last = (segments.event >= 0) & (model.events.name[segments.event] == "k3") & ~segments.on_thread
    everything = np.ones(len(segments), dtype=bool)
    gain = model.replay.without(last & False, everything).end - model.replay.without(last, everything).end
    assert gain == pytest.approx(1000 * (works[3][1] - works[2][1])), "the one before still has to end"
