"""The results of the cycles as Markdown."""

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

from benchmarks.accuracy.markdown import table
from benchmarks.soak.cycles import Cycle
from benchmarks.soak.judge import LIMIT, MEASURES, Measure

_COLUMNS = ("after each cycle", "first quarter", "last quarter", "ratio", "most", "may grow to")


def describe(cycles: Sequence[Cycle], machine: str, picture: str) -> str:
    """Write the table of the measures, and the picture of their curves."""
    traces = ", ".join(f"{name.split('.')[0]} × {count}" for name, count in _traces(cycles))
    restarts = sum(before.server_pid != after.server_pid for before, after in pairwise(cycles))
    return "\n\n".join(
        [
            f"{machine}. {len(cycles)} cycles: {traces}. Restarts of the server: {restarts}.",
            table(_COLUMNS, [_row(measure, cycles) for measure in MEASURES]),
            f"![Disk, memory, time and nodes after each cycle]({picture})",
        ]
    )


def _traces(cycles: Sequence[Cycle]) -> list[tuple[str, int]]:
    return sorted(Counter(cycle.trace for cycle in cycles).items())


def _row(measure: Measure, cycles: Sequence[Cycle]) -> tuple[str, ...]:
    first, last = measure.quarters(cycles)
    return (
        f"{measure.name}, {measure.unit}",
        f"{first:,.1f}",
        f"{last:,.1f}",
        f"{last / first:.2f}",
        f"{max(measure.values(cycles)):,.1f}",
        f"{LIMIT} times" if measure.judged else "",
    )
