"""Collectives that threads run, sent at once, where every time is worked out by hand."""

import numpy as np
import pytest
import tiny
from fix_graphs import gain_us, graph
from tiny import event

from tracegraph.ingest.what_if.changes.sent_together import find_collectives
from tracegraph.ingest.what_if.graph.shared_cores import as_if_alone
from tracegraph.workbench.what_if.answer import Question, answer

REDUCE = "gloo:all_reduce"
COALESCE = ("coalesce", f"name={REDUCE}")


def reduced(thread: int, start: float, size: int) -> tiny.Row:
    """An all-reduce of 100 µs, and 20 µs for each element."""
    of_threads = {"category": "user_annotation", "thread": thread, "shapes": f"[[{size}]]"}
    return event(REDUCE, start, start + 100 + 20 * size, **of_threads)


def two_buckets(woken: float = 702) -> list[tiny.Row]:
    """Two buckets on two threads: each is waited for, then copied; the second wait ends at `woken`."""
    return [
        event("## backward ##", 0, woken + 10, category="user_annotation"),
        event("aten::mm", 0, 100),
        event("c10d::allreduce_", 100, 101),
        event("aten::mm", 101, 200),
        event("c10d::allreduce_", 200, 201),
        reduced(2, 102, 10),
        reduced(3, 202, 20),
        event("aten::copy_", 402, 412),
        event("aten::copy_", woken, woken + 10),
    ]


def test_threads_of_a_rank_send_one_collective_whose_end_both_waits_await() -> None:
    # 10 and 20 elements at once take 100 + 20 × 30 from 202 on, until 902. Both copies come after that.
    of = graph(*two_buckets())
    both = find_collectives(of, np.ones(len(of.segments), dtype=bool))
    assert both.group.tolist() == [0, 0]
    assert both.begun.tolist() == [100_000, 200_000]
    assert gain_us(of, COALESCE) == 712 - 922


def test_a_silence_in_which_one_ended_is_a_wait_that_ended_late_or_work() -> None:
    # The second wait lasts until 1,100, long after 702: 688 µs of work, as far as the rules know.
    asked = answer(graph(*two_buckets(1100)), "run", Question(fixes=(COALESCE,), overhead="none"))
    assert asked.prediction.corrected.gain_ns == (1110 - 922) * 1000
    # If it is work, it comes after the first copy: 902 + 10 + 688 + 10.
    assert asked.prediction.low.gain_ns <= (1110 - 1610) * 1000


def test_a_bucket_that_is_waited_for_before_the_next_one_is_not_sent_with_it() -> None:
    rows = [
        event("## backward ##", 0, 1200, category="user_annotation"),
        event("c10d::allreduce_", 100, 101),
        reduced(2, 102, 10),
        event("aten::copy_", 402, 412),
        event("c10d::allreduce_", 412, 413),
        reduced(3, 414, 20),
        event("aten::copy_", 914, 924),
    ]
    of = graph(*rows)
    assert find_collectives(of, np.ones(len(of.segments), dtype=bool)).group.tolist() == [0, 1]
    assert gain_us(of, COALESCE) == 0


@pytest.mark.parametrize(("alone", "factor"), [(20, 1 / 3), (19, 1.0)])
def test_work_beside_a_sending_thread_takes_what_the_same_work_takes_alone(alone: int, factor: float) -> None:
    rows = [event("aten::mul", 20 * one, 20 * one + 10, shapes="[[4]]") for one in range(alone)]
    rows += [
        reduced(2, 1000, 10),
        event("aten::mul", 1010, 1040, shapes="[[4]]"),
        event("aten::mul", 1050, 1080, shapes="[[8]]"),
        event("aten::mul", 1100, 1105, shapes="[[4]]"),
    ]
    of = graph(*rows)
    found = as_if_alone(of, np.flatnonzero(of.calls.name.among(REDUCE)))
    by_event = {int(of.calls.start[one]): found[of.segments.event == one] for one in range(len(rows))}
    assert by_event[1_010_000] == pytest.approx(factor)
    assert by_event[1_050_000] == 1  # of other shapes
    assert by_event[1_100_000] == 1  # faster than alone


def test_the_range_of_fewer_collectives_holds_that_work_beside_them_gets_a_core() -> None:
    rows = [event("aten::mul", 20 * one, 20 * one + 10, shapes="[[4]]") for one in range(20)]
    rows += [reduced(2, 1000, 10), event("aten::mul", 1010, 1310, shapes="[[4]]")]
    question = Question(scale=((0.5, "name=gloo:all_reduce"),), overhead="none")
    said = answer(graph(*rows), "run", question).prediction
    # The operator takes 300 µs, and 10 alone: it waited 290 for a core, of which half are gone at most.
    assert said.corrected.gain_ns == 0
    assert said.high.gain_ns == 159_500  # 145, and the tenth by which gains differ
