"""Plots: what the library gets, the library itself, and the plots of a section on their own."""

import hashlib
import re
from pathlib import Path

import pandas as pd
import pytest
from report_data import compared, make_findings

from tracegraph.base.errors import InputError
from tracegraph.workbench import output
from tracegraph.workbench.methods.section_plot import section_plot
from tracegraph.workbench.output.page import report_page
from tracegraph.workbench.output.plots import MOST_ROWS, plot_data, plot_note
from tracegraph.workbench.sections.blocks import Column, Plot
from tracegraph.workbench.sections.shown_names import ShownNames

VENDOR = next(iter(output.__path__)) + "/vendor"
AXES = (Column("at", "at", "number"), Column("long_ns", "long", "duration"))


def test_the_library_is_the_published_file() -> None:
    folder = Path(VENDOR)
    sums = dict(reversed(line.split()) for line in (folder / "vendor.sha256").read_text().splitlines())
    files = {path.name: path for path in folder.iterdir() if path.name != "vendor.sha256"}
    assert {name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in files.items()} == sums


def test_the_library_asks_for_nothing_and_cannot_end_its_script() -> None:
    library = (Path(VENDOR) / "echarts.min.js").read_text(encoding="utf-8")
    hosts = set(re.findall(r"https?://([^/\"' ]*)", library))
    assert hosts == {"www.w3.org", "www.apache.org", "github.com"}  # namespaces and licences
    assert "</script" not in library.lower()


def test_a_page_without_a_plot_has_no_library() -> None:
    findings = make_findings()
    assert 'id="library"' in report_page(findings)
    assert 'id="library"' not in report_page(make_findings(waits=findings.waits.head(0)))


def test_marks_are_exact_and_grouped_by_colour() -> None:
    frame = pd.DataFrame({"at": [1, 2, 2], "long_ns": [5, 7, 9], "who": ["b", "a", "b"]})
    data = plot_data(Plot("t", frame, "bars", *AXES, colour="who", colours={"a": "good"}), ShownNames([]))
    option = data["option"]
    assert isinstance(option, dict)
    assert option["xAxis"] == {"type": "category", "data": ["1", "2"]}
    assert [one["data"] for one in option["series"]] == [[[1, 7, 1]], [[0, 5, 0], [1, 9, 2]]]
    assert data["said"] == "t. 3 bars, long from 5 ns to 9 ns. Arrow keys read them."


def test_points_stand_on_logarithmic_axes_below_their_roofs() -> None:
    frame = pd.DataFrame({"at": [0.5, 200.0], "long_ns": [10, 4000], "who": ["a", "b"], "weight": [400, 100]})
    plot = Plot(
        "t", frame, "points", *AXES, colour="who", size="weight", roofs={"roof": [(0.1, 1.0), (9.0, 90.0)]}
    )
    data = plot_data(plot, ShownNames([]))
    option = data["option"]
    assert isinstance(option, dict)
    assert (option["xAxis"]["type"], option["yAxis"]["type"]) == ("log", "log")
    assert [(one["type"], one["data"], one["sizes"]) for one in option["series"]] == [
        ("scatter", [[0.5, 10, 0]], [26.0]),
        ("scatter", [[200.0, 4000, 1]], [16.0]),
    ]
    assert data["roofs"] == [{"name": "roof", "data": [(0.1, 1.0), (9.0, 90.0)]}]
    assert "dataZoom" not in option


def test_curves_have_a_logarithmic_axis_along_and_a_band_of_what_they_may_be() -> None:
    frame = pd.DataFrame({"at": [0.5, 100.0], "long_ns": [10, 40], "low": [8, 30], "high": [12, 50]})
    data = plot_data(Plot("t", frame, "curves", *AXES, between=("low", "high")), ShownNames([]))
    option = data["option"]
    assert isinstance(option, dict)
    assert (option["xAxis"]["type"], option["yAxis"]) == ("log", {"type": "value", "scale": True})
    assert option["series"][0]["data"] == [[0.5, 10, 0], [100.0, 40, 1]]
    assert data["band"] == [[0.5, 8, 12], [100.0, 30, 50]]


def test_stretches_lie_in_the_row_of_their_name_from_begin_to_end() -> None:
    frame = pd.DataFrame({"who": ["a", "b", "a"], "from_ns": [0, 5, 10], "long_ns": [5, 20, 7]})
    axes = Column("who", "who"), Column("long_ns", "time", "duration")
    data = plot_data(Plot("t", frame, "stretches", *axes, across=True, begin="from_ns"), ShownNames([]))
    option = data["option"]
    assert isinstance(option, dict)
    assert option["yAxis"] == {"type": "category", "data": ["a", "b"], "inverse": True}
    (series,) = option["series"]
    assert (series["type"], series["data"]) == ("custom", [[0, 0, 0, 5], [5, 1, 1, 25], [10, 0, 2, 17]])


def test_areas_of_a_tree_hold_what_is_inside_them() -> None:
    frame = pd.DataFrame(
        {
            "class": ["b", "a", "a", "a"],
            "file": ["none", "x.py", "y.py", "x.py"],
            "line": ["none", "x.py:1", "y.py:2", "x.py:3"],
            "size": [50, 10, 25, 15],
            "count": [1, 2, 3, 4],
        }
    )
    axes = Column("line", "line"), Column("size", "memory", "bytes")
    told = (Column("count", "blocks", "count"),)
    plot = Plot(
        *("t", frame, "tree", *axes), colour="class", colours={"a": "#000000"}, told=told,
        within=("class", "file"),
    )  # fmt: skip
    data = plot_data(plot, ShownNames([]))
    assert data["said"] == "t. 4 areas in 2, together 100 bytes of memory. Arrow keys read them."
    areas = data["areas"]
    assert isinstance(areas, list)
    first, second = areas
    assert (first["name"], first["value"], first["share"], first["colour"]) == ("b", 50, "50.0 %", "")
    # A file without lines of its own is told once.
    assert [(one["name"], one["told"], one["children"]) for one in first["children"]] == [
        ("none", [["blocks", "1"]], [])
    ]
    assert (second["name"], second["colour"]) == ("a", "#000000")
    assert [(one["name"], one["text"]) for one in second["children"]] == [
        ("x.py", "25 bytes"),
        ("y.py", "25 bytes"),
    ]
    assert [one["name"] for one in second["children"][0]["children"]] == ["x.py:3", "x.py:1"]


def test_lines_have_numbers_along() -> None:
    frame = pd.DataFrame({"at": [10, 30], "long_ns": [5, 7]})
    option = plot_data(Plot("t", frame, "lines", *AXES), ShownNames([]))["option"]
    assert isinstance(option, dict)
    assert option["xAxis"]["type"] == "value"
    assert option["series"][0]["data"] == [[10, 5, 0], [30, 7, 1]]


def test_levels_stay_until_the_next_one() -> None:
    frame = pd.DataFrame({"at": [10, 30], "size": [5, 2_000_000]})
    axes = Column("at", "at", "duration"), Column("size", "memory", "bytes")
    data = plot_data(Plot("t", frame, "levels", *axes), ShownNames([]))
    option = data["option"]
    assert isinstance(option, dict)
    (series,) = option["series"]
    assert (series["type"], series["step"]) == ("line", "end")
    assert "sampling" not in series
    assert data["said"] == "t. 2 levels, memory from 5 bytes to 2 MB. Arrow keys read them."


def test_what_is_not_drawn_is_said() -> None:
    most = MOST_ROWS["bars"]
    frame = pd.DataFrame({"at": range(most + 1), "long_ns": 1})
    plot = Plot("t", frame, "bars", *AXES)
    assert plot_note(plot) == f"The first {most:,} of {most + 1:,} are drawn."
    assert plot_data(plot, ShownNames([]))["groups"] == [0] * most


@pytest.mark.parametrize("name", ["waiting", "lane_waits"])
def test_a_section_or_its_query_names_a_plot(name: str, tmp_path: Path) -> None:
    plot = section_plot(make_findings(), name)
    shown = plot._repr_html_()
    assert shown.startswith('<iframe sandbox="allow-scripts"')
    assert "<script" not in shown
    plot.save(tmp_path / "x.html")
    page = (tmp_path / "x.html").read_text(encoding="utf-8")
    assert "Waiting of each thread" in page
    assert page.count("<script") == 5


@pytest.mark.parametrize("name", ["hotspots", "nothing"])
def test_sections_with_plots_are_listed(name: str) -> None:
    with pytest.raises(InputError) as caught:
        section_plot(make_findings(**compared(1000, 900)), name)
    assert caught.value.hint == "there are: waiting, steps"
