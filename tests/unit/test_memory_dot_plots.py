"""Pictures of memory as files: levels over time, areas by source, and segments, from tables of a few rows."""

import re
import xml.etree.ElementTree as ET

import pandas as pd
import pytest

from tracegraph.vocabulary.memory import ALIGNED
from tracegraph.workbench.memory.alignment import aligned_spans
from tracegraph.workbench.memory.content import level_blocks
from tracegraph.workbench.memory.dot_plots import memory_dot
from tracegraph.workbench.memory.pictures import segment_picture, source_tree
from tracegraph.workbench.pictures.drawing import draw
from tracegraph.workbench.pictures.palette import tint
from tracegraph.workbench.sections.blocks import Plot

MB = 1_000_000
SOURCE = ("class", "file", "line", "function", "module", "bytes", "blocks")


def drawn(plot: object) -> ET.Element:
    assert isinstance(plot, Plot)
    return ET.fromstring(draw(memory_dot("Title", plot), "svg"))


def texts(picture: ET.Element) -> list[str]:
    found = (element.text or "" for element in picture.iter() if element.tag.endswith("}text"))
    return [text.replace("\xa0", " ").strip() for text in found]


def areas(picture: ET.Element, colour: str) -> list[list[tuple[float, float]]]:
    """Return the corners of everything that has the colour of a class."""
    return [
        [(float(x), -float(y)) for x, y in re.findall(r"([-\d.e]+),([-\d.e]+)", element.get("points", ""))]
        for element in picture.iter()
        if element.tag.endswith("}polygon") and element.get("fill") == tint(colour)
    ]


def levels(*rows: tuple[int, str, int]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["at_ns", "class", "bytes"])


def size(corners: list[tuple[float, float]]) -> float:
    across, up = zip(*corners, strict=True)
    return (max(across) - min(across)) * (max(up) - min(up))


def test_levels_are_stacked_and_stay_until_the_next() -> None:
    rows = levels(
        *[(1_000, "parameter", 4 * MB), (1_000, "activation", 0)],
        *[(3_000, "parameter", 4 * MB), (3_000, "activation", 4 * MB)],
        *[(5_000, "parameter", 4 * MB), (5_000, "activation", 1 * MB)],
    )
    phases = [("forward", 0, 3_000), ("later", 6_000, 9_000)]
    (plot,) = level_blocks(rows, 8 * MB, phases)
    assert isinstance(plot, Plot)
    picture = drawn(plot)
    stacked = max(areas(picture, plot.colours["activation"]), key=len)
    # On a picture of 1,000 by 420 points: 8 MB is the height, and 4 µs the width.
    assert [(x, y) for x, y in stacked if y > 0] == [
        *[(0, 210), (500, 210), (500, 420), (1000, 420), (1000, 262.5)],
    ]
    shown = texts(picture)
    assert {"Title", "parameter", "activation", "peak, 8 MB", "4 MB", "2 µs", "forward"} <= set(shown)
    assert "later" not in shown


def test_a_thousand_levels_are_drawn() -> None:
    rows = levels(*((at, "gradient", 1 + at % 7) for at in range(1_000)))
    (plot,) = level_blocks(rows, 7)
    assert isinstance(plot, Plot)
    assert len(max(areas(drawn(plot), plot.colours["gradient"]), key=len)) >= 1_999


def test_sources_are_areas_as_large_as_their_bytes_and_names_are_literal() -> None:
    rows = pd.DataFrame(
        [
            ("parameter", "a.py", 3, '<b>"\\N&', None, 90 * MB, 1),
            ("gradient", None, None, "MmBackward0", None, 10 * MB, 2),
            *(("gradient", "tiny.py", line, "f", None, 1, 1) for line in range(3)),
        ],
        columns=SOURCE,
    ).astype({"line": "Int64"})
    (plot,) = source_tree(rows)
    picture = drawn(plot)
    assert {'a.py:3 <b>"\\N&', "90 MB, 90.0 %", "MmBackward0", "10 MB, 10.0 %"} <= set(texts(picture))
    assert isinstance(plot, Plot)
    largest = max(map(size, areas(picture, plot.colours["parameter"])))
    assert largest == pytest.approx(0.9 * 680 * 680, rel=0.01)
    told = [element.get("{http://www.w3.org/1999/xlink}title") for element in picture.iter()]
    assert "3 smaller areas, 3 bytes, < 0.1 %" in told


def test_parts_of_segments_lie_where_they_begin() -> None:
    rows = pd.DataFrame(
        [
            (0, 4 * MB, "large", 0, 3 * MB, "in use", "gradient", 1),
            (0, 4 * MB, "large", 3 * MB, 1 * MB, "split free", None, 1),
            (1, 2 * MB, "small", 0, 2 * MB, "cached whole", None, 1),
        ],
        columns=["segment", "segment_bytes", "pool", "begin_bytes", "bytes", "state", "class", "blocks"],
    )
    pools = pd.DataFrame({"pool": ["all"], "segments": [2], "reserved_bytes": [6 * MB]})
    (plot,) = segment_picture(rows, pools)
    assert isinstance(plot, Plot)
    picture = drawn(plot)
    used, free = (areas(picture, plot.colours[part])[-1] for part in ("gradient", "split free"))
    assert max(x for x, _ in used) == pytest.approx(min(x for x, _ in free))
    assert [size(part) for part in (used, free)] == [pytest.approx(750 * 16), pytest.approx(250 * 16)]
    assert {"1, large, 4 MB", "2, small, 2 MB", "gradient, 3 MB", "cached whole, 2 MB"} <= set(texts(picture))


def test_steps_and_phases_of_an_aligned_run_are_on_the_recordings_clock() -> None:
    aligned = pd.DataFrame({"state": [ALIGNED], "rank": [1], "offset_ns": [100]})
    columns = ["rank", "number", "start_ns", "end_ns"]
    steps = pd.DataFrame([(0, 6, 0, 1), (1, 7, 110, 190)], columns=columns)
    phases = pd.DataFrame([(1, "forward", 120, 150)], columns=["rank", "phase", "start_ns", "end_ns"])
    assert aligned_spans(aligned, steps, phases) == [("step 7", 10, 90), ("forward", 20, 50)]
    many = pd.DataFrame([(1, "forward", at, at + 1) for at in range(40)], columns=phases.columns)
    assert aligned_spans(aligned, steps, many) == [("step 7", 10, 90)]
    assert not aligned_spans(aligned.assign(state="different"), steps, phases)
