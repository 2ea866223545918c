"""Predicted gains against exact ones: the simulation repeated with the work of one name at zero."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchmarks.accuracy.sets import Oracle, OracleSet, read_json
from tracegraph.vocabulary.categories import GAP


@dataclass(frozen=True)
class Gain:
    """How much shorter the makespan is without the own time of one name, as predicted and in truth; ns."""

    name: str
    category: str
    said_ns: int
    true_ns: int
    total_ns: int

    @property
    def error(self) -> float:
        """Predicted minus true gain, as a share of the makespan."""
        return (self.said_ns - self.true_ns) / max(self.total_ns, 1)


def judge_gains(oracle: Oracle, one: OracleSet, what_next: Sequence[dict[str, Any]]) -> tuple[Gain, ...]:
    """Compare all rows of `what_next` that are work; waits have no counterpart in the simulation.

    A damaged set is compared with the simulation before the damage.
    """
    said = [row for row in what_next if row["category"] != GAP]
    total, true = true_gains(oracle, one.undamaged, [str(row["name"]) for row in said])
    return tuple(
        Gain(str(row["name"]), str(row["category"]), int(row["gain_ns"]), true[str(row["name"])], total)
        for row in said
    )


def true_gains(oracle: Oracle, one: OracleSet, names: Iterable[str]) -> tuple[int, dict[str, int]]:
    """Return the makespan, and the true gain of each name, in ns; known ones are kept in a file."""
    kept = one.stem.with_name(f"{one.stem.name}_gains.json")
    known: dict[str, int] = read_json(kept)["gains_ns"] if kept.exists() else {}
    total = read_json(kept)["total_ns"] if kept.exists() else 0
    missing = sorted(set(names) - known.keys())
    if missing or not kept.exists():
        truth = _simulate_again(oracle, one, missing)
        total = round(truth["total_us"] * 1000)
        known |= {name: total - round(truth["whatif"][f"name:{name}"] * 1000) for name in missing}
        kept.write_text(json.dumps({"total_ns": total, "gains_ns": known}))
    return total, known


def _simulate_again(oracle: Oracle, one: OracleSet, names: Sequence[str]) -> dict[str, Any]:
    again = replace(one, stem=Path(f"{one.stem}_again"))
    oracle.run("synth_kineto.py", again.stem, *one.options, *(f"--zero={name}" for name in names))
    truth = read_json(again.truth)
    again.trace.unlink()
    again.truth.unlink()
    return truth
