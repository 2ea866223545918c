"""A job whose true times are known, and what a profiler with a known cost would record of it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import tiny

FRAME, OPERATOR = "python_function", "cpu_op"
_WORK_NS = 500
"""Whose own work is at least so long is slowed down by what a profiler takes unseen."""


@dataclass(frozen=True)
class Job:
    """One call: its own true work before each of its calls and after the last, and those calls; ns."""

    name: str
    category: str
    before: int = 0
    after: int = 0
    calls: Sequence["Job"] = ()

    @property
    def length(self) -> int:
        """Without a profiler."""
        return self.after + sum(self.before + call.length for call in self.calls)


@dataclass(frozen=True)
class Taken:
    """What a profiler takes of an event: before it begins, before it ends, and unseen in later work; ns."""

    outside: float
    inside: float
    unseen: float = 0.0

    @property
    def total(self) -> float:
        """All of it."""
        return self.outside + self.inside + self.unseen


def training(iterations: int, seed: int = 0) -> Job:
    """Iterations of wrappers that do next to nothing, leaves that do little, and functions that work."""
    chance = np.random.default_rng(seed)

    def little() -> int:
        return int(chance.integers(5, 25))

    def leaf(name: str, category: str) -> Job:
        return Job(name, category, after=little())

    def operator() -> Job:
        view = Job("aten::t", OPERATOR, little(), little(), [leaf("aten::as_strided", OPERATOR)])
        product = Job(
            "aten::mm",
            OPERATOR,
            little(),
            int(chance.integers(4000, 20_000)),
            [leaf("aten::empty", OPERATOR)],
        )
        return Job("aten::linear", OPERATOR, little(), little(), [view, product])

    def module() -> Job:
        inner = Job("nn.py(2): forward", FRAME, int(chance.integers(100, 900)), 50, [operator(), operator()])
        return Job("nn.Module: Linear_0", FRAME, little(), little(), [leaf("nn.py(1): hooks", FRAME), inner])

    def log() -> Job:
        lookups = [leaf("<built-in method get>", FRAME) for _ in range(20)]
        return Job("train.py(7): log", FRAME, 15, int(chance.integers(1000, 3000)), lookups)

    steps = [
        Job("train.py(3): step", FRAME, 500, 1000, [module(), module(), log()]) for _ in range(iterations)
    ]
    return Job("train.py(1): main", FRAME, 1000, 5000, steps)


def recorded(job: Job, taken: Mapping[str, Taken], *, seed: int = 0, unit: int = 1) -> list[tiny.Row]:
    """What a profiler writes of a job, times in multiples of `unit` ns; its cost varies by a tenth."""
    chance = np.random.default_rng(seed)
    now = unseen = 0.0

    def spend(ns: float) -> None:
        nonlocal now
        now += ns * chance.uniform(0.9, 1.1)

    def call(one: Job) -> Iterator[tiny.Row]:
        nonlocal now, unseen
        cost = taken.get(one.category, Taken(0, 0))
        spend(cost.outside)
        begin = now
        for inner in one.calls:
            now += one.before
            yield from call(inner)
        now += one.after
        unseen += cost.unseen
        if one.after >= _WORK_NS:
            spend(unseen)
            unseen = 0
        spend(cost.inside)
        times = [round(time / unit) * unit / 1000 for time in (begin, now)]
        yield tiny.event(one.name, *times, category=one.category)

    return list(call(job))


def count(job: Job, category: str) -> int:
    """How many calls of a category it makes, itself included."""
    return (job.category == category) + sum(count(call, category) for call in job.calls)
