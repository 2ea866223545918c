"""The picture of a critical path: its longest pieces in time order, a column a lane, as DOT."""

from collections.abc import Iterator, Sequence

import graphviz
import pandas as pd

from tracegraph.vocabulary.categories import GAP
from tracegraph.workbench.pictures.collapse import Part, Piece, collapse
from tracegraph.workbench.pictures.dot import PALE, dot_label, new_graph
from tracegraph.workbench.pictures.palette import category_colour, dependency_colour, tint
from tracegraph.workbench.text.text import format_ns, format_share, label, plural

_MOST_PIECES = 60
_NAME_CELLS = 44
_LANE_CELLS = 30
_HEADING = {"shape": "plaintext", "style": "", "fontcolor": PALE}
_LEFT_OUT = {
    "shape": "plaintext",
    "style": "",
    "fontcolor": PALE,
    "fontsize": "9",
    "height": "0.18",
    "margin": "0.02",
}


def path_picture(run: str, of: str, path: pd.DataFrame, lanes: pd.DataFrame, most: int = _MOST_PIECES) -> str:
    """Return the DOT text of a path (PATH_COLUMNS) in at most `most` nodes, one column for each lane.

    `of`: the part of the run that it is the path of, empty for all of it.
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
    """Add the columns' headings, in the order in which the path comes by; return them by lane."""
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
    """Yield the label's lines: a single name with its size, else the size and what it is made of."""
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
