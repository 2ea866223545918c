"""The flame graph of call stacks as DOT, each box at its place: the roots on top, the longest first."""

import re

import pandas as pd

from tracegraph.workbench.pictures.boxes import Box, lay_out
from tracegraph.workbench.pictures.dot import INK, PALE, dot_label, new_graph
from tracegraph.workbench.pictures.palette import frame_colour, tint
from tracegraph.workbench.text.names import readable
from tracegraph.workbench.text.text import format_ns, format_share, plural

_WIDTH, _ROW, _FONT_SIZE = 1400, 17, 9
_CHARACTER = 5.9
"""Width of most characters, pt."""
_INCH = 72
_PLACE = re.compile(r"^.*\(\d+\): ")
_LEAST_CHARACTERS, _TOLD_CELLS = 3, 300
_MERGED_FILL = "#eef0f3"


def flame_picture(title: str, frames: pd.DataFrame) -> str:
    """Return the DOT text for the rows of `path_frames` or `off_path_frames`."""
    whole, *boxes = lay_out(title, frames, _WIDTH)
    shown = sorted({box.category for box in boxes if box.category})
    graph = new_graph(f"{title}: {format_ns(whole.length_ns)}", shown, arrows={})
    graph.attr(layout="nop2")
    graph.attr("node", shape="box", style="filled", fixedsize="true", fontsize=str(_FONT_SIZE), margin="0")
    names = readable(box.name for box in boxes)
    for place, box in enumerate(boxes):
        name = names[box.name] if box.merged == 1 else plural(box.merged, "frame")
        graph.node(f"box{place}", **_attributes(box, name, max(1, whole.length_ns)))
    return str(graph.source)


def _attributes(box: Box, name: str, whole_ns: int) -> dict[str, str]:
    scale = _WIDTH / whole_ns
    size = f"{format_ns(box.length_ns)} · {format_share(box.length_ns / whole_ns)}"
    room = int(box.length_ns * scale / _CHARACTER) - 1
    full = f"{name}  {size}"
    # Of a Python function its own name says most.
    text = full if len(full) <= room else name if len(name) <= room else _PLACE.sub("", name)
    named = box.merged == 1
    return {
        "label": dot_label(text, room) if room >= _LEAST_CHARACTERS else "",
        "pos": f"{(box.start_ns + box.length_ns / 2) * scale:.2f},{-box.depth * _ROW}",
        "width": f"{box.length_ns * scale / _INCH:.4f}",
        "height": f"{(_ROW - 1) / _INCH:.4f}",
        "fillcolor": tint(frame_colour(box.category)) if named else _MERGED_FILL,
        "fontcolor": INK if named else PALE,
        "color": "white",
        "penwidth": "0.5",
        "tooltip": f"{dot_label(name, _TOLD_CELLS)}, {size}",
    }
