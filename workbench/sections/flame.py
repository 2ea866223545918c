"""The call stacks of the path as a flame graph, drawn by a script of our own."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from tracegraph.workbench.findings.findings import Findings
from tracegraph.workbench.pictures.boxes import lay_out
from tracegraph.workbench.pictures.lanes import NAME_CELLS
from tracegraph.workbench.pictures.palette import OTHER_COLOUR, frame_colour
from tracegraph.workbench.sections.blocks import Block, Chart
from tracegraph.workbench.sections.section import TIME, Parameters, Scope, Section
from tracegraph.workbench.text.names import readable
from tracegraph.workbench.text.text import label

_PIXELS = 2_000
"""Frames narrower than one of so many parts of the path are merged."""
_NOTE = (
    "Width is time on the path, the longest first; what stands below was called or launched from above, "
    "waits and gaps below what waits. Click a frame, or go to it with the arrow keys and press Enter, to "
    f"zoom in; a click on a wider one or Escape zooms out. Frames below 1/{_PIXELS:,} of the path are merged."
)


def _content(findings: Findings) -> Sequence[Block]:
    frames = findings.answers["path_frames"]
    return [] if frames.empty else [Chart("flame", _drawing(frames), _NOTE)]


def _drawing(frames: pd.DataFrame) -> Mapping[str, object]:
    """Turn the boxes into columns; `name` and `category` are positions in the lists of both."""
    boxes = pd.DataFrame(lay_out("Critical path", frames, _PIXELS))
    names, categories = (pd.factorize(boxes[column]) for column in ("name", "category"))
    texts = readable(map(str, names[1]))
    return {
        "title": "Flame graph: time on the critical path by call stack",
        "of": "the path",
        "boxes": {
            "parent": boxes["parent"].tolist(),
            "depth": boxes["depth"].tolist(),
            "start": boxes["start_ns"].tolist(),
            "length": boxes["length_ns"].tolist(),
            "own": boxes["own_ns"].tolist(),
            "merged": boxes["merged"].tolist(),
            "name": names[0].tolist(),
            "category": categories[0].tolist(),
        },
        "names": [label(name, NAME_CELLS) for name in texts],
        "texts": [label(text, NAME_CELLS) for text in texts.values()],
        "categories": [label(category, 40) for category in categories[1]],
        "colours": {"": OTHER_COLOUR, **{one: frame_colour(one) for one in np.unique(categories[1]) if one}},
    }


def _asks(scope: Scope) -> Mapping[str, Parameters]:
    return {"path_frames": scope.walked}


SECTION = Section(57, "Flame graph of the critical path", _content, _asks, page_only=True, group=TIME)
