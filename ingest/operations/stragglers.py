"""How much slower the steps of a job are because its operations of one type do not all take the same time.

The measures are those of *Understanding Stragglers in Large Model Training Using What-if Analysis* (OSDI
2025): its equations 1, 2, 4 and 5, and M_S of its section 5.2.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from tracegraph.ingest.arrays import Flags, Floats
from tracegraph.ingest.operations.replay import Steps, arrange, ideal, is_last, replay
from tracegraph.vocabulary.operation_types import counted_as

JOB, TYPE, DATA_RANK, STAGE, WORKER = "job", "optype", "dp_rank", "stage", "worker"
"""What slowdown is told of: all operations, and those of a type, data-parallel rank, stage or worker."""
_WORST = 0.03
"""The share of the workers that M_W takes for the worst, at least one. That is the published model's share
(docs/operations.md)."""
_MOST_GAINS = 32
"""For how many workers a replay says what they cost, the worst first: it takes up to .1 s each."""


def find_stragglers(operations: pd.DataFrame) -> dict[str, Any] | None:
    """Measure the stragglers of a log of operations, given in the columns of OPERATION_SCHEMA.

    Returns
    -------
    dict | None
        What the run keeps, in the form that JSON can hold: `recorded_ns` (T), `without_delays_ns` (T0) and
        `ideal_ns` (T1), the mean length of a step as recorded, replayed with no delay before any operation,
        and replayed with all operations of a type taking one time; `slowdown` (S = T0 / T1); `worst_workers`
        (M_W) and `last_stage` (M_S), the shares of T0 - T1 that are gone where those take the ideal times,
        null where nothing is slower; `rows`, those of `operation_stragglers`; and the numbers of `steps` and
        of those `left_out`. None if no step runs a program of known operations.
    """
    steps = arrange(operations) if len(operations) else None
    if steps is None:
        return None
    places = operations.groupby("rank")[["data_rank", "stage"]].first()
    return _Measures(steps, places).told()


@dataclass(frozen=True)
class _Measures:
    steps: Steps
    places: pd.DataFrame
    """The data-parallel rank and the stage of each worker, by its rank."""

    @cached_property
    def same(self) -> Floats:
        return ideal(self.steps.program, self.steps.own)

    @cached_property
    def without_delays_ns(self) -> float:
        return _mean_ns(replay(self.steps.program, self.steps.own))

    @cached_property
    def ideal_ns(self) -> float:
        return self._until_last(self.same)

    def _until_last(self, own: Floats) -> float:
        program = self.steps.program
        return _mean_ns(replay(program, own)[is_last(program)])

    def slowdown(self, group: Flags) -> float:
        """How many times the ideal length a step takes where this group alone keeps its own times."""
        return self._until_last(np.where(group, self.steps.own, self.same)) / max(self.ideal_ns, 1)

    def gain_ns(self, group: Flags) -> float:
        """By how much a step is shorter where this group alone takes the ideal times, ns."""
        program, own = self.steps.program, self.steps.own
        return self.without_delays_ns - _mean_ns(replay(program, np.where(group, self.same, own)))

    def share(self, gain_ns: float) -> float | None:
        lost = self.without_delays_ns - self.ideal_ns
        return gain_ns / lost if abs(lost) >= 1 else None

    def groups(self) -> Iterator[tuple[str, str, Flags]]:
        """Yield level, name and operations of each group but single workers."""
        program, shape = self.steps.program, self.steps.own.shape
        types = [counted_as(name) for name in program.type]
        for name in sorted(set(types)):
            yield TYPE, name, _spread(np.array([one == name for one in types]), 0, shape)
        for place, rank in enumerate(self.steps.data_ranks.tolist()):
            yield DATA_RANK, str(rank), _spread(np.arange(shape[2]) == place, 2, shape)
        for stage in np.unique(program.stage).tolist():
            yield STAGE, str(stage), _spread(program.stage == stage, 0, shape)

    def told(self) -> dict[str, Any]:
        rows = [self._row(level, name, group, self.slowdown(group)) for level, name, group in self.groups()]
        slow = {(row["level"], row["group"]): row["slowdown"] for row in rows}
        workers = [
            (min(slow[DATA_RANK, str(at.data_rank)], slow[STAGE, str(at.stage)]), int(rank), at)
            for rank, at in zip(self.places.index, self.places.itertuples(index=False), strict=True)
        ]
        workers.sort(key=lambda one: (-one[0], one[1]))
        worst = workers[: math.ceil(_WORST * len(workers))]
        rows += [self._worker_row(k, *one) for k, one in enumerate(workers)]
        slowdown = self.without_delays_ns / max(self.ideal_ns, 1)
        lost = self.without_delays_ns - self.ideal_ns
        whole = {"level": JOB, "group": "all", "slowdown": slowdown, "gain_ns": round(lost)}
        last = self.steps.program.stage == self.steps.program.stage.max()
        return {
            "recorded_ns": round(self.steps.lengths.mean()),
            "without_delays_ns": round(self.without_delays_ns),
            "ideal_ns": round(self.ideal_ns),
            "slowdown": slowdown,
            "worst_workers": self.share(self.gain_ns(self._of_workers([at for *_, at in worst]))),
            "last_stage": self.share(self.gain_ns(_spread(last, 0, self.steps.own.shape))),
            "rows": [{**whole, "share": 1.0 if abs(lost) >= 1 else None}, *rows],
            "steps": len(self.steps.numbers),
            "left_out": self.steps.left_out.tolist(),
        }

    def _of_workers(self, places: Sequence[Any]) -> Flags:
        chosen = np.zeros(self.steps.own.shape, dtype=bool)
        for at in places:
            chosen[:, :, self.steps.data_ranks == at.data_rank] |= (self.steps.program.stage == at.stage)[
                :, None, None
            ]
        return chosen

    def _row(self, level: str, name: str, group: Flags, slowdown: float) -> dict[str, Any]:
        gain = self.gain_ns(group)
        told = {"level": level, "group": name, "slowdown": slowdown}
        return {**told, "gain_ns": round(gain), "share": self.share(gain)}

    def _worker_row(self, place: int, slowdown: float, rank: int, at: Any) -> dict[str, Any]:
        where = {"dp_rank": int(at.data_rank), "stage": int(at.stage)}
        if place >= _MOST_GAINS:
            told = {"level": WORKER, "group": str(rank), "slowdown": slowdown}
            return {**told, "gain_ns": None, "share": None, **where}
        return {**self._row(WORKER, str(rank), self._of_workers([at]), slowdown), **where}


def _mean_ns(ends: Floats) -> float:
    """Return the mean length of the steps, whose operations end at these times after their begin, ns."""
    return float(ends.max(axis=(0, 2)).mean())


def _spread(chosen: Flags, axis: int, shape: tuple[int, ...]) -> Flags:
    """Spread flags along an axis of operations × steps × data-parallel ranks over the others."""
    return np.broadcast_to(np.expand_dims(chosen, tuple(k for k in range(3) if k != axis)), shape)
