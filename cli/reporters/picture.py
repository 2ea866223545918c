"""The picture of a critical path: its longest stretches in time order, a column a lane, as DOT."""

from collections.abc import Sequence

import graphviz

from tracegraph.cli.findings import GAP, Findings
from tracegraph.cli.reporters.collapse import Piece, collapse
from tracegraph.cli.reporters.drawing import FONT, dot_label, html_label
from tracegraph.cli.reporters.palette import DEPENDENCY_COLOURS, category_colour, dependency_colour, tint
from tracegraph.cli.reporters.text import format_ns, format_share, label, plural

_MOST_PIECES = 60
_NAME_CELLS = 44
_LANE_CELLS = 30
_INK = "#1f2933"
_PALE = "#7b8794"
_HEADING = {"shape": "plaintext", "style": "", "fontcolor": _PALE}
_MOST_LEGEND = 8


def path_picture(findings: Findings, most: int = _MOST_PIECES) -> str:
    """Return the DOT text of the path in at most `most` nodes, one column for each lane."""
    pieces = collapse(findings.path, most)
    graph = new_graph(_title(findings), sorted({piece.category for piece in pieces if piece.kept}))
    above = _add_lanes(graph, findings, pieces)
    for index, piece in enumerate(pieces):
        _add_piece(graph, findings, piece, index)
        if index:
            _add_hand_over(graph, pieces[index - 1], piece, index)
        if piece.lanes == 1:
            # Heavy invisible edges keep the pieces of a lane in one column.
            graph.edge(above[piece.lane], f"piece{index}", style="invis", weight="60")
            above[piece.lane] = f"piece{index}"
    return str(graph.source)


def new_graph(title: str, categories: Sequence[str]) -> "graphviz.Digraph":
    """Return an empty graph in the style of all pictures, with a title and a legend of the colours."""
    return graphviz.Digraph(
        "tracegraph",
        graph_attr={
            "label": _heading(title, categories),
            "labelloc": "t",
            "labeljust": "l",
            "fontname": FONT,
            "fontcolor": _INK,
            "nodesep": "0.3",
            "ranksep": "0.22",
            "bgcolor": "white",
            "pad": "0.25",
        },
        node_attr={
            "shape": "box",
            "style": "filled,rounded",
            "fontname": FONT,
            "fontsize": "11",
            "fontcolor": _INK,
            "margin": "0.12,0.05",
            "height": "0.3",
        },
        edge_attr={"fontname": FONT, "fontsize": "9", "arrowsize": "0.6", "penwidth": "1.4"},
    )


def _heading(title: str, categories: Sequence[str]) -> str:
    """Return title and legend as an HTML-like label: fills are categories, arrows dependency kinds."""
    fills = "".join(
        f'<td bgcolor="{tint(category_colour(name))}"><font point-size="9">{html_label(name, 20)}</font></td>'
        for name in categories[:_MOST_LEGEND]
    )
    arrows = "".join(
        f'<td><font point-size="9" color="{colour}">→ {kind.lower().replace("_", " ")}</font></td>'
        for kind, colour in DEPENDENCY_COLOURS.items()
    )
    rows = "".join(_legend_row(cells) for cells in (fills, arrows) if cells)
    head = f'<tr><td align="left"><font point-size="13">{html_label(title, 120)}</font></td></tr>'
    return f'<<table border="0" cellborder="0" cellspacing="0" cellpadding="2">{head}{rows}</table>>'


def _legend_row(cells: str) -> str:
    table = f'<table border="0" cellborder="0" cellspacing="3" cellpadding="3"><tr>{cells}</tr></table>'
    return f'<tr><td align="left">{table}</td></tr>'


def _title(findings: Findings) -> str:
    part = "" if findings.step is None else f", step {findings.step}"
    return (
        f"Critical path of {label(findings.details.name, 60)}{part}: {format_ns(findings.length_ns)} in "
        f"{plural(len(findings.path), 'stretch', 'stretches')}"
    )


def _add_lanes(graph: "graphviz.Digraph", findings: Findings, pieces: Sequence[Piece]) -> dict[int, str]:
    """Add the columns' headings, in the order in which the path comes by; return them by lane."""
    names = dict(zip(findings.lanes["lane"], findings.lanes["name"], strict=True))
    headings = {piece.lane: f"lane{piece.lane}" for piece in pieces if piece.lanes == 1}
    with graph.subgraph(graph_attr={"rank": "same"}) as row:
        for lane, heading in headings.items():
            row.node(heading, dot_label(str(names.get(lane, lane)), _LANE_CELLS), _HEADING)
    return headings


def _add_piece(graph: "graphviz.Digraph", findings: Findings, piece: Piece, index: int) -> None:
    share = findings.share(piece.duration_ns)
    size = f"{format_ns(piece.duration_ns)} · {format_share(share)}"
    attributes: dict[str, str] = {}
    if not piece.kept:
        lanes = f" on {piece.lanes} lanes" if piece.lanes > 1 else ""
        text = f"… {plural(piece.rows, 'stretch', 'stretches')}{lanes}, {size}"
        attributes |= {"style": "rounded,dashed", "color": _PALE, "fontcolor": _PALE, "fontsize": "9"}
    else:
        times = f" × {piece.rows:,}" if piece.rows > 1 else ""
        text = f"{dot_label(piece.name, _NAME_CELLS)}{times}\\n{size}"
        attributes |= {
            "fillcolor": tint(category_colour(piece.category)),
            "color": category_colour(piece.category),
            "penwidth": f"{1 + 4 * min(share, 1):.2f}",
        }
        if piece.category == GAP:
            attributes |= {"style": "filled,rounded,dashed", "color": _PALE}
    graph.node(f"piece{index}", text, attributes)


def _add_hand_over(graph: "graphviz.Digraph", before: Piece, piece: Piece, index: int) -> None:
    moved = piece.lane != before.lane and before.kept and piece.kept
    graph.edge(
        f"piece{index - 1}",
        f"piece{index}",
        label=f"  {dot_label(piece.mechanism, _LANE_CELLS)}" if moved else "",
        color=dependency_colour(piece.dependency),
        fontcolor=dependency_colour(piece.dependency),
    )
