"""The harder simulations and the damages of recordings, with what counts as right for each."""

from dataclasses import dataclass, replace
from fnmatch import fnmatch

from benchmarks.accuracy.damages import OWN, UNNAMED_WAITS
from benchmarks.accuracy.sets import JITTER
from tracegraph.vocabulary.categories import Role, has_role

CPU_WORK = (Role.CALL, Role.OPERATOR)
"""Calls, and the operators that may be around a call."""


@dataclass(frozen=True)
class Goal:
    """What a set must reach, as shares (0..1).

    Attributes
    ----------
    path
        The least recall and overlap.
    what_if
        The largest error of a predicted gain, as a share of the makespan; None if no simulation says what is
        true.
    calls
        The same for calls and operators, if it differs.
    or_tied
        A lower path is right, too, if all that is missed depends on starts with margin 0.
    or_said
        The truth cannot be known, so a warning of its own and a confidence of at most 0.5 are right, too.
    """

    path: float
    what_if: float | None = None
    calls: float | None = None
    or_tied: bool = False
    or_said: bool = False

    def bound(self, category: str) -> float:
        """Return the largest error of the gain of a name of this category; 1 if none is measured."""
        if self.calls is not None and has_role(category, *CPU_WORK):
            return self.calls
        return 1.0 if self.what_if is None else self.what_if

    @property
    def text(self) -> str:
        """Path and what-if in a few characters."""
        parts = [f"≥ {self.path:g}"]
        if self.what_if is not None:
            calls = "" if self.calls is None else f" (calls {100 * self.calls:g} %)"
            parts.append(f"{100 * self.what_if:g} %{calls}")
        return ", ".join(parts) + (" or said" if self.or_said else "")


_ALONE = Goal(path=0.999, what_if=0.01)
"""The goal of a simulation that is harder in one way."""
_LOST_CALLS = Goal(path=0.95, what_if=0.01, calls=0.05)
"""The goal if a large part of the launches has no call in the file."""
ALONE = {
    **{f"{regime}--blocking-copy": _ALONE for regime in ("", "--regime comm ", "--regime cpu ")},
    **{f"{regime}--silent-sync": _ALONE for regime in ("--regime gpu ", "--regime comm ")},
    **{f"{regime}--hip": _ALONE for regime in ("", "--regime comm ")},
    **{f"{regime}--orphans .05": _ALONE for regime in ("", "--regime gpu ")},
    "--regime comm --orphans .3": _LOST_CALLS,
    **{f"{regime}{flag}": _ALONE for flag in ("--no-seq", "--old-names") for regime in ("--regime cpu ", "")},
    "--idle-threads 2": _ALONE,
    "--regime loader --prefetch-thread --prefetch-mult 1.5 --idle-threads 3": _ALONE,
    "--regime gpu --queue-depth 100": _ALONE,
    "--graph": _ALONE,
    "--regime gpu --blocking-copy --graph": _ALONE,
    **{f"{regime}--gpu-noise 300": _ALONE for regime in ("", "--regime gpu ", "--regime comm ")},
    **{
        f"{regime}--gpu-clock {us}": _ALONE
        for regime in ("", "--regime comm ")
        for us in (-40, -20, -8, 8, 20, 40)
    },
}
"""Simulations that are harder in one way: the simulator's options, and the goal with constant lags."""
TOGETHER = {
    "--regime gpu --blocking-copy --orphans .02 --idle-threads 2 --gpu-noise 300 --gpu-clock -8": Goal(
        path=0.98, what_if=0.02
    )
}
"""A simulation that is harder in all ways at once, with random lags."""
REGIMES = ("--regime mixed", "--regime gpu", "--regime comm", "--regime cpu --stack")
"""The simulations that are damaged."""
NEED_STACK = "unclosed*"
"""Damages of Python frames, which do nothing to simulations without `--stack`."""
LOST_LINKS = "no_ac2g,no_correlation"
"""A damage besides those that vary.py lists."""
_HARDER_TO_TELL = ("overlap20", "unclosed20", "window_gone", "whole_us")
"""Damages with a lower goal for the path."""
_TOLD = (UNNAMED_WAITS,)
"""Damages of our own that take nothing away which rules cannot recover."""
_NOBODY_CAN_KNOW = ("second_process_same_gpu", "hole2", "hole5", LOST_LINKS, *(OWN.keys() - _TOLD))
"""Damages that take away what would be needed to know the path."""
_SAME_GAINS = ("", "clock*", "drift*", "lose_sync10", "shuffle", "reuse*", "no_*", "unclosed*", *_TOLD)
"""Patterns of damages after which predicted gains should stay right."""


def goal_of(options: str, variant: tuple[str, ...]) -> Goal:
    """Return the goal of a harder simulation; one that is not listed counts as harder in one way."""
    if options in TOGETHER:
        return TOGETHER[options]
    alone = ALONE.get(options, _ALONE)
    if JITTER not in variant or alone.what_if is None:
        return alone
    return replace(alone, path=min(alone.path, 0.99), what_if=2 * alone.what_if, or_tied=True)


def goal_of_damage(damage: str) -> Goal:
    """Return the goal of a damaged simulation; `damage` is empty for the undamaged one."""
    path = 0.99 if damage in _HARDER_TO_TELL else 0.995 if damage else 0.999
    if damage in _NOBODY_CAN_KNOW:
        return Goal(path, or_said=True)
    same = any(fnmatch(damage, pattern) for pattern in _SAME_GAINS)
    return Goal(path, what_if=0.01 if same else None)
