"""Changes of a job of several ranks: transfers take no time, or no rank's host work is late."""

import numpy as np
import pandas as pd

from tracegraph.ingest.arrays import Flags, Floats, Ints
from tracegraph.ingest.causal.events.events import NONE
from tracegraph.ingest.causal.graph.segments import WORK
from tracegraph.ingest.what_if.changes.late_places import place_factors
from tracegraph.ingest.what_if.graph.graph import ReplayGraph
from tracegraph.ingest.what_if.graph.transfers import transferring
from tracegraph.vocabulary.canonical_names import common_name

_CHANCE = 0.01
"""The chance (0..1) that any name counts as late on any rank only because its values scatter."""
_FEWEST_STEPS = 3
"""With fewer steps on a rank their sums have no scatter to speak of."""
MAY_BE_CHANCE = (
    "a rank has fewer than three steps, so that nobody can tell a late rank from steps that scatter: "
    "the gain may be none"
)
"""What must be said of `without_stragglers` where `has_few_steps`."""


def transfers(graph: ReplayGraph) -> Flags:
    """Flag the segments in which members of collectives transfer, from the moment when the last one came."""
    met: Flags = np.append(graph.rendezvous != NONE, False)[graph.segments.event]
    return met & transferring(graph)


def has_host(graph: ReplayGraph) -> bool:
    """Tell whether threads were recorded, as they are not in a log of operations."""
    return bool((graph.segments.on_thread & ~_in_short(graph)).any())


def _in_short(graph: ReplayGraph) -> Flags:
    """Flag the segments of ranks in short: what these work on is not known, so that nothing compares it."""
    flags: Flags = graph.lanes.in_short[graph.segments.lane]
    return flags


def without_stragglers(graph: ReplayGraph) -> Floats:
    """Compute the factor of each segment's work (0..1) if no rank is later than the others.

    Ranks in short are neither compared nor changed.

    Host work of one name, or where no host was recorded all that ranks do not do together, takes on each rank
    no more than on the middle one (of two ranks the one with less). A difference stays that is chance: it is
    smaller than the scatter within a rank of the sums of that name in a step, or, of fewer than three
    steps, of its single events. The sums tell where one of several layers is late, always the same one, and
    events of a step that are slow together are no proof. Of a name that is late, the events lose it that
    are later than those in the same place of other ranks' steps, as far as steps are alike.
    """
    host, own = _own_work(graph)
    factor = np.ones(len(graph.segments))
    factor[host] = place_factors(own, late_factors(own))
    return factor


def has_few_steps(graph: ReplayGraph) -> bool:
    """Tell whether a rank has too few steps to tell that it is late from steps that scatter."""
    host = _own_segments(graph)
    rank, step = graph.lanes.rank[graph.segments.lane[host]], graph.calls.step[graph.segments.event[host]]
    return bool(_steps(pd.DataFrame({"rank": rank, "step": step})).min() < _FEWEST_STEPS)


def _own_segments(graph: ReplayGraph) -> Ints:
    """Find the segments of work that ranks do not do together."""
    segments = graph.segments
    works = (segments.on_thread == has_host(graph)) & ~_in_short(graph)
    host = np.flatnonzero(works & (segments.kind == WORK) & (segments.event >= 0))
    apart: Ints = host[graph.rendezvous[segments.event[host]] == NONE]
    return apart


def _own_work(graph: ReplayGraph) -> tuple[Ints, pd.DataFrame]:
    """Find these segments, with rank, name, event, step, start and work of each."""
    segments, host = graph.segments, _own_segments(graph)
    event = segments.event[host]
    own = pd.DataFrame(
        {
            "rank": graph.lanes.rank[segments.lane[host]],
            "name": _alike(graph)[graph.calls.name.codes[event]],
            "event": event,
            "step": graph.calls.step[event],
            "start": segments.start[host],
            "work": segments.work[host],
        }
    )
    return host, own


def _steps(own: pd.DataFrame) -> "pd.Series[int]":
    """Count the steps of each rank."""
    inside = own[own["step"] != NONE]
    return inside.groupby("rank")["step"].nunique().reindex(sorted(own["rank"].unique()), fill_value=0)


def late_factors(own: pd.DataFrame) -> "pd.Series[float]":
    """Compute the factors by name and rank, from rank, name, event, step and work of pieces of host work."""
    total = own.groupby(["rank", "name"])["work"].sum().unstack("rank").fillna(0)
    return _factors(total, *_scatter(own))


def _alike(graph: ReplayGraph) -> "np.typing.NDArray[np.int64]":
    """Give each name's code a number, the same for names that differ only in addresses and hashes."""
    texts = [common_name(str(name)) for name in graph.calls.name.values]
    return np.unique(np.array(texts, dtype=object).astype(str), return_inverse=True)[1].reshape(-1)


def _scatter(own: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return how many values each name and rank has, and their variance: of steps, or of single events.

    Events of a step are fast or slow together, so that their own scatter says too little of their sums. A
    step without the name counts as one that does nothing of it. A name outside of all steps has its events.
    """
    times = own.groupby(["rank", "name", "event"])["work"].sum().groupby(["rank", "name"])
    of_events = times.count().unstack("rank").fillna(0), times.var().unstack("rank").fillna(0)
    inside, steps = own[own["step"] != NONE], _steps(own)
    if steps.min() < _FEWEST_STEPS:
        return of_events
    sums = inside.groupby(["rank", "name", "step"])["work"].sum().astype(float)
    squares = (sums**2).groupby(["rank", "name"]).sum().unstack("rank").fillna(0)
    mean = sums.groupby(["rank", "name"]).sum().unstack("rank").fillna(0) / steps
    count = mean.mul(0).add(steps, axis=1)
    variance = (squares - steps * mean**2).clip(lower=0) / (steps - 1)
    return count.combine_first(of_events[0]), variance.combine_first(of_events[1])


def _factors(total: pd.DataFrame, count: pd.DataFrame, variance: pd.DataFrame) -> "pd.Series[float]":
    """Compute the factors by name and rank, from sums, and from numbers and variances of values of each.

    Rows are names and columns ranks. Two sums differ by more than chance if Student's t-test says so, at a
    level that Bonferroni's correction divides by the number of sums that are compared. A name that no rank
    has twice has no scatter.
    """
    ranks = total.shape[1]
    middle = np.sort(total.to_numpy(), axis=1)[:, (ranks - 1) // 2]
    late = total.sub(middle, axis=0) > _chance(count, variance)
    shrunk = (1 / total.where(late)).mul(middle, axis=0).fillna(1.0)
    # A frame of hundreds of ranks is one array; a column more would cut it into pieces.
    index = pd.MultiIndex.from_product([shrunk.columns, shrunk.index], names=["rank", "name"])
    return pd.Series(shrunk.to_numpy().T.reshape(-1), index).swaplevel()


def _chance(count: pd.DataFrame, variance: pd.DataFrame) -> pd.DataFrame:
    """Compute how much two sums of a name may differ by chance alone, ns."""
    from scipy.special import stdtrit  # noqa: PLC0415  (takes .1 s, and few files need it)

    degrees = (count - 1).clip(lower=0)
    freedom = degrees.sum(axis=1).clip(lower=1)
    pooled = (variance * degrees).sum(axis=1) / freedom
    quantile = -stdtrit(freedom, _CHANCE / count.size)
    return count.mul(2 * pooled * quantile**2, axis=0).pow(0.5)
