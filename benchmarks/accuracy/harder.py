"""Tables of the harder simulations: like real files in what the scenarios made too easy."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from benchmarks.accuracy.goals import ALONE, TOGETHER, goal_of
from benchmarks.accuracy.markdown import table
from benchmarks.accuracy.sets import JITTER, Oracle, OracleSet
from benchmarks.accuracy.verdict import FindAnswer, Verdict, in_processes, judge_set

MEAN_WITH_JITTER = 0.99
"""The least mean of recall and of overlap over the seeds of one simulation with random lags."""
_CONSTANT = "constant lags"


def harder_sets(oracle: Oracle, mixes: Sequence[str], seeds: range, events: int) -> list[OracleSet]:
    """List the sets: each flag alone with constant and random lags, all together with random ones.

    `mixes` replace them if there are any.
    """
    alone = oracle.matrix(mixes or list(ALONE), [(), (JITTER,)], seeds, events)
    return alone if mixes else alone + oracle.matrix(list(TOGETHER), [(JITTER,)], seeds, events)


@dataclass(frozen=True)
class _Judge:
    """The work of a process on one set."""

    oracle: Oracle

    def __call__(self, one: OracleSet) -> Verdict:
        with self.oracle.made(one):
            return judge_set(self.oracle, one, goal_of(one.scenario, one.variant))


def judge_all(oracle: Oracle, sets: Sequence[OracleSet], processes: int) -> Iterator[Verdict]:
    """Yield the verdict on every set, through the columns."""
    return in_processes(_Judge(oracle), sets, processes)


def describe_harder(verdicts: Sequence[Verdict]) -> str:
    """Write the Markdown: how many meet their goals, a table by simulation and lags, and all that miss."""
    kinds = {
        "Each alone, constant lags": [v for v in verdicts if JITTER not in v.result.of.variant],
        "Each alone, random lags": [
            v for v in verdicts if JITTER in v.result.of.variant and v.result.of.scenario not in TOGETHER
        ],
        "All together, random lags": [v for v in verdicts if v.result.of.scenario in TOGETHER],
    }
    parts = [
        f"{len(verdicts)} sets of {verdicts[0].result.of.events:,} events, in memory:",
        "\n".join(_in_one_line(name, group) for name, group in kinds.items() if group),
        _by_simulation(verdicts),
    ]
    missed = [verdict for verdict in verdicts if not verdict.met]
    if missed:
        parts += ["Every set that misses its goal:", list_missed(missed)]
    return "\n\n".join(parts)


def _in_one_line(name: str, group: Sequence[Verdict]) -> str:
    met, paths = sum(v.met for v in group), sum(v.path_met for v in group)
    worst = max((abs(v.worst_error) for v in group), default=0.0)
    return (
        f"- {name}: {met} of {len(group)} sets meet their goal, the path in {paths}, what-if in "
        f"{sum(v.gains_met for v in group)}; the lowest recall or overlap is "
        f"{min(v.result.least for v in group):.4f}, the worst what-if error {100 * worst:.2f} %."
    )


def _by_simulation(verdicts: Sequence[Verdict]) -> str:
    groups: dict[tuple[str, str], list[Verdict]] = {}
    for verdict in verdicts:
        of = verdict.result.of
        groups.setdefault((of.scenario, " ".join(of.variant) or _CONSTANT), []).append(verdict)
    columns = ["simulation", "lags", "goal", "met", "recall, least", "mean", "overlap, least", "mean"]
    rows = [[*key, *_figures(group)] for key, group in groups.items()]
    return table([*columns, "what-if, worst", "mean"], rows)


def _figures(group: Sequence[Verdict]) -> list[str]:
    scores = [[getattr(v.result, name) for v in group] for name in ("recall", "overlap")]
    means = [sum(values) / len(values) for values in scores]
    low_mean = group[0].goal.or_tied and min(means) < min(MEAN_WITH_JITTER, group[0].goal.path)
    return [
        group[0].goal.text,
        f"{sum(v.met for v in group)} of {len(group)}" + (", mean too low" if low_mean else ""),
        *(f"{f:.4f}" for values, mean in zip(scores, means, strict=True) for f in (min(values), mean)),
        *what_if_figures(group),
    ]


def what_if_figures(group: Sequence[Verdict]) -> list[str]:
    """Return, in per cent, the worst error of all names of all sets with its sign, and the mean without."""
    errors = [gain.error for verdict in group for gain in verdict.gains]
    if not errors:
        return ["–", "–"]
    worst, mean = max(errors, key=abs), sum(map(abs, errors)) / len(errors)
    return [f"{100 * worst:+.2f} %", f"{100 * mean:.2f} %"]


def list_missed(missed: Sequence[Verdict]) -> str:
    """Write one line for each set, the lowest path first, with what the report marks of the time missed.

    "of it in the rows" is the overlap of the true path itself with the lengths that the file's rows have.
    """
    columns = [
        "set",
        "recall",
        "overlap",
        "of it in the rows",
        "what-if, worst name",
        "missed",
        "margin 0",
        "marked",
        "worst event",
    ]
    by_path = sorted(missed, key=lambda verdict: (verdict.path_met, verdict.result.least))
    return table(columns, map(_missed_row, by_path))


def _missed_row(verdict: Verdict) -> list[str]:
    result, gain = verdict.result, verdict.worst_gain
    said = f"{100 * gain.error:+.2f} % {gain.name[:40]}" if gain else "–"
    hangs = ["–", "–", "–"]
    if result.missed:
        hangs = [f"{result.missed_ns / 1e3:.0f} µs", f"{result.tied_share:.2f}", f"{result.marked_share:.2f}"]
    worst = f"{result.worst[0][0][:40]} ({result.worst[0][1] / 1e3:.0f} µs)" if result.worst else ""
    scores = [f"{score:.4f}" for score in (result.recall, result.overlap, result.reachable)]
    return [result.of.name, *scores, said, *hangs, worst]


def sample_sets(sets: Sequence[OracleSet], count: int) -> list[OracleSet]:
    """Choose `count` sets at random, the same ones each time."""
    return random.Random(0).sample(list(sets), min(count, len(sets)))


def compare_ways(oracle: Oracle, sets: Sequence[OracleSet], stored: FindAnswer) -> Iterator[list[Verdict]]:
    """Yield for each set its verdict through the columns, and through `stored`."""
    judge = _Judge(oracle)
    for one in sets:
        with oracle.made(one):
            yield [judge(one), judge_set(oracle, one, goal_of(one.scenario, one.variant), stored)]


def describe_ways(pairs: Sequence[Sequence[Verdict]]) -> str:
    """Write the Markdown: figures of a sample through the columns and through the database, side by side."""
    differ = sum((one.result, one.gains) != (other.result, other.gains) for one, other in pairs)
    columns = ["set", "recall", "stored", "overlap", "stored", "what-if, worst", "stored"]
    rows = []
    for pair in pairs:
        cells = zip(*(_told(verdict) for verdict in pair), strict=True)
        rows.append([pair[0].result.of.name, *(text for cell in cells for text in cell)])
    intro = f"{len(pairs)} sets, drawn by chance: {differ} differ in any figure."
    return f"{intro}\n\n{table(columns, rows)}"


def _told(verdict: Verdict) -> list[str]:
    result = verdict.result
    return [f"{result.recall:.4f}", f"{result.overlap:.4f}", f"{100 * verdict.worst_error:+.3f} %"]
