"""The outline of a path's call stacks: the frames with most of it, without the plumbing between them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from tracegraph.queries.module import Column
from tracegraph.queries.shapes.call_tree import call_tree
from tracegraph.queries.shapes.layers import with_layers_merged
from tracegraph.vocabulary.categories import Role, has_role
from tracegraph.vocabulary.python_frames import is_library

OUTLINE_COLUMNS = (
    Column("row", "INTEGER", False, "0-based place among the rows"),
    Column("parent", "INTEGER", True, "row of the frame around it, null for the root of a lane"),
    Column("depth", "INTEGER", False, "number of rows around it"),
    Column("name", "STRING", False, "name of the events, of the lane or of the gap"),
    Column("category", "STRING", False, "Kineto category, `thread` or `stream` for a lane, or `gap`"),
    Column("duration_ns", "INTEGER", False, "time on the path inside it or launched from inside it, ns"),
    Column("share", "FLOAT", False, "share of the path, 0..1"),
    Column("own_ns", "INTEGER", False, "how much of it is in the frame itself, ns"),
    Column("left_out_ns", "INTEGER", False, "how much of it is in frames inside it that are not listed, ns"),
    Column("skipped", "INTEGER", False, "frames between it and its parent, with nearly the same time"),
)
"""Columns of `path_outline`."""
LEAST_SHARE = 0.02
"""Frames with less than this share of the path are left out. 2 % is the least share of a name in `potential`,
too; more rows would be listed with less, and with more the sum of several small frames would be left out."""
MOST_ROWS = 20
"""The most frames that are listed."""
_NEARLY_ALL = 0.95
"""A frame with at least this share of its parent's time is the next one of its chain. Chosen by eye: a lower
one would skip frames with time of their own, a higher one list wrappers that only add the cost of recording
them."""


@dataclass
class _Frame:
    name: str
    category: str
    duration_ns: int
    own_ns: int
    parent: "_Frame | None"
    inside: "list[_Frame]" = field(default_factory=list)
    skipped: bool = False

    def chain(self) -> "Iterator[_Frame]":
        """Yield the frame and those inside it, while one has nearly all the time of the one around it."""
        frame: _Frame | None = self
        while frame is not None:
            yield frame
            least = _NEARLY_ALL * frame.duration_ns
            frame = next((one for one in frame.inside if one.duration_ns >= least), None)


def path_outline(_: Mapping[str, Any], frames: pd.DataFrame) -> pd.DataFrame:
    """List the frames with most of the path, each after its parent, longest first, from `path_frames`.

    Repeated layers are one frame.
    """
    length = max(1, int(frames["duration_ns"].sum()))
    roots = _linked(call_tree(with_layers_merged(frames)), LEAST_SHARE * length)
    for root in roots:
        _skip_plumbing(root)
    every = [frame for root in roots for frame in _walk(root)]
    longest = sorted((frame for frame in every if not frame.skipped), key=lambda one: -one.duration_ns)
    return _rows(every, {id(frame) for frame in longest[:MOST_ROWS]}, length)


def _linked(tree: pd.DataFrame, least_ns: float) -> list[_Frame]:
    """Return the lanes with all frames inside them that are long enough, the longest first."""
    found: dict[int, _Frame] = {}
    roots: list[_Frame] = []
    large = tree[tree["duration_ns"] >= max(1.0, least_ns)]
    for row in large.sort_values("duration_ns", ascending=False, kind="stable").to_dict("records"):
        # A frame has at most the time of its parent, and with the same time it stands after it.
        parent = None if pd.isna(row["parent"]) else found[int(row["parent"])]
        texts, times = (str(row["name"]), str(row["category"])), (int(row["duration_ns"]), int(row["own_ns"]))
        frame = found[int(row["frame"])] = _Frame(*texts, *times, parent)
        (roots if parent is None else parent.inside).append(frame)
    return roots


def _walk(frame: _Frame) -> Iterator[_Frame]:
    stack = [frame]
    while stack:
        one = stack.pop()
        yield one
        stack += reversed(one.inside)


def _skip_plumbing(root: _Frame) -> None:
    """Mark frames as skipped: of frames in a row with nearly the same time only some are listed.

    These are the lane, annotations, the first and the last of the user's own functions and modules, and the
    last frame if it is not a library's or does most of the work itself.
    """
    seen: set[int] = set()
    for begin in _walk(root):
        if id(begin) in seen:
            continue
        chain = list(begin.chain())
        seen |= {id(frame) for frame in chain}
        own = [frame for frame in chain if _is_own(frame)]
        kept = [frame for frame in chain if frame.parent is None or has_role(frame.category, Role.ANNOTATION)]
        kept += [*own[:1], *own[-1:]]
        last = chain[-1]
        if not kept or not is_library(last.name, last.category) or 2 * last.own_ns > last.duration_ns:
            kept.append(last)
        kept_ids = {id(frame) for frame in kept}
        for frame in chain:
            frame.skipped = id(frame) not in kept_ids


def _is_own(frame: _Frame) -> bool:
    return has_role(frame.category, Role.FRAME) and not is_library(frame.name, frame.category)


def _rows(every: list[_Frame], listed: set[int], length: int) -> pd.DataFrame:
    rows: list[dict[str, Any]] = []
    places: dict[int, int] = {}
    for frame in every:
        if id(frame) not in listed:
            continue
        around, skipped = frame.parent, 0
        while around is not None and id(around) not in listed:
            around, skipped = around.parent, skipped + 1
        parent = None if around is None else places[id(around)]
        places[id(frame)] = len(rows)
        rows.append(
            {
                "row": len(rows),
                "parent": parent,
                "depth": 0 if parent is None else rows[parent]["depth"] + 1,
                **{"name": frame.name, "category": frame.category, "duration_ns": frame.duration_ns},
                "share": frame.duration_ns / length,
                "own_ns": frame.own_ns,
                "left_out_ns": frame.duration_ns - frame.own_ns,
                "skipped": skipped,
            }
        )
        if parent is not None:
            rows[parent]["left_out_ns"] -= frame.duration_ns
    return pd.DataFrame(rows, columns=[column.name for column in OUTLINE_COLUMNS])
