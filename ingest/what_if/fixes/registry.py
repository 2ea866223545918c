"""All fixes: each is a module, in the order in which answers name fixes that gain the same."""

from collections.abc import Mapping, Sequence

from tracegraph.ingest.arrays import Flags
from tracegraph.ingest.what_if.changes.edit import Edit
from tracegraph.ingest.what_if.fixes import (
    ahead,
    allocation,
    balance,
    bucket,
    capture,
    coalesce,
    fuse,
    gather_ahead,
    overlap,
    precision,
    prefetch,
    python,
    rebalance,
    silences,
    turns,
    unsync,
    warm_up,
)
from tracegraph.ingest.what_if.fixes.fix import Fix
from tracegraph.ingest.what_if.graph.graph import ReplayGraph
from tracegraph.ingest.what_if.settings import Settings

FIXES: tuple[Fix, ...] = (
    unsync.FIX,
    capture.FIX,
    fuse.FIX,
    precision.TF32_FIX,
    precision.BF16_FIX,
    prefetch.FIX,
    ahead.FIX,
    gather_ahead.FIX,
    overlap.FIX,
    coalesce.FIX,
    bucket.FIX,
    python.FIX,
    balance.FIX,
    rebalance.FIX,
    turns.FIX,
    allocation.FIX,
    warm_up.FIX,
    silences.FIX,
)
"""All fixes."""
ASKED: Mapping[str, Fix] = {fix.name: fix for fix in FIXES if fix.edit is not None}
"""The fixes that an option asks for, by name."""
PRECISIONS = tuple(fix.name for fix in FIXES if fix.option)
"""The fixes that `--precision` asks for."""


def fixes_of(graph: ReplayGraph) -> Sequence[Fix]:
    """Choose the fixes whose gain the graph can show: with ranks in short only those that even them out."""
    return [fix for fix in FIXES if fix.evens] if graph.lanes.in_short.any() else FIXES


def edit_of(name: str, graph: ReplayGraph, chosen: Flags, settings: Settings) -> Edit:
    """Make the edit of one of `ASKED` in chosen segments."""
    edit = ASKED[name].edit
    assert edit is not None  # those in ASKED have one
    return edit(graph, chosen, settings)
