"""The lanes with the path on them, drawn by a script of our own."""

from collections.abc import Mapping, Sequence

from tracegraph.workbench.findings.findings import Findings
from tracegraph.workbench.pictures.lanes import Drawing, draw_lanes
from tracegraph.workbench.pictures.palette import (
    DEPENDENCY_COLOURS,
    OTHER_COLOUR,
    ROOT_COLOUR,
    category_colours,
)
from tracegraph.workbench.sections.blocks import Block, Chart
from tracegraph.workbench.sections.section import ANSWER, Parameters, Scope, Section
from tracegraph.workbench.text.text import plural

_PIXELS = 4_000
"""What is narrower than one of so many parts of the window is merged."""
_MOST_FRAMES, _MOST_CHAINS = 20_000, 20_000
"""How many frames of call stacks and how many causes the page holds, which bounds its size."""


def _content(findings: Findings) -> Sequence[Block]:
    if findings.timeline.empty:
        return []
    drawing = draw_lanes(findings)
    note = (
        "Click a stretch for its cause, its slack, the way to it and the tables that name it, and a thread's "
        "name for its call stacks; press ? for the keys. What is narrower than a pixel is merged. Of a "
        "file in the format of Chrome there is overlay.json.gz beside this page: the trace with the path in "
        "it, for Perfetto."
    )
    if drawing.hidden_lanes:
        verb = "is" if drawing.hidden_lanes == 1 else "are"
        lanes = plural(drawing.hidden_lanes, "lane")
        note += f" {lanes} without work in the window or with the least of it {verb} not drawn."
    data = {**vars(drawing), "length_ns": findings.length_ns}
    data["steps"] = [
        {"number": int(number), "start": int(start_ns) - findings.start_ns}
        for number, start_ns in zip(findings.steps["number"], findings.steps["start_ns"], strict=True)
    ]
    return [Chart("lanes", {**data, "colours": _colours(drawing)}, note)]


def _colours(drawing: Drawing) -> Mapping[str, Mapping[str, str]]:
    """Return colours by name; the empty name stands for all others."""
    categories = {"": OTHER_COLOUR, **category_colours(drawing.categories)}
    return {"categories": categories, "dependencies": {"": ROOT_COLOUR, **DEPENDENCY_COLOURS}}


def _asks(scope: Scope) -> Mapping[str, Parameters]:
    asked = {"lanes": scope.whole}
    if scope.drawn:
        pixel_ns = max(1, scope.length_ns // _PIXELS)
        asked["lane_timeline"] = {**scope.between, "pixel_ns": pixel_ns}
        asked["stack_timeline"] = {**scope.between, "pixel_ns": pixel_ns, "limit": _MOST_FRAMES}
        asked["chain_causes"] = {**scope.between, "limit": _MOST_CHAINS}
    return asked


SECTION = Section(40, "Lanes, with the critical path on them", _content, _asks, page_only=True, group=ANSWER)
