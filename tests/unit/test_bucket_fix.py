"""What buckets of gradients of another size gain, where every time is worked out by hand."""

from dataclasses import replace

import numpy as np
import pytest
import tiny
from fix_graphs import found, gain_us, graph
from tiny import event

from tracegraph.base.errors import InputError
from tracegraph.ingest.causal.events.events import NONE
from tracegraph.ingest.what_if.fixes import bucket
from tracegraph.ingest.what_if.graph.bucket_passes import bucket_passes
from tracegraph.ingest.what_if.graph.graph import ReplayGraph
from tracegraph.workbench.what_if.answer import Question, answer

UNIT = 1 << 16
"""Elements of four bytes: 1/4 MiB. An all-reduce takes 5 µs, and 10 µs for each unit."""
BUCKETS = ((100, (1,)), (200, (2,)), (300, (4,)), (390, (2,) * 8))
"""When each recorded bucket is handed over, µs, and the units of its gradients, 10 µs apart."""
SMALL = ((100, (1,)), (200, (16,)), (380, (2,)), (480, (10,)))


def job(buckets: tuple[tuple[float, tuple[int, ...]], ...] = BUCKETS) -> ReplayGraph:
    """A backward pass over gloo: a bucket begins 2 µs after its call, and the optimizer after the last."""
    end_of_last, free = 0.0, 50.0
    rows: list[tiny.Row] = [event("## backward ##", 50, buckets[-1][0] + 5, category="user_annotation")]
    for at, units in buckets:
        for place, unit in enumerate(units):
            end = at - 10 * (len(units) - 1 - place)
            shape = f"[[{unit * UNIT}]]"
            rows.append(event("aten::mm", free, end - 5))
            rows.append(event("torch::autograd::AccumulateGrad", end - 5, end, shapes=shape))
            free = end
        rows.append(event("c10d::allreduce_", at, at + 1))
        free = at + 1
        end_of_last = at + 2 + 5 + 10 * sum(units)
        sent = {"category": "user_annotation", "thread": 2, "shapes": f"[[{sum(units) * UNIT}]]"}
        rows.append(event("gloo:all_reduce", at + 2, end_of_last, **sent))
    rows.append(event("step", end_of_last, end_of_last + 50, category="user_annotation"))
    return met(graph(*rows))


def met(of: ReplayGraph) -> ReplayGraph:
    """As if the files of all ranks were there, and all came at once."""
    gloo = of.calls.name.among("gloo:all_reduce")
    return replace(of, rendezvous=np.where(gloo, of.calls.start, NONE))


def test_passes_are_read_from_calls_and_shapes() -> None:
    (one,) = bucket_passes(job())
    assert one.sizes == [4 * UNIT * units for units in (1, 2, 4, 16)]
    assert one.ready == [102_000, 202_000, 302_000, 392_000]
    assert one.is_recorded
    assert [at for _, at in one.gradients[:4]] == [102_000, 202_000, 302_000, 322_000]


def test_smaller_buckets_begin_earlier_and_larger_ones_later() -> None:
    # Recorded, the last of 16 units begins at 392 and ends at 557. In buckets of two units the first holds
    # 1 + 2 from 202 to 237, 4 go from 302 to 347, and eight of 25 follow without a pause: until 547.
    assert gain_us(job(), ("bucket", "0.5")) == pytest.approx(10, abs=0.01)
    # 1 + 2 + 4 close the first of 1 MiB at 302, until 377; the other 16 units go from 392 to 557, as before.
    assert gain_us(job(), ("bucket", "25")) == pytest.approx(0, abs=0.01)
    # Here the last 10 units went from 482 to 587. Now 17 go from 202 to 377, and 2 + 10 from 482 to 607.
    assert gain_us(job(SMALL), ("bucket", "25")) == pytest.approx(-20, abs=0.01)


def test_the_best_usual_size_is_found_where_it_is_shorter() -> None:
    ((where, one),) = found(job(), bucket.FIX).items()
    assert (where, one.options) == ("0.5 MiB", ("--bucket", "0.5"))
    assert one.evidence.startswith("4 all-reduces in 1 backward passes, 165 µs of the path; each takes 5 µs")


def test_without_a_fit_it_is_refused_with_the_reason() -> None:
    of = job()
    alone = replace(of, rendezvous=np.full(len(of.calls), NONE))
    for refused, reason in (
        (alone, "Waits for ranks that are not here"),
        (job(BUCKETS[:3]), "3 sizes cannot tell a latency"),
        (job(((100, (1,)), (200, (2,)), (300, (4,)), (390, (2,) * 4))), "largest size is 8.0 times"),
        (replace(of, facts=None), "do not state the data of 4 of 4 all-reduces"),
        (met(graph(event("aten::mm", 0, 10))), "the run has no all-reduce"),
    ):
        with pytest.raises(InputError, match=reason):
            gain_us(refused, ("bucket", "25"))
        assert found(refused, bucket.FIX) == {}
    for text, reason in (("name=gloo*", "is no number"), ("-1", "-1 is no size"), ("nan", "is no size")):
        with pytest.raises(InputError, match=reason):
            gain_us(of, ("bucket", text))


def test_what_forward_passes_reduce_too_is_no_bucket() -> None:
    """In tensor parallelism both passes reduce activations of one size."""
    rows: list[tiny.Row] = []
    for name, begin in (("forward", 50), ("backward", 500)):
        rows.append(event(f"## {name} ##", begin, begin + 400, category="user_annotation"))
        for place, units in enumerate((1, 2, 4, 16)):
            at, sent = begin + 20 + 50 * place, {"category": "user_annotation", "thread": 2}
            rows.append(event("c10d::allreduce_", at, at + 1))
            rows.append(event("gloo:all_reduce", at + 2, at + 40, shapes=f"[[{units * UNIT}]]", **sent))
    of = met(graph(*rows))
    assert len(of.phases) == 2
    assert list(bucket_passes(of)) == []
    with pytest.raises(InputError, match="forward passes reduce as much, as in tensor parallelism"):
        gain_us(of, ("bucket", "25"))


def test_the_answer_says_what_was_asked_and_is_taken_for_granted() -> None:
    asked = answer(job(), "run", Question(fixes=(("bucket", "25"),), overhead="none"))
    assert str(asked.question) == "with gradients in buckets of 25 MiB"
    assert [(one.name, one.count) for one in asked.matched] == [("gloo:all_reduce", 3)]  # but for the last
    assert len(asked.assumptions) == 2
    assert found(job(SMALL), bucket.FIX) == {}
