"""What each of the top hotspots costs, and what is critical once it is gone."""

import numpy as np

from tracegraph.ingest.hotspots import find_kinds
from tracegraph.ingest.model import Model
from tracegraph.ingest.replay import Replay
from tracegraph.ingest.segments import WORK

_HOTSPOTS = 5
_FOLLOWING = 3


def find_what_next(model: Model) -> list[dict[str, object]]:
    """For each of the five longest hotspots on the path, the path of a replay in which it takes no time.

    One row each, longest first: name, category, duration_ns (on the path), gain_ns (by how much the window
    gets shorter without all work of that name, on the path or not) and following, the three longest hotspots
    of the path that is then critical (name, category, duration_ns). A gain below the duration says that
    something else was nearly as late.
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
    replay = Replay(segments, model.dependencies, model.window, model.sink)
    removed = np.zeros(len(segments), dtype=bool)
    before = replay.without(removed, counts).end
    rows = []
    for number in kinds.longest(on_path, _HOTSPOTS):
        removed[at] = kinds.number == number
        after = replay.without(removed, counts)
        following = kinds.lengths(work * (after.on_path & ~removed)[at])
        rows.append(
            {
                **kinds.row(on_path, number),
                "gain_ns": before - after.end,
                "following": [kinds.row(following, other) for other in kinds.longest(following, _FOLLOWING)],
            }
        )
    return rows
