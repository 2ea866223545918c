"""The steps of A and B compared: which ones, and in words whether their difference is told from chance."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass

import pandas as pd

from tracegraph.queries.runs import Ask
from tracegraph.queries.shapes.step_lengths import step_lengths
from tracegraph.workbench.diff.scope import Scope, Side
from tracegraph.workbench.diff.significance import LEAST_STEPS, POWER, Comparison, Sample, compare_steps
from tracegraph.workbench.text.text import format_ns, format_share, label, plural

_WORTH_SAYING = 0.2
"""An autocorrelation of neighbouring steps below that takes away less than a third of them."""
_TYPE_CELLS = 40


@dataclass(frozen=True)
class Steps:
    """All steps of A and B that can be compared.

    `found`: None where a side has fewer than five. `counts`: how many steps A and B have. `type`: the type of
    the iterations of a server that are compared, None: all. `several_ranks`: whether a step is that of a job.
    `times`: how many steps of each side are in what is compared as a whole: 1 where one step stands for all.
    """

    found: Comparison | None
    counts: tuple[int, int]
    type: str | None
    several_ranks: bool
    times: int

    @property
    def low_ns(self) -> float | None:
        """By how much B is longer at least, with all its steps if whole runs are compared, ns."""
        return None if self.found is None else self.found.low_ns * self.times

    def as_json(self) -> dict[str, object]:
        """Return the numbers as in diff.json: times are whole ns, `compared` None where steps are too few."""
        return {
            "steps_a": self.counts[0],
            "steps_b": self.counts[1],
            "type": self.type,
            "times": self.times,
            "compared": None if self.found is None else _numbers(self.found),
        }


def find_steps(ask: Ask, a: Side, b: Side, scope: Scope) -> Steps | None:
    """Compare all steps of two sides; None where a side names one step, or a run has no steps.

    Parameters
    ----------
    a, b
        What a caller named.
    scope
        What was chosen of it: whole runs, or one step of each.
    """
    if a.step is not None or b.step is not None:
        return None
    listed = [ask("steps", {"run": side.run}) for side in (a, b)]
    if any(rows.empty for rows in listed):
        return None
    sides = [step_lengths(rows, side.rank) for rows, side in zip(listed, (a, b), strict=True)]
    kind = _common_type(sides)
    if kind is not None:
        sides = [rows[rows["type"] == kind] for rows in sides]
    lengths = [rows["length_ns"].tolist() for rows in sides]
    several = any(
        side.rank is None and rows["rank"].nunique() > 1 for rows, side in zip(listed, (a, b), strict=True)
    )
    times = len(lengths[1]) if scope.a.step is None and scope.b.step is None else 1
    counts = (len(lengths[0]), len(lengths[1]))
    return Steps(compare_steps(*lengths), counts, kind, several, times)


def _common_type(sides: Sequence[pd.DataFrame]) -> str | None:
    """Find the type of iterations that both have and that takes most time; None if steps have no types."""
    sums = [rows.groupby("type")["length_ns"].sum() for rows in sides]
    both = sums[0].add(sums[1]).dropna()
    return None if both.empty else str(both.idxmax())


def words_of(steps: Steps) -> dict[str, str]:
    """Say whether the difference of the steps is told from chance, and what they could show, by topic."""
    found = steps.found
    if found is None:
        return {"steps": _too_few(steps.counts)}
    about = [_ranks] if steps.several_ranks else []
    said = [_difference(found, steps.type), _shown(found), *(one() for one in about)]
    peculiar = " ".join(_peculiar(found))
    return {"steps": " ".join(said)} | ({"how steps vary": peculiar} if peculiar else {})


def _too_few(counts: tuple[int, int]) -> str:
    return (
        f"Whether the difference is more than chance cannot be told: A has {plural(counts[0], 'step')} to "
        f"compare and B {counts[1]:,}, and each side needs {LEAST_STEPS}; record more steps."
    )


def _difference(found: Comparison, kind: str | None) -> str:
    usual, size = found.a.mean_ns, abs(found.diff_ns)
    what = "A step" if kind is None else f"An iteration of type {label(kind, _TYPE_CELLS)}"
    way = "longer" if found.diff_ns >= 0 else "shorter"
    low, high = (found.low_ns, found.high_ns) if found.diff_ns >= 0 else (-found.high_ns, -found.low_ns)
    told = (
        "that is more than chance brings"
        if found.is_told
        else "that cannot be told from chance, which may bring as much"
    )
    return (
        f"{what} of B is on average {format_ns(size)}{_share(size, usual)} {way} than one of A, 95 % "
        f"interval {format_ns(low)} to {format_ns(high)}: {told} (p {_chance(found.p)}, {found.a.count:,} "
        f"and {plural(found.b.count, 'step')})."
    )


def _shown(found: Comparison) -> str:
    share = _share(found.shown_ns, found.a.mean_ns)
    return (
        f"So many steps, varying as they do, show a difference of {format_ns(found.shown_ns)}{share} or more "
        f"in {format_share(POWER)} of such recordings."
    )


def _ranks() -> str:
    return "The length of a job's step is the mean over its ranks."


def _peculiar(found: Comparison) -> Iterator[str]:
    for word, one in (("A", found.a), ("B", found.b)):
        if one.warm_up:
            takes = "takes" if one.warm_up == 1 else "take"
            yield (
                f"The first {'step' if one.warm_up == 1 else f'{one.warm_up:,} steps'} of {word} {takes} far "
                "longer than the later ones, as in a warm-up, and "
                f"{'is' if one.warm_up == 1 else 'are'} left out."
            )
        if one.autocorrelation >= _WORTH_SAYING:
            yield (
                f"Neighbouring steps of {word} are alike (autocorrelation {one.autocorrelation:.2f}), so "
                f"that its {plural(one.count, 'step')} count as {one.independent:.1f}."
            )
        if one.drift_ns:
            way = "longer" if one.drift_ns > 0 else "shorter"
            yield (
                f"The steps of {word} drift: from the first to the last they become "
                f"{format_ns(abs(one.drift_ns))} {way}; half of that widens the interval, as the mean "
                "depends on which steps were recorded."
            )


def _share(size: float, usual: float) -> str:
    return f" ({format_share(size / usual)})" if usual else ""


def _chance(p: float) -> str:
    return f"{p:.2f}" if p >= 0.1 else f"{p:.2g}" if p >= 0.0001 else "< 0.0001"


def _numbers(found: Comparison) -> dict[str, object]:
    return {
        "a": _of_sample(found.a),
        "b": _of_sample(found.b),
        **{f"{name}_ns": round(getattr(found, f"{name}_ns")) for name in ("diff", "low", "high", "shown")},
        "p": found.p,
        "power": POWER,
        "told": found.is_told,
    }


def _of_sample(one: Sample) -> dict[str, object]:
    return {name: round(value) if name.endswith("_ns") else value for name, value in asdict(one).items()}
