"""What a file holds, and does not hold, about the time on its path that no rule explains."""

import numpy as np
import pandas as pd

from tracegraph.ingest.arrays import Flags, Ints
from tracegraph.ingest.causal.graph.model import Model
from tracegraph.ingest.intervals import without_overlaps
from tracegraph.vocabulary.categories import GAP, Role
from tracegraph.vocabulary.gaps import UNKNOWN
from tracegraph.workbench.text.text import format_ns, label

_NAMED = 3
"""The most names that a sentence lists."""
_SOME = 5
"""With fewer values than this no median is given."""
_WIDTH = 48
"""The most characters of a name."""
_SHOWN = 0.005
"""The least share that is listed."""


def describe_unknown(model: Model, rows: pd.DataFrame) -> str:
    """Write sentences with what was measured about the gaps named unknown in `rows`, the path of `model`."""
    unknown = rows[rows["name"].eq(UNKNOWN) & rows["category"].eq(GAP)]
    within = Stretches(unknown["start_ns"].to_numpy(np.int64), unknown["end_ns"].to_numpy(np.int64))
    lengths = unknown["end_ns"] - unknown["start_ns"]
    length = model.window.end - model.window.start
    before = (lengths.groupby(unknown["mechanism"].replace("", "none")).sum() / length).nlargest(_NAMED)
    ends_at = rows["name"].shift(-1)[unknown.index].fillna("")
    after = (lengths.groupby(ends_at).sum() / length).nlargest(_NAMED)
    return " ".join(
        [
            f"Stretches: {len(unknown)}, the longest {format_ns(int(lengths.max()))}; by the edge after: "
            f"{_shares(before)}; by what follows them: {_shares(after)} (shares of the length).",
            *_rhythm(unknown["end_ns"].to_numpy(np.int64)),
            _gpu(model, within),
            *_threads(model, within),
            *_latencies(model),
            _contents(model),
        ]
    )


def _rhythm(ends: Ints) -> list[str]:
    """Say how far apart the stretches end, if there are some."""
    if len(ends) < _SOME:
        return []
    return [f"Their ends lie {format_ns(float(np.median(np.diff(ends))))} apart in the median."]


def _latencies(model: Model) -> list[str]:
    """Say how long after its call GPU work starts in this file."""
    events, call = model.events, model.launches.call
    launched = np.flatnonzero(call >= 0)
    if len(launched) < _SOME:
        return []
    latency = events.start[launched] - events.end[call[launched]]
    early, median = (format_ns(float(value)) for value in np.quantile(latency, [0.05, 0.5]))
    return [f"GPU work starts {median} after its call in the median, {early} in the earliest twentieth."]


class Stretches:
    """Disjoint stretches of time, in order."""

    def __init__(self, start: Ints, end: Ints) -> None:
        self.bounds = np.stack([start, end], axis=1).ravel()
        passed = np.cumsum(end - start)
        self.passed = np.stack([np.append(0, passed)[:-1], passed], axis=1).ravel()

    def overlap(self, start: Ints, end: Ints) -> Ints:
        """Return how much of each given stretch lies in these, in ns."""
        first, last = (np.interp(at, self.bounds, self.passed) for at in (start, end))
        lengths: Ints = np.rint(last - first).astype(np.int64)
        return lengths

    @property
    def total(self) -> int:
        """Their length in ns."""
        return int(self.passed[-1]) if len(self.passed) else 0


def _gpu(model: Model, within: Stretches) -> str:
    work = np.flatnonzero(model.events.is_gpu)
    if not len(work):
        return "The file holds no GPU work."
    busy = within.overlap(*without_overlaps(model.events.start[work], model.events.end[work])).sum()
    return f"During {1 - busy / within.total:.2f} of that time no stream runs anything."


def _threads(model: Model, within: Stretches) -> list[str]:
    """Say what the threads that matter have open at that time: the innermost event of each stretch."""
    segments, lanes = model.segments, model.lanes
    inside = within.overlap(segments.start, segments.end)
    sentences = []
    for lane in np.flatnonzero(lanes.is_thread & lanes.matters).tolist():
        mine = segments.lane == lane
        named = mine & (segments.event >= 0)
        by_name = pd.Series(inside[named]).groupby(model.events.name[segments.event[named]]).sum()
        idle = inside[mine & ~named].sum() / within.total
        name = f"Thread {lanes.frame['tid'].iloc[lane]}"
        sentences.append(
            f"{name}: no event open {idle:.2f}, {_shares((by_name / within.total).nlargest(_NAMED))}."
        )
    return sentences[:_NAMED]


def _contents(model: Model) -> str:
    events, call = model.events, model.launches.call
    counts = {
        "GPU activities": events.is_gpu,
        "of them without a launching call": events.is_gpu & (call < 0),
        "calls that launch": _at(len(events), np.unique(call[call >= 0])),
        "cuda_sync rows": events.of_role(Role.SYNC),
        "operators": events.of_role(Role.OPERATOR),
        "annotations": events.of_role(Role.ANNOTATION),
        "python frames": events.of_role(Role.FRAME),
    }
    listed = ", ".join(f"{name} {int(found.sum()):,}" for name, found in counts.items())
    return f"The file holds: {listed}."


def _at(count: int, positions: Ints) -> Flags:
    found = np.zeros(count, dtype=bool)
    found[positions] = True
    return found


def _shares(shares: "pd.Series[float]") -> str:
    named = shares[shares >= _SHOWN].items()
    return ", ".join(f"{label(str(name), _WIDTH)} {share:.2f}" for name, share in named)
