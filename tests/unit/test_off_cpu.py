"""Threads that the scheduler held off the CPU: by its own rows, else by stretches from tick to tick."""

from collections.abc import Sequence

import pytest
import tiny
from tiny import Row, call, event, kernel

from tracegraph.ingest.causal.graph.invariants import check_model
from tracegraph.ingest.causal.rules import POLICIES

OFF, ASLEEP = "(CPU turn of another thread)", "(thread not running)"
TICK = 4000


def busy_cpu(held: Sequence[tuple[float, float]], names: Sequence[str] = "abcd") -> list[Row]:
    """Operators of 10 µs one after the other on a thread, but for those that last from `held` to `held`."""
    rows: list[Row] = []
    at = 0.0
    for i, (begin, end) in enumerate(held):
        while at < begin - 10:
            rows.append(event(names[len(rows) % len(names)], at, at + 10))
            at += 10
        rows.append(event(names[i % len(names)], begin, end))
        at = end
    return [*rows, event(names[0], at, at + 10)]


def on_ticks(of: int = 8) -> list[tuple[float, float]]:
    """Stretches of one or two ticks that begin 5 to 40 µs before a tick, and end 10 to 45 µs after one."""
    before, after = (5, 40, 12, 23), (10, 45, 31, 18)
    ticks = [(3 * i + 1, 3 * i + 2 + i % 2) for i in range(of)]
    return [(700 + TICK * a - before[i % 4], 700 + TICK * b + after[i % 4]) for i, (a, b) in enumerate(ticks)]


def off(model: tiny.Model) -> list[str]:
    return [name for name in tiny.kinds(model) if name.startswith(OFF)]


def test_stretches_between_ticks_of_one_phase_were_spent_off_the_cpu() -> None:
    model = tiny.model(*busy_cpu(on_ticks()))
    check_model(model)
    assert off(model) == [f"{OFF}@{begin + 10:g}" for begin, _ in on_ticks()]
    assert {tiny.kinds(model)[name] for name in off(model)} == {"gap"}


@pytest.mark.parametrize(
    ("held", "names"),
    [
        ([(begin + 377 * i, end + 614 * i) for i, (begin, end) in enumerate(on_ticks())], "abcd"),
        (on_ticks(2), "abcd"),
        (on_ticks(), "a"),
    ],
    ids=["phases differ", "too few", "one name only"],
)
def test_long_stretches_are_work_without_a_common_phase(
    held: list[tuple[float, float]], names: Sequence[str]
) -> None:
    assert not off(tiny.model(*busy_cpu(held, names)))


def test_what_usually_lasts_so_long_is_work() -> None:
    rows = [row for row in busy_cpu(on_ticks()) if int(str(row["end_ns"])) - int(str(row["start_ns"])) > 1e6]
    assert not off(
        tiny.model(
            *rows,
            *(
                event(name, at, at + 9000)
                for at, name in zip(range(200_000, 400_000, 10_000), "abcd" * 5, strict=True)
            ),
        )
    )


@pytest.mark.parametrize("policy", POLICIES)
def test_recorded_turns_count_whatever_is_open_and_silences_are_no_work(policy: str) -> None:
    """Of a thread that waits inside a call the time stays with the call."""
    model = tiny.model(
        event("aten::mm", 0, 100),
        call("cudaMalloc", 20, 80, 1),
        event("aten::mm", 200, 300),
        tiny.off_cpu(10, 30, ready=True),
        tiny.off_cpu(40, 50, ready=False),
        tiny.off_cpu(60, 65),
        tiny.off_cpu(90, 150),
        tiny.off_cpu(160, 170, ready=True),
        tiny.off_cpu(500, 600, ready=True),
        policy=policy,
    )
    check_model(model)
    gaps = [name for name, kind in tiny.kinds(model).items() if kind == "gap"]
    assert gaps == [
        f"{OFF}@10",
        f"{OFF}@20",
        f"{ASLEEP}@100",
        "(untraced CPU time)@150",
        f"{OFF}@160",
        "(untraced CPU time)@170",
    ]


def test_a_known_wait_explains_a_stretch_off_the_cpu() -> None:
    rows = [call("cudaLaunchKernel", 0, 2, 1), kernel("k", 5, 90, 1), call("cudaDeviceSynchronize", 3, 95, 2)]
    model = tiny.model(*rows, tiny.off_cpu(10, 20, ready=True))
    assert not off(model)
    assert "(waiting for GPU)@3" in tiny.kinds(model)


def test_nothing_is_inferred_of_a_thread_whose_turns_are_recorded() -> None:
    rows = busy_cpu(on_ticks())
    assert off(tiny.model(*rows, tiny.off_cpu(100, 105, ready=True))) == [f"{OFF}@100"]
    assert len(off(tiny.model(*rows, tiny.off_cpu(100, 105, ready=True, thread=2)))) == len(on_ticks())
