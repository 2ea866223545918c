"""Tables of damaged recordings: the simulations as vary.py, and `damages`, damage them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch

from benchmarks.accuracy.damages import OWN
from benchmarks.accuracy.goals import LOST_LINKS, NEED_STACK, REGIMES, goal_of_damage
from benchmarks.accuracy.harder import list_missed, what_if_figures
from benchmarks.accuracy.markdown import table
from benchmarks.accuracy.sets import Oracle, OracleSet
from benchmarks.accuracy.verdict import Verdict, in_processes, judge_set


@dataclass(frozen=True)
class Damaged:
    """One damaged set: its verdict, and the codes of warnings and errors of the undamaged file."""

    verdict: Verdict
    codes_before: frozenset[str]

    @property
    def met(self) -> bool:
        """Whether it meets its goal."""
        return self.verdict.met_or_said(self.codes_before)


def damaged_sets(oracle: Oracle, only: Sequence[str], seeds: range, events: int) -> list[list[OracleSet]]:
    """List for each simulation and seed the undamaged set and each damage, of those in `only` if any."""
    damages = [*oracle.run("vary.py", "--list").split(), LOST_LINKS, *OWN]
    chosen = [damage for damage in damages if not only or damage in only]
    return [
        [base, *(base.damaged(damage) for damage in chosen if _possible(base, damage))]
        for base in oracle.matrix(REGIMES, [()], seeds, events)
    ]


def _possible(base: OracleSet, damage: str) -> bool:
    return "--stack" in base.scenario or not fnmatch(damage, NEED_STACK)


@dataclass(frozen=True)
class _Judge:
    """The work of a process on one simulation and its damages."""

    oracle: Oracle

    def __call__(self, sets: Sequence[OracleSet]) -> list[Damaged]:
        with self.oracle.made(sets[0]):
            verdicts = [self._judge(one) for one in sets]
        return [Damaged(verdict, verdicts[0].codes) for verdict in verdicts]

    def _judge(self, one: OracleSet) -> Verdict:
        with self.oracle.made(one):
            return judge_set(self.oracle, one, goal_of_damage(one.damage))


def judge_damaged(
    oracle: Oracle, sets: Sequence[Sequence[OracleSet]], processes: int
) -> Iterator[list[Damaged]]:
    """Yield the verdicts on every set, through the columns."""
    return in_processes(_Judge(oracle), sets, processes)


def describe_damaged(groups: Sequence[Sequence[Damaged]]) -> str:
    """Write the Markdown: a table by damage, what is said if the truth cannot be known, and all that miss."""
    found = [damaged for group in groups for damaged in group]
    missed = [damaged.verdict for damaged in found if not damaged.met]
    parts = [
        f"{len(found)} sets of {found[0].verdict.result.of.events:,} events, in memory; "
        f"{len(found) - len(missed)} meet their goal.",
        _by_damage(found),
    ]
    unknowable = [damaged for damaged in found if damaged.verdict.goal.or_said]
    if unknowable:
        parts += ["What nobody can know, and what is said then:", _list_said(unknowable)]
    if missed:
        parts += ["Every set that misses its goal:", list_missed(missed)]
    return "\n\n".join(parts)


def _by_damage(found: Sequence[Damaged]) -> str:
    groups: dict[str, list[Damaged]] = {}
    for damaged in found:
        groups.setdefault(damaged.verdict.result.of.damage, []).append(damaged)
    columns = ["damage", "goal", "met", "recall, least", "overlap, least", "what-if, worst", "mean"]
    return table([*columns, "said beyond the undamaged file"], [_row(*item) for item in groups.items()])


def _row(damage: str, group: Sequence[Damaged]) -> list[str]:
    verdicts = [damaged.verdict for damaged in group]
    codes = frozenset().union(*(damaged.verdict.codes - damaged.codes_before for damaged in group))
    return [
        damage or "none",
        verdicts[0].goal.text,
        f"{sum(damaged.met for damaged in group)} of {len(group)}",
        f"{min(v.result.recall for v in verdicts):.4f}",
        f"{min(v.result.overlap for v in verdicts):.4f}",
        *what_if_figures(verdicts),
        ", ".join(sorted(codes)) or "–",
    ]


def _list_said(found: Sequence[Damaged]) -> str:
    columns = ["set", "recall", "overlap", "missed", "confidence of what was missed", "said", "met"]
    rows = []
    for damaged in found:
        result = damaged.verdict.result
        missed = f"{result.missed_ns / 1e3:.0f} µs" if result.missed else "–"
        confidence = f"{result.missed_confidence:.2f}" if result.missed else "–"
        said = ", ".join(sorted(damaged.verdict.codes - damaged.codes_before)) or "nothing"
        scores = [f"{result.recall:.4f}", f"{result.overlap:.4f}"]
        rows.append([result.of.name, *scores, missed, confidence, said, "yes" if damaged.met else "no"])
    return table(columns, rows)
