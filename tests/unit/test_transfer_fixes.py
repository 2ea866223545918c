"""What copying ahead, overlapping and sending more at once gain, where every time is worked out by hand."""

from dataclasses import replace

import numpy as np
import pytest
import tiny
from fix_graphs import found, gain_us, graph
from tiny import call, event, kernel, step

from tracegraph.base.errors import InputError
from tracegraph.ingest.what_if.fixes import ahead, coalesce, overlap
from tracegraph.ingest.what_if.scenarios.keep import find_scenario
from tracegraph.ingest.what_if.scenarios.kept_graph import read_graph
from tracegraph.workbench.what_if.answer import Question, answer

COPY, REDUCE = "Memcpy HtoD (Pinned -> Device)", "ncclDevKernel_AllReduce_Sum_f32_RING_LL"


def copies(rounds: int, copy: float, compute: float) -> list[tiny.Row]:
    """A stream that copies and computes in turn, launched by a host that is ahead, µs."""
    rows: list[tiny.Row] = []
    busy = 1000.0
    for number in range(1, 2 * rounds + 1):
        copies_now = number % 2 == 1
        length = copy if copies_now else compute
        called = "cudaMemcpyAsync" if copies_now else "cudaLaunchKernel"
        more = {"category": "gpu_memcpy"} if copies_now else {}
        rows += [
            call(called, 4 * number, 4 * number + 2, number),
            kernel(COPY if copies_now else "gemm", busy, busy + length, number, **more),
        ]
        busy += length
    return rows


def test_a_batch_is_copied_while_the_one_before_is_computed() -> None:
    # Four rounds of 30 and 50: only the first copy is waited for, the others hide behind 50 of computing.
    of = graph(*copies(4, 30, 50))
    assert gain_us(of, ("ahead", f"name={COPY}")) == 90
    assert found(of, ahead.FIX)[f"name={COPY}"].evidence == "4 transfers, 120 µs of the path"


def test_copies_that_take_longer_than_computing_follow_each_other() -> None:
    # Four copies of 50 one after the other, and the last 30 of computing: 230 in place of 320.
    assert gain_us(graph(*copies(4, 50, 30)), ("ahead", f"name={COPY}")) == 90


def test_no_more_batches_are_copied_than_there_is_room_for() -> None:
    # A copy of 10 hides behind any of 90; but with room for one ahead the fourth copy still waits until the
    # third round begins: it never gets further ahead than the depth says, which costs nothing here.
    of = graph(*copies(4, 10, 90))
    assert gain_us(of, ("ahead", f"name={COPY}"), depth=1) == 30
    edit = ahead.ahead(of, np.ones(len(of.segments), dtype=bool), 1)
    buffers = edit.added.effect[of.segments.start[edit.added.effect] > of.segments.start[edit.added.cause]]
    assert len(buffers) > 0


def test_a_call_waits_no_more_for_the_copy_that_it_makes() -> None:
    # Each of two rounds prepares 400, waits 300 in the call for its copy, and logs 140 beside its kernel.
    rows: list[tiny.Row] = []
    for one in range(2):
        at, number = 900.0 * one, 2 * one + 1
        rows += [
            event("prepare", at, at + 400),
            call("cudaMemcpyAsync", at + 400, at + 740, number),
            kernel("Memcpy DtoH (Device -> Pageable)", at + 420, at + 720, number, category="gpu_memcpy"),
            call("cudaLaunchKernel", at + 740, at + 760, number + 1),
            kernel("gemm", at + 780, at + 880, number + 1),
            event("log", at + 760, at + 900),
        ]
    of = graph(*rows)
    # Without the first wait the second copy begins near 1,000 in place of 1,320. It takes 300, and the kernel
    # that follows it 100: the run ends near 1,400 in place of 1,800, but for the lag between the two.
    assert gain_us(of, ("ahead", "name=Memcpy DtoH*")) == pytest.approx(395, abs=10)


def test_what_computes_is_not_copied_ahead() -> None:
    assert gain_us(graph(*copies(4, 30, 50)), ("ahead", "name=gemm")) == 0


def training(reduced: float, after: float) -> list[tiny.Row]:
    """A step whose backward pass reduces in the midst of its kernels, on one stream; the host is ahead."""
    lengths = {"grad": 100, REDUCE: reduced, "grad2": after, "adam": 20}
    rows: list[tiny.Row] = [step(1, 0, 60)]
    marks = {"grad": "backward", "adam": "optimizer"}
    at, busy = 2.0, 100.0
    for number, (name, length) in enumerate(lengths.items(), 1):
        if name in marks:
            until = at + 30 if name == "grad" else at + 12
            rows.append(event(f"## {marks[name]} ##", at - 1, until, category="user_annotation"))
        rows += [
            call("cudaLaunchKernel", at, at + 4, number),
            kernel(name, busy, busy + length, number, elements=10),
        ]
        at, busy = at + 12, busy + length
    return rows


def test_what_a_backward_pass_reduces_is_waited_for_by_the_optimizer() -> None:
    # 100, then 40 beside 70 of other gradients, then 20: only the longer of both counts.
    of = graph(*training(40, 70))
    selector = f"name={REDUCE},phase=backward"
    assert gain_us(of, ("overlap", selector)) == 40
    assert gain_us(graph(*training(70, 40)), ("overlap", selector)) == 40
    assert list(found(of, overlap.FIX)) == [selector]


def test_what_forward_passes_send_too_is_read_at_once() -> None:
    # As activations of tensor parallelism are: here the first kernel is another one of that name.
    rows = [{**row, "name": REDUCE} if row["name"] == "grad" else row for row in training(40, 70)]
    rows += [event("## forward ##", 1, 7, category="user_annotation")]
    rows = [{**row, "start_ns": 8000} if "backward" in str(row["name"]) else row for row in rows]
    assert found(graph(*rows), overlap.FIX) == {}


def test_nothing_is_overlapped_where_nobody_knows_what_needs_it() -> None:
    rows = [row for row in training(40, 70) if "optimizer" not in str(row["name"])]
    of = graph(*rows)
    with pytest.raises(InputError, match="no optimizer comes after them"):
        gain_us(of, ("overlap", f"name={REDUCE}"))
    assert found(of, overlap.FIX) == {}


def reduced(sizes: list[int], latency: float, of_each: float, passes: int) -> list[tiny.Row]:
    """Passes that send so many elements one after the other; the host is ahead, µs."""
    rows: list[tiny.Row] = []
    at, busy, number = 0.0, 1000.0, 0
    for one in range(passes):
        begun = at
        for size in sizes:
            number += 1
            length = latency + of_each * size
            rows += [
                call("cudaLaunchKernel", at + 1, at + 5, number),
                kernel(REDUCE, busy, busy + length, number, elements=size),
            ]
            at, busy = at + 6, busy + length
        rows.append(step(one + 1, begun, at))
        rows.append(event("## backward ##", begun, at, category="user_annotation"))
    return rows


def test_collectives_of_one_pass_pay_for_their_latency_once() -> None:
    # Each pass sends 10 + 20 + 40 in 3 × 5 + 70; at once it takes 5 + 70. The first call, which the stream's
    # first work follows, makes no launch of 4 either.
    of = graph(*reduced([10, 20, 40], 5, 1, 4))
    assert gain_us(of, ("coalesce", f"name={REDUCE}")) == 4 * 10 + 4
    one = found(of, coalesce.FIX)[f"name={REDUCE}"]
    assert one.evidence.startswith("12 collectives in 4 passes, 340 µs of the path; each takes 5")


@pytest.mark.parametrize("sizes", [[20, 20, 20], [20, 21, 22]])
def test_sizes_that_are_nearly_one_show_no_rate(sizes: list[int]) -> None:
    of = graph(*reduced(sizes, 5, 1, 4))
    with pytest.raises(InputError, match="shows no rate"):
        gain_us(of, ("coalesce", f"name={REDUCE}"))
    assert found(of, coalesce.FIX) == {}


def test_a_collective_that_is_waited_for_is_not_sent_with_the_next() -> None:
    # The second of three is synchronised with before the third is launched.
    of = graph(
        step(1, 0, 400),
        event("## backward ##", 0, 400, category="user_annotation"),
        *(
            row
            for number in (1, 2)
            for row in (call("cudaLaunchKernel", 10 * number, 10 * number + 4, number),)
        ),
        kernel(REDUCE, 40, 60, 1, elements=15),
        kernel(REDUCE, 60, 100, 2, elements=35),
        call("cudaStreamSynchronize", 24, 102, 9),
        call("cudaLaunchKernel", 104, 108, 3),
        kernel(REDUCE, 110, 125, 3, elements=10),
        call("cudaLaunchKernel", 108, 112, 4),
        kernel(REDUCE, 125, 150, 4, elements=20),
        call("cudaDeviceSynchronize", 112, 152, 10),
    )
    # 20 + 40 become 5 + 50, 15 + 25 become 5 + 30, and the first call makes no launch of 4.
    assert gain_us(of, ("coalesce", f"name={REDUCE}")) == 10 + 4


def test_latency_and_rate_are_those_of_a_line() -> None:
    size = np.array([10, 20, 40, 40, 80])
    cost = coalesce.fit_cost(size, 3_000 + 500 * size)
    assert cost is not None
    assert (round(cost.usual.latency), round(cost.usual.of_each)) == (3_000, 500)
    assert coalesce.fit_cost(size, np.full(5, 3_000)) is None


@pytest.mark.parametrize(
    ("events", "fix", "selector"),
    [
        (copies(4, 30, 50), "ahead", f"name={COPY}"),
        (training(40, 70), "overlap", f"name={REDUCE}"),
        (reduced([10, 20, 40], 5, 1, 4), "coalesce", f"name={REDUCE}"),
    ],
)
def test_what_these_leave_can_be_kept(events: list[tiny.Row], fix: str, selector: str) -> None:
    tables = tiny.tables(tiny.trace(*events), "base")
    of = replace(read_graph(tables), facts=graph(*events).facts)
    asked = answer(of, "run", Question(fixes=((fix, selector),), overhead="none"))
    kept = find_scenario(tables, of, asked.span, asked.change, asked.prediction)
    assert asked.prediction.naive.gain_ns > 0
    assert kept.window.end - kept.window.start == asked.prediction.naive.predicted_ns


def test_parameters_are_gathered_ahead_where_names_say_that_they_are_sharded() -> None:
    gather = "ncclDevKernel_AllGather_RING_LL"
    rows = [
        {**row, "name": gather, "category": "kernel"} if row["name"] == COPY else row
        for row in copies(4, 30, 50)
    ]
    assert found(graph(*rows), ahead.FIX) == {}
    rows.append(event("FSDP::forward", 0, 3, category="user_annotation"))
    assert found(graph(*rows), ahead.FIX)[f"name={gather}"].title == "Gather parameters ahead"
