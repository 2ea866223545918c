"""The style of all pictures as DOT: fonts, title, legend, and labels that show any text literally."""

from collections.abc import Callable, Mapping, Sequence

import graphviz

from tracegraph.workbench.pictures.palette import DEPENDENCY_COLOURS, frame_colour, tint
from tracegraph.workbench.text.text import label

INK = "#1f2933"
PALE = "#7b8794"
_FONT = "Helvetica,Arial,DejaVu Sans,sans-serif"
_MOST_LEGEND = 12
"""How many categories the legend lists."""


def new_graph(
    title: str,
    categories: Sequence[str],
    arrows: Mapping[str, str] = DEPENDENCY_COLOURS,
    colour: Callable[[str], str] = frame_colour,
) -> "graphviz.Digraph":
    """Return an empty graph in the style of all pictures, with a title and a legend of the colours.

    `colour`: that of a category, `#rrggbb`; the legend shows its tint, as the fills of the picture do.
    """
    return graphviz.Digraph(
        "tracegraph",
        graph_attr={
            "label": _heading(title, categories, arrows, colour),
            "labelloc": "t",
            "labeljust": "l",
            "fontname": _FONT,
            "fontcolor": INK,
            "nodesep": "0.3",
            "ranksep": "0.22",
            "bgcolor": "white",
            "pad": "0.25",
        },
        node_attr={
            "shape": "box",
            "style": "filled,rounded",
            "fontname": _FONT,
            "fontsize": "11",
            "fontcolor": INK,
            "margin": "0.12,0.05",
            "height": "0.3",
        },
        edge_attr={"fontname": _FONT, "fontsize": "9", "arrowsize": "0.6", "penwidth": "1.4"},
    )


def _heading(
    title: str, categories: Sequence[str], colours: Mapping[str, str], fill: Callable[[str], str]
) -> str:
    """Return title and legend as an HTML-like label: fills are categories, arrows dependency kinds."""
    fills = "".join(
        f'<td bgcolor="{tint(fill(name))}"><font point-size="9">{_legend_text(name)}</font></td>'
        for name in categories[:_MOST_LEGEND]
    )
    arrows = "".join(
        f'<td><font point-size="9" color="{colour}">→ {kind.lower().replace("_", " ")}</font></td>'
        for kind, colour in colours.items()
    )
    rows = "".join(_legend_row(cells) for cells in (fills, arrows) if cells)
    head = f'<tr><td align="left"><font point-size="13">{html_label(title, 200)}</font></td></tr>'
    return f'<<table border="0" cellborder="0" cellspacing="0" cellpadding="2">{head}{rows}</table>>'


def _legend_text(category: str) -> str:
    """Return the text on a fill; Graphviz 2.43 takes no empty text there."""
    return html_label(category.strip() or "no category", 28)


def _legend_row(cells: str) -> str:
    table = f'<table border="0" cellborder="0" cellspacing="3" cellpadding="3"><tr>{cells}</tr></table>'
    return f'<tr><td align="left">{table}</td></tr>'


def dot_label(text: str, width: int) -> str:
    """Return a name as DOT label text: one visible line of at most `width` characters, all of it literal."""
    return html_label(text, width).replace("\\", "\\\\")


def html_label(text: str, width: int) -> str:
    """Return a name as text inside an HTML-like DOT label."""
    safe = label(text, width).replace("&", "&amp;").replace('"', "&quot;")
    return safe.replace("<", "&lt;").replace(">", "&gt;")
