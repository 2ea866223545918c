"""Calls of process groups, the workers that do them and the thread that waits, on traces of a few rows."""

import tiny
from tiny import Model, Row, event


def reduce_on(worker: int, start: float, end: float) -> Row:
    return event("gloo:all_reduce", start, end, category="user_annotation", thread=worker)


def between_threads(model: Model) -> set[tuple[str, str, str]]:
    return tiny.dependencies(model, "CROSS_THREAD")


def test_the_kth_call_is_the_kth_collective_and_its_thread_waits() -> None:
    model = tiny.model(
        event("before", 0, 10),
        event("c10d::allreduce_", 10, 20),
        event("c10d::allreduce_", 40, 60),
        reduce_on(2, 30, 900),
        reduce_on(3, 70, 1500),
        event("after", 1550, 1600),
    )
    found = {(mechanism, effect) for _, mechanism, effect in between_threads(model)}
    assert found == {
        ("hand-over", "gloo:all_reduce@30"),
        ("hand-over", "gloo:all_reduce@70"),
        ("resume", "after@1550"),
    }


def test_a_collective_from_before_the_first_call_has_none() -> None:
    model = tiny.model(
        event("before", 0, 50),
        reduce_on(2, 0, 10),
        event("c10d::allreduce_", 50, 60),
        reduce_on(2, 70, 500),
        event("after", 3000, 3100),
    )
    assert {(mechanism, effect) for _, mechanism, effect in between_threads(model)} == {
        ("hand-over", "gloo:all_reduce@70")
    }


def test_of_other_numbers_or_with_an_early_begin_only_the_next_one_is_a_calls() -> None:
    calls = [event("before", 0, 10), event("c10d::allreduce_", 10, 20), event("c10d::allreduce_", 800, 820)]
    fewer = tiny.model(*calls, reduce_on(2, 30, 500))
    early = tiny.model(*calls, reduce_on(2, 30, 500), reduce_on(3, 400, 5000))
    late = tiny.model(*calls, reduce_on(2, 2000, 2500))
    handed = {("before@0", "hand-over", "gloo:all_reduce@30")}
    assert [between_threads(model) for model in (fewer, early)] == [handed, handed]
    assert not between_threads(late)


def test_of_operators_only_those_that_called_a_collective_wait_for_it() -> None:
    before, call, after = event("before", 0, 10), event("c10d::allreduce_", 20, 40), event("after", 960, 1000)
    worker = reduce_on(2, 50, 900)
    inside = tiny.model(before, event("Summed", 10, 950), call, worker, after)
    assert ("gloo:all_reduce@50", "resume", "(untraced CPU time)@950") in between_threads(inside)
    assert tiny.kinds(inside)["(waiting for another thread)@50"] == "wait"
    beside = tiny.model(before, call, event("aten::mm", 45, 950), worker, after)
    assert {mechanism for _, mechanism, _ in between_threads(beside)} == {"hand-over"}
    assert tiny.kinds(beside)["aten::mm@45"] == "work"


def test_an_operator_that_does_nothing_else_waits_for_what_another_one_called() -> None:
    called = event("_c10d_functional::all_reduce", 10, 40), event("c10d::allreduce_", 20, 40)
    awaits = event("_c10d_functional::wait_tensor", 45, 910)
    after = event("after", 960, 1000)
    model = tiny.model(event("before", 0, 10), *called, awaits, reduce_on(2, 50, 900), after)
    assert ("gloo:all_reduce@50", "resume", "(untraced CPU time)@910") in between_threads(model)
    assert tiny.kinds(model)["(waiting for another thread)@50"] == "wait"
