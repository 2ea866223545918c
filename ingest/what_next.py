"""What each of the top hotspots costs, and what is critical once it is gone."""

import numpy as np
import pandas as pd

from tracegraph.ingest.events import Flags, Ints
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
    is_work = (segments.kind == WORK) & (segments.event >= 0)
    kind, kinds = _kinds(model, is_work)
    on_path = _lengths(kind, len(kinds), segments.work, model.on_path & is_work)
    counts = is_work & model.lanes.matters[segments.lane]
    if not counts.any():
        return []
    replay = Replay(segments, model.dependencies, model.window, model.sink)
    before = replay.without(np.zeros(len(segments), dtype=bool), counts).end
    rows = []
    for number in _longest(on_path, _HOTSPOTS):
        removed = kind == number
        after = replay.without(removed, counts)
        following = _lengths(kind, len(kinds), segments.work, after.on_path & is_work & ~removed)
        rows.append(
            {
                **_row(kinds, on_path, number),
                "gain_ns": before - after.end,
                "following": [_row(kinds, following, other) for other in _longest(following, _FOLLOWING)],
            }
        )
    return rows


def _kinds(model: Model, is_work: Flags) -> tuple[Ints, pd.DataFrame]:
    """For each segment the number of its event's name and category, -1 for others; and these by number."""
    event = model.segments.event[is_work]
    pairs = pd.MultiIndex.from_arrays([model.events.name[event], model.events.category[event]])
    codes, distinct = pd.factorize(pairs)
    kind = np.full(len(is_work), -1, dtype=np.int64)
    kind[is_work] = codes
    return kind, pd.DataFrame(distinct.tolist(), columns=["name", "category"])


def _lengths(kind: Ints, count: int, work: Ints, chosen: Flags) -> Ints:
    """Work of the chosen segments by kind, ns."""
    lengths = np.zeros(count, dtype=np.int64)
    np.add.at(lengths, kind[chosen], work[chosen])
    return lengths


def _longest(lengths: Ints, most: int) -> list[int]:
    order = np.argsort(-lengths, kind="stable")[:most]
    longest: list[int] = order[lengths[order] > 0].tolist()
    return longest


def _row(kinds: pd.DataFrame, lengths: Ints, number: int) -> dict[str, object]:
    name, category = kinds.iloc[number]
    return {"name": str(name), "category": str(category), "duration_ns": int(lengths[number])}
