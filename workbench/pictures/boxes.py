"""Lays out call stacks as boxes of a flame graph; what is narrower than one pixel is merged."""

from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple

import pandas as pd

from tracegraph.queries.shapes.call_tree import call_tree
from tracegraph.queries.shapes.layers import with_layers_merged


class Box(NamedTuple):
    """A frame at its place in ns, or several merged frames of one parent, which have no name.

    `parent`: position of the box around it, -1 for the first, which is around all others. `own_ns`: time in
    the frame itself. `merged`: how many frames the box stands for.
    """

    parent: int
    depth: int
    start_ns: int
    length_ns: int
    own_ns: int
    name: str
    category: str
    merged: int = 1


class _Frame(NamedTuple):
    frame: int
    name: str
    category: str
    length_ns: int
    own_ns: int


def lay_out(title: str, frames: pd.DataFrame, pixels: int) -> list[Box]:
    """Lay out the rows of `path_frames` or `off_path_frames` as boxes, each after the one around it.

    The longest come first. What is narrower than one of `pixels` equal parts is merged, and so are repeated
    layers.
    """
    inside = _by_parent(frames)
    total = sum(one.length_ns for one in inside[-1])
    boxes = [Box(-1, 0, 0, total, 0, title, "")]
    waiting = [(0, -1)]
    while waiting:
        around, frame = waiting.pop()
        depth, at = boxes[around].depth + 1, boxes[around].start_ns
        narrow = []
        for one in inside[frame]:
            if one.length_ns * pixels < total:
                narrow.append(one.length_ns)
                continue
            waiting.append((len(boxes), one.frame))
            boxes.append(Box(around, depth, at, one.length_ns, one.own_ns, one.name, one.category))
            at += one.length_ns
        if sum(narrow) * pixels >= max(1, total):
            boxes.append(Box(around, depth, at, sum(narrow), 0, "", "", len(narrow)))
    return boxes


def _by_parent(frames: pd.DataFrame) -> dict[int, list[_Frame]]:
    """Group the frames in which time was spent by what called them, the longest first."""
    tree = call_tree(with_layers_merged(frames))
    tree = tree[tree["duration_ns"] > 0].sort_values(["duration_ns", "name"], ascending=[False, True])
    parents: Iterable[int] = tree["parent"].fillna(-1).astype("int64").tolist()
    columns = (tree[name].tolist() for name in ("frame", "name", "category", "duration_ns", "own_ns"))
    found: dict[int, list[_Frame]] = defaultdict(list)
    for parent, row in zip(parents, zip(*columns, strict=True), strict=True):
        found[parent].append(_Frame(*row))
    return found
