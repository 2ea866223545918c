"""The verdict on one simulated set: path, predicted gains, and warnings if the truth cannot be known."""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from benchmarks.accuracy.compare import Result, compare
from benchmarks.accuracy.goals import Goal
from benchmarks.accuracy.paths import Answer, answer_in_columns
from benchmarks.accuracy.sets import Oracle, OracleSet
from benchmarks.accuracy.what_if import Gain, judge_gains

LEAST_SURE = 0.5
"""A confidence up to this says that the cause may well be another."""
_ALL = 0.99
"""The share of the missed time that counts as all of it."""
_Job = TypeVar("_Job")
_Done = TypeVar("_Done")
FindAnswer = Callable[[Path], Answer]


@dataclass(frozen=True)
class Verdict:
    """The scores of one set against its goal; `codes` are the warnings and errors of its file."""

    result: Result
    gains: tuple[Gain, ...]
    goal: Goal
    codes: frozenset[str]

    @property
    def worst_gain(self) -> Gain | None:
        """The gain with the largest error, in relation to what its category may have."""
        return max(
            self.gains, key=lambda gain: abs(gain.error) / self.goal.bound(gain.category), default=None
        )

    @property
    def worst_error(self) -> float:
        """The error of the worst gain as a share of the makespan; 0 if there are no gains."""
        return self.worst_gain.error if self.worst_gain else 0.0

    @property
    def path_met(self) -> bool:
        """Whether recall and overlap are high enough, or all that is missed depends on open races."""
        tied = self.goal.or_tied and self.result.tied_share >= _ALL
        return self.result.least >= self.goal.path or tied

    @property
    def gains_met(self) -> bool:
        """Whether every gain is near enough."""
        return all(abs(gain.error) <= self.goal.bound(gain.category) for gain in self.gains)

    @property
    def met(self) -> bool:
        """Whether path and gains meet the goal."""
        return self.path_met and self.gains_met

    def met_or_said(self, before: frozenset[str]) -> bool:
        """Tell whether the set meets its goal, or its file says why it cannot if the truth cannot be known.

        It says so if it has a code that the undamaged file (`before`) lacks, and the misses have a low
        confidence.
        """
        said = bool(self.codes - before) and self.result.missed_confidence <= LEAST_SURE
        return self.met or (self.goal.or_said and said)


def judge_set(
    oracle: Oracle, one: OracleSet, goal: Goal, find_answer: FindAnswer = answer_in_columns
) -> Verdict:
    """Ask about and score one set that is made; gains are scored only if the goal has a bound for them."""
    answer = find_answer(one.trace)
    gains = judge_gains(oracle, one, answer.what_next) if goal.what_if is not None else ()
    return Verdict(compare(one, answer.path, oracle.scorer()), gains, goal, answer.codes)


def in_processes(work: Callable[[_Job], _Done], jobs: Iterable[_Job], processes: int) -> Iterator[_Done]:
    """Yield `work` of each job, in their order; the first error ends the rest."""
    with ProcessPoolExecutor(processes) as pool:
        try:
            yield from pool.map(work, jobs)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
