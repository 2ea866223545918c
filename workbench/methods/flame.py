"""A flame graph: a picture of call stacks, which is also available as text for other programs."""

import json
import re
from collections import defaultdict
from collections.abc import Iterator
from importlib.metadata import version
from os import PathLike
from pathlib import Path

import pandas as pd

from tracegraph.queries.shapes.call_tree import call_tree
from tracegraph.workbench.methods.picture_file import Picture, picture_format, save
from tracegraph.workbench.pictures.boxes import Box, lay_out
from tracegraph.workbench.pictures.dot import INK, PALE, dot_label, new_graph
from tracegraph.workbench.pictures.palette import frame_colour, tint
from tracegraph.workbench.text.names import readable
from tracegraph.workbench.text.text import format_ns, format_share, plural, visible

_WIDTH, _ROW, _FONT_SIZE = 1400, 17, 9
"""Width of the picture, height of a row and size of the font, pt."""
_CHARACTER = 5.9
"""Width of most characters, pt."""
_INCH = 72
"""Points in an inch, the unit of Graphviz."""
_MODULE_PLACE = re.compile(r"^.*\(\d+\): ")
_LEAST_CHARACTERS, _TOLD_CELLS = 3, 300
"""A box with room for fewer characters has no text; its tooltip holds this many cells at most."""
_MERGED_FILL = "#eef0f3"
_SCHEMA = "https://www.speedscope.app/file-format-schema.json"
_UNNAMED = "(no name)"
_SEPARATOR, _IN_ITS_PLACE = ";", ":"
_PLACE = re.compile(r"(?P<file>[^()]+)\((?P<line>\d{1,9})\): .")
FLAME_FORMATS = ("folded", "speedscope.json")
"""What a flame graph can be written as besides a picture."""


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
    # The own name of a Python function says most.
    text = full if len(full) <= room else name if len(name) <= room else _MODULE_PLACE.sub("", name)
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


def folded_stacks(frames: pd.DataFrame) -> str:
    """Return a line for each stack in which time was spent: its frames, a space, and the ns.

    The format has no way to write a semicolon in a name: it becomes a colon. What else would break a line is
    shown as an escape.
    """
    spent: defaultdict[str, int] = defaultdict(int)
    for stack, own_ns in _stacks(frames):
        spent[_SEPARATOR.join(name.replace(_SEPARATOR, _IN_ITS_PLACE) for name in stack)] += own_ns
    return "".join(f"{stack} {own_ns}\n" for stack, own_ns in spent.items())


def speedscope_profile(title: str, frames: pd.DataFrame) -> str:
    """Return the stacks as a sampled profile, with one sample for each stack, in ns."""
    places: dict[str, int] = {}
    samples, weights = [], []
    for stack, own_ns in _stacks(frames):
        samples.append([places.setdefault(name, len(places)) for name in stack])
        weights.append(own_ns)
    profile = {
        "type": "sampled",
        "name": visible(title),
        "unit": "nanoseconds",
        "startValue": 0,
        "endValue": sum(weights),
        "samples": samples,
        "weights": weights,
    }
    content = {
        "$schema": _SCHEMA,
        "shared": {"frames": [_described(name) for name in places]},
        "profiles": [profile],
        "name": visible(title),
        "activeProfileIndex": 0,
        "exporter": f"tracegraph@{version('tracegraph')}",
    }
    return json.dumps(content, ensure_ascii=False) + "\n"


def _stacks(frames: pd.DataFrame) -> Iterator[tuple[tuple[str, ...], int]]:
    """Yield every stack with time of its own, as readable names from the root on; one call is one stack."""
    tree = call_tree(frames)
    names = {name: visible(text) or _UNNAMED for name, text in readable(tree["name"].unique()).items()}
    inside: defaultdict[int, list[tuple[int, str, int]]] = defaultdict(list)
    order = tree[tree["duration_ns"] > 0].sort_values(["duration_ns", "name"], ascending=[True, False])
    parents = order["parent"].fillna(-1).astype("int64")
    for parent, *row in zip(parents, order["frame"], order["name"], order["own_ns"], strict=True):
        inside[parent].append((int(row[0]), names[row[1]], int(row[2])))
    waiting: list[tuple[tuple[str, ...], int, int]] = [
        ((name,), frame, own_ns) for frame, name, own_ns in inside[-1]
    ]
    while waiting:
        stack, frame, own_ns = waiting.pop()
        if own_ns:
            yield stack, own_ns
        waiting += [((*stack, name), one, own) for one, name, own in inside[frame]]


def _described(name: str) -> dict[str, object]:
    """Describe a frame, with file and line if the name of a Python function says them."""
    place = _PLACE.match(name)
    return {"name": name} | ({"file": place["file"], "line": int(place["line"])} if place else {})


class Flame(Picture):
    """Where in the call stacks time goes: width is time, what is below was called or launched from above."""

    def __init__(self, title: str, frames: pd.DataFrame) -> None:
        super().__init__(flame_picture(title, frames))
        self.title, self.frames = title, frames

    def folded(self) -> str:
        """Return a line for each stack with its ns, as flamegraph.pl and many other programs read them."""
        return folded_stacks(self.frames)

    def speedscope(self) -> str:
        """Return the stacks as a file of speedscope.app."""
        return speedscope_profile(self.title, self.frames)

    def write(self, file: str | PathLike[str]) -> None:
        """Write into a file whose name ends in .svg, .png, .pdf, .dot, .folded or .speedscope.json.

        Raises
        ------
        InputError
            The name has another ending, or the file cannot be written.
        """
        place = Path(file)
        texts = dict(zip(FLAME_FORMATS, (self.folded, self.speedscope), strict=True))
        form = picture_format(place, *texts)
        if form in texts:
            save(place, texts[form]().encode())
        else:
            super().write(place)
