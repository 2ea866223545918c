"""What-if of all under an annotation, including work handed over, against simulations without it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.accuracy.markdown import table
from benchmarks.accuracy.paths import read_model
from benchmarks.accuracy.sets import JITTER, Oracle, OracleSet, read_json
from benchmarks.accuracy.verdict import in_processes
from tracegraph.ingest.what_if.graph.graph import graph_of
from tracegraph.vocabulary.categories import Role
from tracegraph.workbench.what_if.answer import Question, answer

GOAL, GOAL_WITH_JITTER = 0.01, 0.02
"""The largest error as a share of the makespan, with constant and with random lags."""


@dataclass(frozen=True)
class Said:
    """The gain in ns without an annotation and all under it, as predicted and as it truly is."""

    of: OracleSet
    name: str
    said_ns: int
    true_ns: int
    total_ns: int

    @property
    def error(self) -> float:
        """Predicted minus true gain, as a share of the makespan."""
        return (self.said_ns - self.true_ns) / max(self.total_ns, 1)

    @property
    def met(self) -> bool:
        """Whether it is as near as it should be."""
        return abs(self.error) <= (GOAL_WITH_JITTER if JITTER in self.of.variant else GOAL)


@dataclass(frozen=True)
class _Judge:
    oracle: Oracle

    def __call__(self, one: OracleSet) -> list[Said]:
        with self.oracle.made(one):
            graph = graph_of(read_model(one.trace)[0])
            calls = graph.calls
            names = sorted({str(name) for name in calls.name[calls.of_role(Role.ANNOTATION)]})
            total, true = _true_gains(self.oracle, one, names)
            found = []
            for name in names:
                selector = "under=" + name.replace(",", "\\,")
                predicted = answer(graph, one.name, Question(remove=(selector,))).prediction
                found.append(Said(one, name, predicted.corrected.gain_ns, true[name], total))
            return found


def judge_under(oracle: Oracle, sets: Sequence[OracleSet], processes: int) -> Iterator[list[Said]]:
    """Yield the gains of every annotation of every set."""
    return in_processes(_Judge(oracle), sets, processes)


def _true_gains(oracle: Oracle, one: OracleSet, names: Sequence[str]) -> tuple[int, dict[str, int]]:
    stem = Path(f"{one.stem}_under")
    oracle.run("synth_kineto.py", stem, *one.options, *(f"--zero-caused={name}" for name in names))
    truth = read_json(stem.with_name(f"{stem.name}_truth.json"))
    for left in stem.parent.glob(f"{stem.name}_*.json"):
        left.unlink()
    total = round(truth["total_us"] * 1000)
    return total, {name: total - round(truth["whatif"][f"caused:{name}"] * 1000) for name in names}


def describe_under(found: Sequence[Said]) -> str:
    """Write the Markdown: how many meet the goal, by simulation, and every one that misses."""
    groups: dict[tuple[str, str], list[Said]] = {}
    for one in found:
        groups.setdefault((one.of.scenario, " ".join(one.of.variant) or "constant lags"), []).append(one)
    rows = []
    for key, group in groups.items():
        worst = max(group, key=lambda one: abs(one.error))
        mean = sum(abs(one.error) for one in group) / len(group)
        met = f"{sum(one.met for one in group)} of {len(group)}"
        rows.append([*key, met, f"{100 * worst.error:+.2f} %", f"{100 * mean:.2f} %", worst.name[:40]])
    columns = ["simulation", "lags", "met", "worst", "mean", "worst annotation"]
    met = sum(one.met for one in found)
    intro = f"{met} of {len(found)} gains are within 1 % of the makespan, 2 % with random lags."
    return f"{intro}\n\n{table(columns, rows)}"
