"""Draws a critical path as DOT: few pieces of it in time order, one column for each lane."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast

import graphviz
import numpy as np
import numpy.typing as npt
import pandas as pd

from tracegraph.vocabulary.categories import GAP
from tracegraph.workbench.pictures.dot import PALE, dot_label, new_graph
from tracegraph.workbench.pictures.palette import category_colour, dependency_colour, tint
from tracegraph.workbench.text.text import format_ns, format_share, label, plural

_LONG_SHARE = 0.01
"""A stretch with this share of the path is long."""
_TINY_SHARE = 0.001
"""Pieces below this share of the path are kept only while there are at most `_FEW` of them."""
_FEW = 20
"""How many pieces are kept even if they are tiny."""
_PARTS = 3
"""How many of its largest names a piece shows."""

Mask = npt.NDArray[np.bool_]
_MOST_PIECES = 60
"""How many pieces a picture has at most."""
_NAME_CELLS = 44
"""How many cells a name may take before it is shortened."""
_LANE_CELLS = 30
"""How many cells the name of a lane may take before it is shortened."""
_HEADING = {"shape": "plaintext", "style": "", "fontcolor": PALE}
_LEFT_OUT = {
    "shape": "plaintext",
    "style": "",
    "fontcolor": PALE,
    "fontsize": "9",
    "height": "0.18",
    "margin": "0.02",
}


@dataclass(frozen=True)
class Part:
    """What the rows of one name add to a piece."""

    name: str
    category: str
    rows: int
    duration_ns: int


@dataclass(frozen=True)
class Piece:
    """A part of the path in time order.

    A kept piece is a long stretch, or a run of stretches on one lane; `parts` are its largest, by name. Any
    other piece is what lies between two kept ones, on `lanes` lanes, beginning on `lane`, without `parts`.
    `dependency` and `mechanism` say how the path came to the first row.
    """

    kept: bool
    lane: int
    lanes: int
    dependency: str
    mechanism: str
    rows: int
    duration_ns: int
    parts: tuple[Part, ...]

    @property
    def category(self) -> str:
        """Category that stands for the piece: that of its largest part other than gaps, if it has one."""
        return next((part.category for part in self.parts if part.category != GAP), GAP)


def collapse(path: pd.DataFrame, most: int) -> list[Piece]:
    """Cut the path (PATH_COLUMNS) into at most `most` pieces that tile it; the longest are kept."""
    rows = path.assign(duration_ns=path["end_ns"] - path["start_ns"], rows=1)
    same = ["lane", "name", "category"]
    stretches = _merge(rows, _changes(rows[same]))
    lengths = stretches["duration_ns"].to_numpy()
    is_long = lengths >= _LONG_SHARE * lengths.sum()
    runs = _changes(stretches[["lane"]]) | is_long | _after(is_long)
    kept = _choose(_merge(stretches, runs)["duration_ns"].to_numpy(), most)
    run_of_stretch = runs.cumsum() - 1
    piece_of_run = (kept | _after(kept)).cumsum() - 1
    stretches = stretches.assign(piece=piece_of_run[run_of_stretch], kept=kept[run_of_stretch])
    parts = _parts(stretches[stretches["kept"]])
    sums = stretches.groupby("piece").agg(
        lanes=("lane", "nunique"), rows=("rows", "sum"), duration_ns=("duration_ns", "sum")
    )
    first = stretches.drop_duplicates("piece").set_index("piece")
    pieces = first[["kept", "lane", "dependency", "mechanism"]].join(sums)
    records = cast("list[dict[str, Any]]", pieces.to_dict("records"))
    return [Piece(**row, parts=parts.get(place, ())) for place, row in enumerate(records)]


def _choose(lengths: npt.NDArray[np.int64], most: int) -> Mask:
    """Choose which runs are kept: the longest, as many as give at most `most` pieces.

    Runs below a thousandth of the path are kept only while there are few.
    """
    order = np.argsort(-lengths, kind="stable")
    worth = int((lengths >= _TINY_SHARE * lengths.sum()).sum())
    least, greatest = 0, min(len(order), most, max(worth, _FEW))
    while least < greatest:
        middle = (least + greatest + 1) // 2
        kept = _mask(order, middle)
        if (kept | _after(kept)).sum() <= most:
            least = middle
        else:
            greatest = middle - 1
    return _mask(order, least)


def _parts(stretches: pd.DataFrame) -> dict[int, tuple[Part, ...]]:
    """Return the largest parts of each piece."""
    kind = ["piece", "name", "category"]
    groups = stretches.groupby(kind, observed=True)[["rows", "duration_ns"]].sum().reset_index()
    # Categories would be sorted by their codes.
    named = groups.astype({"name": object, "category": object})
    order = {"piece": True, "duration_ns": False, "name": True, "category": True}
    largest = named.sort_values(list(order), ascending=list(order.values()))
    parts: dict[int, tuple[Part, ...]] = {}
    for piece, *part in largest.groupby("piece", sort=True).head(_PARTS).itertuples(index=False, name=None):
        parts[piece] = (*parts.get(piece, ()), Part(*part))
    return parts


def _merge(rows: pd.DataFrame, starts: Mask) -> pd.DataFrame:
    """Merge each group of rows into one; a group begins where `starts` is true."""
    first = np.flatnonzero(starts)
    sums = {name: np.add.reduceat(rows[name].to_numpy(), first) for name in ("rows", "duration_ns")}
    return rows.iloc[first].assign(**sums)


def _changes(values: pd.DataFrame) -> Mask:
    return values.ne(values.shift()).any(axis=1).to_numpy(dtype=bool)


def _after(mask: Mask) -> Mask:
    """Mark the rows that follow one in the mask, and the first row."""
    after = np.roll(mask, 1)
    after[:1] = True
    return after


def _mask(order: npt.NDArray[np.intp], count: int) -> Mask:
    mask = np.zeros(len(order), dtype=bool)
    mask[order[:count]] = True
    return mask


def path_picture(run: str, of: str, path: pd.DataFrame, lanes: pd.DataFrame, most: int = _MOST_PIECES) -> str:
    """Return the DOT text of a path (PATH_COLUMNS) in at most `most` nodes, one column for each lane.

    `of`: the part of the run that the path belongs to; empty for the whole run.
    """
    pieces = collapse(path, most)
    total_ns = sum(piece.duration_ns for piece in pieces)
    part = f", {of}" if of else ""
    count = plural(len(path), "stretch", "stretches")
    title = f"Critical path of {label(run, _NAME_CELLS)}{part}: {format_ns(total_ns)} in {count}"
    graph = new_graph(title, sorted({piece.category for piece in pieces if piece.kept}))
    above = _add_lanes(graph, lanes, pieces)
    for index, piece in enumerate(pieces):
        _add_piece(graph, piece, index, piece.duration_ns / max(1, total_ns))
        if index:
            _add_hand_over(graph, pieces[index - 1], piece, index)
        if piece.lanes == 1:
            # Heavy invisible edges keep the pieces of a lane in one column.
            graph.edge(above[piece.lane], f"piece{index}", style="invis", weight="60")
            above[piece.lane] = f"piece{index}"
    return str(graph.source)


def _add_lanes(graph: "graphviz.Digraph", lanes: pd.DataFrame, pieces: Sequence[Piece]) -> dict[int, str]:
    """Add the columns' headings, in the order in which the path reaches them; return them by lane."""
    names = dict(zip(lanes["lane"], lanes["name"], strict=True))
    headings = {piece.lane: f"lane{piece.lane}" for piece in pieces if piece.lanes == 1}
    with graph.subgraph(graph_attr={"rank": "same"}) as row:
        for lane, heading in headings.items():
            row.node(heading, dot_label(str(names.get(lane, lane)), _LANE_CELLS), **_HEADING)
    return headings


def _add_piece(graph: "graphviz.Digraph", piece: Piece, index: int, share: float) -> None:
    size = f"{format_ns(piece.duration_ns)} · {format_share(share)}"
    if not piece.kept:
        lanes = f" on {piece.lanes} lanes" if piece.lanes > 1 else ""
        text = f"… {plural(piece.rows, 'stretch', 'stretches')}{lanes}, {size}"
        graph.node(f"piece{index}", text, **_LEFT_OUT)
        return
    attributes = {
        "fillcolor": tint(category_colour(piece.category)),
        "color": category_colour(piece.category),
        "penwidth": f"{1 + 4 * min(share, 1):.2f}",
    }
    if piece.category == GAP:
        attributes |= {"style": "filled,rounded,dashed", "color": PALE}
    graph.node(f"piece{index}", "\\n".join(_lines(piece, size)), **attributes)


def _lines(piece: Piece, size: str) -> Iterator[str]:
    """Yield the label's lines: a single name with its size, else the size and what it consists of."""
    if sum(part.rows for part in piece.parts) == piece.rows and len(piece.parts) == 1:
        yield _part_text(piece.parts[0])
        yield size
        return
    yield size
    for part in piece.parts:
        yield f"{_part_text(part)}, {format_ns(part.duration_ns)}"
    rows = piece.rows - sum(part.rows for part in piece.parts)
    if rows:
        rest_ns = piece.duration_ns - sum(part.duration_ns for part in piece.parts)
        yield f"… {plural(rows, 'stretch', 'stretches')}, {format_ns(rest_ns)}"


def _part_text(part: Part) -> str:
    times = f" × {part.rows:,}" if part.rows > 1 else ""
    return f"{dot_label(part.name, _NAME_CELLS)}{times}"


def _add_hand_over(graph: "graphviz.Digraph", before: Piece, piece: Piece, index: int) -> None:
    moved = piece.lane != before.lane and before.kept and piece.kept
    graph.edge(
        f"piece{index - 1}",
        f"piece{index}",
        label=f"  {dot_label(piece.mechanism, _LANE_CELLS)}" if moved else "",
        color=dependency_colour(piece.dependency),
        fontcolor=dependency_colour(piece.dependency),
    )
