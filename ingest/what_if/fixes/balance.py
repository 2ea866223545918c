"""Balance ranks: no rank does more of anything on its host than the others, so that none waits for it."""

from collections.abc import Iterator

import numpy as np

from tracegraph.base.units import short_ns
from tracegraph.ingest.what_if.changes.between_ranks import (
    MAY_BE_CHANCE,
    has_few_steps,
    has_host,
    transfers,
    without_stragglers,
)
from tracegraph.ingest.what_if.changes.change import Change
from tracegraph.ingest.what_if.fixes.fix import Candidate, Fix, Scene
from tracegraph.vocabulary.canonical_names import without_address


def _find(scene: Scene) -> Iterator[Candidate]:
    graph, segments = scene.graph, scene.graph.segments
    if len(np.unique(graph.lanes.rank)) < 2 or not transfers(graph).any():
        return
    factor = without_stragglers(graph)
    more = segments.work * (1 - factor)
    of_rank = np.bincount(graph.lanes.rank[segments.lane], more)
    late = int(of_rank.argmax())
    if not of_rank[late]:
        return
    mine = np.flatnonzero((graph.lanes.rank[segments.lane] == late) & (more > 0))
    by_name = np.bincount(graph.calls.name.codes[segments.event[mine]], more[mine])
    name = str(graph.calls.name.values[int(by_name.argmax())])
    is_step = name in {one.name for one in graph.steps}
    where = "between the events of its steps" if is_step else f"in {without_address(name)}"
    is_unsure = has_few_steps(graph)
    place = "on its host" if has_host(graph) else "by itself"
    yield Candidate(
        selector=f"rank={late}",
        options=("--no-stragglers",),
        change=Change(factor),
        assumptions=(MAY_BE_CHANCE,) if is_unsure else (),
        least=Change(np.ones(len(factor))) if is_unsure else None,
        evidence=f"rank {late} spends {short_ns(of_rank[late])} more {place} than the middle rank does, "
        f"{short_ns(by_name.max())} of it {where}",
    )


FIX = Fix(
    name="balance",
    title="Balance the ranks",
    recognised="a rank whose host work of some names takes longer than on the middle rank, beyond chance",
    replayed="host work of one name takes no longer on any rank than on the middle one (`--no-stragglers`)",
    how="give each rank as much work: batch sizes, sequence lengths, experts, pipeline stages, logging",
    refuted_by="ranks that are late in turn, or whose kernels are slower: look at clocks and sharing",
    assumptions=("what one rank does more than the others need not be done, or can be shared out",),
    find=_find,
    evens=True,
)
