"""Checks whether a verdict on the CPU agrees with the rest of a report: a busy GPU may be the reason."""

from dataclasses import dataclass

from tracegraph.workbench.findings.bound import bound_of
from tracegraph.workbench.findings.findings import Findings

_BUSY, _NEARLY_BUSY = 0.9, 0.75
"""Shares of the window: a GPU is busy all the time, or most of it. The first is that from which the rules
count a GPU as busy throughout (docs/rules.md), the second the threshold of `cpu-or-gpu`. Both were chosen by
eye: lower ones would withhold more verdicts on the CPU."""
_NEXT_TO_NOTHING = 0.25
"""If a gain is below this part of what the work takes of the path, something else was nearly as late. Chosen
by eye: a larger one would withhold the verdict on more programs that work on two lanes at once."""
_LONG_NS, _LONG, _MOST = 100_000, 0.02, 0.5
"""Opaque work is long from this time and share of the window on; `_MOST` of the path must be such work. 100
µs is where the rules begin to look for waits (`SHORTEST_SILENCE_NS`), and `_MOST` is the majority. The 2 %
were chosen by eye: with less, work that is short beside the window would count."""


@dataclass(frozen=True)
class Contradiction:
    """Why the CPU need not determine the length.

    `share`: the part of the path that is work of threads, 0..1. `busy`: the part of the window in which a GPU
    works, 0..1. `name`: that of the CPU's longest own work. `gain_ns`: by how much the window gets shorter
    without it; None if no replay says.
    """

    share: float
    busy: float
    name: str
    gain_ns: int | None


def contradiction(findings: Findings) -> Contradiction | None:
    """Find what speaks against a verdict on the CPU; None if nothing does, or the verdict is another."""
    doubt = doubt_of_cpu(findings)
    return doubt if doubt and "cpu" in bound_of(findings).bottlenecks else None


def doubt_of_cpu(findings: Findings) -> Contradiction | None:
    """Find out why the work of threads on the path may be waits for a GPU; None if nothing suggests it.

    Threads may wait for a GPU that works all the time, or that works most of it beside long opaque work of
    the CPU. They do not if a replay without the longest own work gains a good part of that work.
    """
    busy = findings.gpu_working_share
    if busy is None or busy < _NEARLY_BUSY:
        return None
    if busy < _BUSY and findings.share(_opaque_ns(findings)) < _MOST:
        return None
    work = findings.own_work_ns  # comes last because it goes over the names of the whole path
    if not work:
        return None
    name, category = next(iter(work))
    share = findings.share(sum(work.values()))
    row = _without(findings, name, category)
    if row is None:
        return Contradiction(share, busy, name, None) if busy >= _BUSY else None
    gain_ns, held_ns = row
    return None if gain_ns >= _NEXT_TO_NOTHING * held_ns else Contradiction(share, busy, name, gain_ns)


def _opaque_ns(findings: Findings) -> int:
    """Sum the work of threads on the path that lasts long without anything inside it."""
    long = findings.durations.ge(max(_LONG_NS, _LONG * findings.length_ns))
    return int(findings.durations[long & findings.is_own].sum())


def _without(findings: Findings, name: str, category: str) -> tuple[int, int] | None:
    """Find the largest gain that a replay without a name has, and the part of the path that it holds, ns."""
    rows = [(row, "duration_ns") for row in findings.details.what_next]
    rows += [(row, "path_ns") for row in findings.details.potential]
    mine = [(row, held) for row, held in rows if (row["name"], row["category"]) == (name, category)]
    return max(((int(row["gain_ns"]), int(row[held])) for row, held in mine), default=None)
