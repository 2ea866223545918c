"""Pictures: how a path is collapsed, that labels are literal, and that every format is drawn."""

import os
import re
import stat
import xml.etree.ElementTree as ET
from pathlib import Path

import pandas as pd
import pytest
from report_data import LANES, ROWS, path_frame

from tracegraph.base.errors import InputError, TracegraphError
from tracegraph.workbench.pictures.drawing import draw, drawn_by
from tracegraph.workbench.pictures.graphs import causes_picture, lanes_picture
from tracegraph.workbench.pictures.path import collapse, path_picture

HOSTILE = ["<b>&amp;</b>", 'quote " \\N \\l', "]; node [label=evil", "new\nline", "漢字 µs", "\u202e]"]


def many_rows(count: int) -> pd.DataFrame:
    """A path that changes its lane every three rows; row 500 takes a tenth of its time."""
    rows, at = [], 0
    for index in range(count):
        length = 100 * count // 9 if index == 500 else 100
        rows.append(
            ((index // 3) % 3, index, f"op {index % 7}", "cpu_op", at, at + length, "SEQUENTIAL", "", "")
        )
        at += length
    return path_frame(rows)


@pytest.mark.parametrize("most", [1, 2, 7, 60])
def test_pieces_are_few_and_tile_the_path(most: int) -> None:
    path = many_rows(3000)
    pieces = collapse(path, most)
    assert len(pieces) <= most
    assert sum(piece.rows for piece in pieces) == len(path)
    assert sum(piece.duration_ns for piece in pieces) == path["end_ns"].iloc[-1]


def test_a_long_stretch_stands_alone() -> None:
    pieces = collapse(many_rows(3000), 60)
    longest = max((piece for piece in pieces if piece.kept), key=lambda piece: piece.duration_ns)
    assert (longest.rows, longest.parts[0].name) == (1, "op 3")


def test_small_path_is_shown_row_by_row_but_for_neighbours_of_one_name() -> None:
    pieces = collapse(path_frame(ROWS), 60)
    assert [(piece.lane, piece.rows, piece.parts[0].name) for piece in pieces] == [
        (0, 1, "ProfilerStep#5"),
        (0, 1, "aten::linear"),
        (0, 1, "cudaLaunchKernel"),
        (2, 1, "launch latency"),
        (2, 2, "gemm<float>"),
        (0, 1, "waiting for GPU"),
        (0, 1, "cudaStreamSynchronize"),
        (0, 1, "untraced CPU time"),
    ]


def test_runs_list_their_largest_names_and_the_rest() -> None:
    rows = [(0, i, f"op {i}", "cpu_op", 10 * i, 10 * i + 10, "SEQUENTIAL", "", "") for i in range(200)]
    (piece,) = collapse(path_frame(rows), 60)
    assert [part.name for part in piece.parts] == ["op 0", "op 1", "op 10"]
    assert "… 197 stretches, 1.970 µs" in path_picture("run", "", path_frame(rows), LANES)


def texts(svg: bytes) -> list[str]:
    return [element.text or "" for element in ET.fromstring(svg).iter() if element.tag.endswith("}text")]


def test_picture_says_what_the_path_is() -> None:
    shown = texts(draw(path_picture("tiny", "step 5", path_frame(ROWS), LANES), "svg"))
    assert "Critical path of tiny, step 5: 2.000 µs in 9 stretches" in shown
    assert {"gemm<float> × 2", "900 ns · 45.0 %", "GPU 0 stream 7", "correlation"} <= {
        text.replace("\xa0", " ").strip() for text in shown
    }


@pytest.mark.parametrize("name", HOSTILE)
def test_names_are_literal(name: str) -> None:
    rows = [(0, 1, name, "cpu_op", 0, 1000, "root", "", "")]
    lanes = LANES.assign(name=name)
    shown = texts(draw(path_picture(name, "", path_frame(rows), lanes), "svg"))
    escaped = name.replace("\n", "\\x0a").replace("\u202e", "\\u202e")
    assert [text.replace("\xa0", " ") for text in shown].count(escaped) == 2
    assert any(escaped in text.replace("\xa0", " ") and "Critical path" in text for text in shown)
    assert "evil" not in " ".join(shown) or "evil" in name


@pytest.mark.parametrize(
    ("format", "begins"), [("svg", b"<?xml"), ("png", b"\x89PNG"), ("pdf", b"%PDF"), ("dot", b"digraph")]
)
def test_formats(format: str, begins: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    assert draw("digraph { a -> b }", format).startswith(begins)
    assert drawn_by().startswith("pygraphviz")


def test_dot_of_the_system_is_used_where_there_is_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "dot"
    program.write_text('#!/bin/sh\necho "drawn with $1"\n')
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", str(tmp_path) + os.pathsep + os.environ["PATH"])
    assert draw("digraph { a -> b }", "svg") == b"drawn with -Tsvg\n"
    assert drawn_by() == str(program)


def test_what_cannot_be_drawn_is_one_line() -> None:
    with pytest.raises(InputError, match="no picture format 'gif'"):
        draw("digraph {}", "gif")
    with pytest.raises(TracegraphError, match="could not be drawn") as caught:
        draw("digraph { a -> ", "svg")
    assert "\n" not in str(caught.value)


def edges(count: int = 1) -> pd.DataFrame:
    side = {"lane": 0, "name": "a", "category": "cpu_op", "start_ns": 1000, "end_ns": 3000}
    row = {f"{end}_{key}": value for end in ("cause", "effect") for key, value in side.items()}
    how = {
        "dependency": "CROSS_THREAD",
        "mechanism": "hand-off",
        "confidence": 0.8,
        "gap_ns": 0,
        "binding": False,
    }
    return pd.DataFrame([row | how | {"cause": str(i), "effect": str(i + 1)} for i in range(count)])


def test_causes_show_times_lanes_and_how_sure_they_are() -> None:
    source = causes_picture("why", edges(), LANES, 500)
    assert 'label="a\\n2.000 µs at 500 ns\\nthread 11 (main)"' in source
    assert re.search(r'label="  hand-off, 80.0 %".*style=dashed', source)


def test_too_much_is_refused() -> None:
    with pytest.raises(InputError, match="301 nodes and 300 relationships are too many"):
        causes_picture("why", edges(300), LANES, 0)


def test_lanes_show_what_they_cause() -> None:
    row = {"cause_lane": 0, "effect_lane": 2, "dependency": "INVOCATION", "mechanism": "launch"}
    counts = {"evidence": "recorded", "count": 1200, "binding": 7, "gap_ns": 5000}
    source = lanes_picture("step", pd.DataFrame([row | counts]), LANES)
    assert "1,200, 7 binding, 5.000 µs between" in source
    assert "GPU 0 stream 7" in source
    assert "autograd" not in source


@pytest.mark.parametrize("category", ["", " ", "\n"])
def test_events_without_a_category_have_a_place_in_the_legend(category: str) -> None:
    source = path_picture(
        "run", "", path_frame([(0, 0, "op", category, 0, 100, "SEQUENTIAL", "", "")]), LANES
    )
    assert ">no category</font>" in source
    assert draw(source, "svg")
