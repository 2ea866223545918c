"""The comparison of the last quarter of the cycles with the first: what grew."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean

from benchmarks.soak.cycles import Cycle

LIMIT = 1.3
"""A measure grows if its mean of the last quarter exceeds that of the first by more than this factor."""


@dataclass(frozen=True)
class Measure:
    """A figure of each cycle; `scale` is the number of the cycle's own units in the `unit` shown.

    Only a `judged` one may not grow: wall times say more about the machine's other work.
    """

    name: str
    unit: str
    of: Callable[[Cycle], float]
    scale: float = 1.0
    judged: bool = True

    def values(self, cycles: Sequence[Cycle]) -> list[float]:
        """Return the figure after each cycle, in `unit`."""
        return [self.of(cycle) / self.scale for cycle in cycles]

    def quarters(self, cycles: Sequence[Cycle]) -> tuple[float, float]:
        """Return the means of the first and of the last quarter, in `unit`."""
        values, quarter = self.values(cycles), max(1, len(cycles) // 4)
        return fmean(values[:quarter]), fmean(values[-quarter:])

    def grows(self, cycles: Sequence[Cycle]) -> bool:
        """Tell whether the measure is judged and beyond the limit."""
        first, last = self.quarters(cycles)
        return self.judged and last > LIMIT * first


MEASURES = (
    Measure("disk of the workspace", "MB", lambda cycle: cycle.disk_bytes, 1e6),
    Measure("memory of the server", "MB", lambda cycle: cycle.server_bytes, 1e6),
    Measure("memory of Python", "MB", lambda cycle: cycle.python_bytes, 1e6),
    Measure("CPU time of an ingest", "s", lambda cycle: cycle.cpu_s),
    Measure("wall time of an ingest", "s", lambda cycle: cycle.wall_s, judged=False),
    Measure("nodes", "thousand", lambda cycle: cycle.nodes, 1e3),
)
