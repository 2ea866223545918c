"""The plots of memory as files: each as DOT text, which Graphviz draws."""

from collections.abc import Iterator, Sequence
from math import sqrt
from typing import Literal

import graphviz
import numpy as np
from numpy.typing import NDArray

from tracegraph.base.units import format_bytes, short_ns
from tracegraph.workbench.pictures.dot import INK, PALE, dot_label, new_graph
from tracegraph.workbench.pictures.palette import tint
from tracegraph.workbench.sections.blocks import Plot
from tracegraph.workbench.text.text import format_share, plural

_WIDTH, _HIGH, _ROW = 1000, 420, 18
"""Width and height of a picture, and the height of a row, pt."""
_GAP = 6
"""Between a row and its name, pt."""
_FONT_SIZE, _CHARACTER = 9, 5.9
"""Size of the font and width of most characters, pt."""
_INCH = 72
"""Points in an inch, the unit of Graphviz."""
_LEAST_CHARACTERS, _TOLD_CELLS = 4, 300
"""A box with room for fewer characters has no text; its tooltip holds this many cells at most."""
_LEAST_SHARE = 1 / 1_500
"""Areas below this share of the whole are drawn as one."""
_SQUARE, _SLIM = 680, 0.58
"""The side of a picture of areas, pt, and how wide an area of 1 is at least: few are as slim as 1 to 3."""
_AREA_UNIT = 1_000
"""What Graphviz takes for an area of 1, pt²."""
_NEXT_LINE, _IN_LINE = " \\\n", 500
"""How a DOT string goes on in the next line, of which none may be longer than 16 kB; corners in a line."""


def memory_dot(title: str, plot: Plot) -> str:
    """Return the DOT text of a plot of areas over time, of a tree, or of stretches in rows."""
    shown = [name for name in plot.colours if (plot.frame[plot.colour] == name).any()]
    graph = new_graph(title, shown, {}, plot.colours.__getitem__)
    graph.attr(layout="nop2", outputorder="nodesfirst")
    graph.attr("node", shape="box", style="filled", fixedsize="true", margin="0", fontsize=str(_FONT_SIZE))
    graph.attr("node", color="white", penwidth="0.5")
    {"areas": _areas, "tree": _tree, "stretches": _stretches}[plot.kind](graph, plot)
    return str(graph.source)


def _areas(graph: graphviz.Digraph, plot: Plot) -> None:
    """Draw levels on each other; each stays until the next."""
    levels = plot.frame.pivot_table(
        index=plot.x.field, columns=plot.colour, values=plot.y.field, aggfunc="sum", fill_value=0
    )
    tops = levels[[name for name in plot.colours if name in levels]].cumsum(axis=1)
    last = max(1, int(tops.index[-1]))
    most = max(1, int(tops.to_numpy().max()), *map(int, plot.marks.values()))
    across = np.repeat(tops.index.to_numpy() * (_WIDTH / last), 2)[1:]
    # What is stacked on another one is drawn first, down to the ground, and the other over it.
    drawn = [
        _polygon(across, np.repeat(tops[name].to_numpy() * (_HIGH / most), 2)[:-1], plot.colours[name])
        for name in reversed(tops.columns)
    ]
    drawn += [_line(0, place * _HIGH / most, PALE, "dotted") for place in _ticks(most)]
    drawn += [_line(0, place * _HIGH / most, INK, "dashed") for place in plot.marks.values()]
    graph.attr(_background=_NEXT_LINE.join(drawn))
    for place in _ticks(most):
        _text(graph, format_bytes(place), "right", -_GAP, place * _HIGH / most)
    for place in _ticks(last):
        _text(graph, short_ns(place), "middle", place * _WIDTH / last, -_ROW / 2)
    for name, mark in plot.marks.items():
        _text(graph, f"{name}, {format_bytes(round(mark))}", "left", _WIDTH + _GAP, mark * _HIGH / most)
    for row, name, start, end in _in_rows(plot.spans):
        middle, width = (start + end) / 2 * _WIDTH / last, (end - start) * _WIDTH / last
        _box(graph, name, "#e5e8ec", middle, _HIGH + (row + 1) * _ROW, width)


def _polygon(across: NDArray[np.float64], tops: NDArray[np.float64], colour: str) -> str:
    """Draw the area below a line, as xdot writes it."""
    corners = [(0.0, 0.0), *zip(across, tops, strict=True), (across[-1], 0.0)]
    places = [f"{x:.1f} {y:.1f}" for x, y in corners]
    lines = (" ".join(places[first : first + _IN_LINE]) for first in range(0, len(places), _IN_LINE))
    fill = tint(colour)
    return f"c 7 -{fill} C 7 -{fill} P {len(corners)} {_NEXT_LINE.join(lines)}"


def _line(start: float, high: float, colour: str, style: str) -> str:
    return f"c 7 -{colour} S {len(style)} -{style} L 2 {start:.2f} {high:.2f} {_WIDTH} {high:.2f}"


def _ticks(most: int) -> list[int]:
    """List round numbers from 0 to `most`, about five."""
    digits = 10 ** (len(str(most)) - 1)
    step = next(
        one for one in (digits * 5, digits * 2, digits, digits // 2, digits // 5, 1) if most >= 4 * one
    )
    return list(range(0, most + 1, step))


def _in_rows(spans: Sequence[tuple[str, int, int]]) -> Iterator[tuple[int, str, int, int]]:
    """Give each span the first row in which it overlaps no other."""
    ends: list[int] = []
    for name, start, end in sorted(spans, key=lambda span: (span[1], -span[2])):
        row = next((row for row, until in enumerate(ends) if until <= start), len(ends))
        ends[row : row + 1] = [end]
        yield row, name, start, end


def _tree(graph: graphviz.Digraph, plot: Plot) -> None:
    """Draw areas inside areas, which Graphviz lays out."""
    graph.attr(layout="patchwork")
    whole = max(1, int(plot.frame[plot.y.field].sum()))
    fields = [*plot.within, plot.x.field]
    sizes = plot.frame.groupby(fields, sort=False, dropna=False)[plot.y.field].sum().reset_index()
    for number, (outermost, own) in enumerate(sizes.groupby(fields[0], sort=False)):
        colour = plot.colours[str(outermost)]
        small = own[plot.y.field] < whole * _LEAST_SHARE
        with graph.subgraph(name=f"cluster{number}") as around:
            for inside, (_, rows) in enumerate(own[~small].groupby(fields[1], sort=False, dropna=False)):
                with around.subgraph(name=f"cluster{number}_{inside}") as file:
                    for name, size in zip(rows[plot.x.field], rows[plot.y.field], strict=True):
                        _area(file, str(name), colour, int(size), whole)
            if small.any():
                more = plural(int(small.sum()), "smaller area")
                _area(around, more, colour, int(own.loc[small, plot.y.field].sum()), whole)


def _area(graph: graphviz.Digraph, name: str, colour: str, size: int, whole: int) -> None:
    side = sqrt(size / whole) * _SQUARE
    said = f"{format_bytes(size)}, {format_share(size / whole)}"
    room = int(_SLIM * side / _CHARACTER)
    size_said = said if len(said) <= room else format_bytes(size)
    lines = (dot_label(name, room), dot_label(size_said, room)) if room >= 2 * _LEAST_CHARACTERS else ()
    graph.node(
        f"area{len(graph.body)}_{graph.name}",
        label="\\n".join(lines),
        area=f"{side**2 / _AREA_UNIT:.5f}",
        fillcolor=tint(colour),
        fontcolor=INK,
        tooltip=f"{dot_label(name, _TOLD_CELLS)}, {said}",
    )


def _stretches(graph: graphviz.Digraph, plot: Plot) -> None:
    """Draw what lies in each row, from its begin on."""
    rows = plot.frame
    scale = _WIDTH / max(1, int((rows[plot.begin] + rows[plot.y.field]).max()))
    for row, (name, own) in enumerate(rows.groupby(plot.x.field, sort=False)):
        high = -row * _ROW
        _text(graph, str(name), "right", -_GAP, high)
        for part, begin, size in zip(own[plot.colour], own[plot.begin], own[plot.y.field], strict=True):
            said = f"{part}, {format_bytes(size)}"
            _box(graph, said, plot.colours[part], (begin + size / 2) * scale, high, size * scale)


def _box(graph: graphviz.Digraph, text: str, colour: str, middle: float, high: float, width: float) -> None:
    room = int(width / _CHARACTER) - 1
    graph.node(
        f"box{len(graph.body)}",
        label=dot_label(text, room) if room >= _LEAST_CHARACTERS else "",
        pos=f"{middle:.2f},{high:.2f}",
        width=f"{width / _INCH:.5f}",
        height=f"{(_ROW - 2) / _INCH:.4f}",
        fillcolor=tint(colour),
        fontcolor=INK,
        tooltip=dot_label(text, _TOLD_CELLS),
    )


def _text(
    graph: graphviz.Digraph, text: str, side: Literal["left", "middle", "right"], x: float, y: float
) -> None:
    """Write a text that begins at a place, stands in its middle, or ends there."""
    width = (len(text) + 2) * _CHARACTER
    moved = {"left": width / 2, "middle": 0, "right": -width / 2}[side]
    aligned = {"left": "\\l", "middle": "", "right": "\\r"}[side]
    graph.node(
        f"text{len(graph.body)}",
        label=f"{dot_label(text, _TOLD_CELLS)}{aligned}",
        shape="plaintext",
        style="",
        pos=f"{x + moved:.2f},{y:.2f}",
        width=f"{width / _INCH:.4f}",
        height=f"{_ROW / _INCH:.4f}",
        fontcolor=INK,
    )
