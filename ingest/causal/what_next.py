"""What each of the top hotspots costs, and what is critical once it is gone."""

from dataclasses import replace

import numpy as np

from tracegraph.ingest.arrays import Flags, Ints
from tracegraph.ingest.causal.hotspots import Kinds, find_kinds
from tracegraph.ingest.causal.path_rows import find_stretches
from tracegraph.ingest.causal.replay import Outcome, Replay
from tracegraph.ingest.causal.segments import WORK
from tracegraph.ingest.causal.solved import Storable
from tracegraph.store.categories import GAP
from tracegraph.store.mechanisms import CODE, MECHANISMS

_HOTSPOTS = 5
_FOLLOWING = 3
_OWN_WAITS = tuple(CODE[mechanism.name] for mechanism in MECHANISMS if mechanism.own_wait)


def find_what_next(model: Storable) -> list[dict[str, object]]:
    """For each of the five longest hotspots on the path, the path of a replay in which it takes no time.

    One row each, longest first: name, category, duration_ns (on the path), gain_ns (by how much the window
    gets shorter without all work of that name, on the path or not) and following, the three longest hotspots
    of the path that is then critical (name, category, duration_ns). A gain below the duration says that
    something else was nearly as late. Waiting for another rank or for the GIL counts as a hotspot (category
    `gap`); waits for what the file shows do not, as their causes are on the path themselves.
    """
    segments = model.segments
    at = np.flatnonzero((segments.kind == WORK) & (segments.event >= 0))
    counts = np.zeros(len(segments), dtype=bool)
    counts[at] = model.lanes.matters[segments.lane[at]]
    if not counts.any():
        return []
    kinds = find_kinds(model.events, segments.event[at])
    work = segments.work[at]
    on_path = kinds.lengths(work * model.on_path[at])
    nothing = np.zeros(len(segments), dtype=bool)
    before = model.replay.without(nothing, counts).end

    def row(hotspot: dict[str, object], removed: Flags, after: Outcome) -> dict[str, object]:
        following = kinds.lengths(work * (after.on_path & ~removed)[at])
        names = [kinds.row(following, other) for other in kinds.longest(following, _FOLLOWING)]
        return {**hotspot, "gain_ns": before - after.end, "following": names}

    rows = [row(wait, nothing, _replay_at_once(model, rule, counts)) for rule, wait in _waits(model).items()]
    for number in kinds.longest(on_path, _HOTSPOTS):
        removed = _removed(kinds, number, at, len(segments))
        rows.append(row(kinds.row(on_path, number), removed, model.replay.without(removed, counts)))
    return sorted(rows, key=lambda hotspot: -int(str(hotspot["duration_ns"])))[:_HOTSPOTS]


def _removed(kinds: Kinds, number: int, at: Ints, count: int) -> Flags:
    removed = np.zeros(count, dtype=bool)
    removed[at] = kinds.number == number
    return removed


def _waits(model: Storable) -> dict[int, dict[str, object]]:
    """Time on the path in the waits of each of `_OWN_WAITS`, where there is some, as rows."""
    rows, found = find_stretches(model), model.dependencies
    waits = {}
    for rule in _OWN_WAITS:
        bound = (rows.event < 0) & (rows.edge >= 0)
        spent = int(rows.duration[bound][found.mechanism[rows.edge[bound]] == rule].sum())
        if spent:
            waits[rule] = {"name": MECHANISMS[rule].gap, "category": GAP, "duration_ns": spent}
    return waits


def _replay_at_once(model: Storable, rule: int, counts: Flags) -> Outcome:
    """The replay in which what waits by a rule goes on at once."""
    found = model.dependencies
    at_once = replace(found, lag=np.where(found.mechanism == rule, 0, found.lag))
    replay = Replay(model.segments, at_once, model.window, model.sink)
    return replay.without(np.zeros(len(model.segments), dtype=bool), counts)
