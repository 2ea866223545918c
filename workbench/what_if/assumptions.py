"""Assumptions about a job of several ranks, by name."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from tracegraph.base.errors import InputError
from tracegraph.base.suggest import did_you_mean
from tracegraph.ingest.arrays import Floats
from tracegraph.ingest.what_if.changes.between_ranks import transfers, without_stragglers
from tracegraph.ingest.what_if.graph.graph import ReplayGraph
from tracegraph.workbench.what_if.selection import Matched, named_work

NO_STRAGGLERS, INFINITE_BANDWIDTH = "no-stragglers", "infinite-bandwidth"


@dataclass(frozen=True)
class Assumption:
    """An assumption; `factor`: by what it multiplies the work of each segment."""

    meaning: str
    factor: Callable[[ReplayGraph], Floats]


ASSUMPTIONS: Mapping[str, Assumption] = {
    NO_STRAGGLERS: Assumption(
        "host work of one name takes no longer on any rank than on the middle one", without_stragglers
    ),
    INFINITE_BANDWIDTH: Assumption(
        "collectives take no time once all ranks have come",
        lambda graph: np.where(transfers(graph), 0.0, 1.0),
    ),
}


def assume(graph: ReplayGraph, name: str) -> tuple[Floats, list[Matched]]:
    """Find the factor of each segment's work, and the names whose work shrinks, with ns, the most first.

    Raises
    ------
    InputError
        There is no such assumption, or the run's ranks share no operation.
    """
    if name not in ASSUMPTIONS:
        listed = f"there are: {', '.join(ASSUMPTIONS)}"
        raise InputError(f"there is no assumption {name!r}", did_you_mean(name, ASSUMPTIONS, listed))
    if not transfers(graph).any():
        raise InputError(
            f"{name} is about several ranks, and those of this run share no operation",
            "give the files of all ranks: tracegraph ingest rank*.json.gz",
        )
    factor = ASSUMPTIONS[name].factor(graph)
    return factor, list(named_work(graph, factor < 1, graph.segments.work * (1 - factor)))
