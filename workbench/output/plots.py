"""Plots as the plotting library draws them; only this module and plots.js know which library it is."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from tracegraph.workbench.output.tree_plots import TREE_HIGH, tree_data
from tracegraph.workbench.sections.blocks import Column, Plot
from tracegraph.workbench.sections.cells import cell_text
from tracegraph.workbench.sections.shown_names import ShownNames
from tracegraph.workbench.text.text import label

MOST_ROWS: Mapping[str, int] = {
    "bars": 5_000,
    "lines": 100_000,
    "levels": 100_000,
    "areas": 100_000,
    "points": 2_000,
    "curves": 1_000,
    "stretches": 5_000,
    "tree": 1_000,
}
"""How many rows each kind of plot draws, so that a page stays small for any trace."""
_CELLS = 100
"""How many cells a text of a plot may take before it is shortened."""
_ROOM, _BAR, _UPRIGHT = 96, 30, 280
"""Heights, px: around the bars, of each lying bar, and of an upright plot."""
_MANY, _THIN_BAR = 20, 16
"""Rows of stretches beyond this number are thinner, and how high they are, px."""
_ZOOMED = 60
"""Bars beyond this number get a zoom."""
_POINT, _POINTS_HIGH = (6, 26), 420
"""Diameters of the smallest and the largest point, and the height of a plot of points, px."""
_AXES: Mapping[str, Mapping[str, object]] = {
    "bars": {"type": "category"},
    "lines": {"type": "value", "scale": True},
    "levels": {"type": "value", "scale": True},
    "areas": {"type": "value", "scale": True},
    "points": {"type": "log"},
    "curves": {"type": "log", "min": "dataMin", "max": "dataMax"},
    "stretches": {"type": "category"},
}
_LOGARITHMIC = ("points", "curves")
_IN_ROWS = ("bars", "stretches")
"""Kinds of plots whose `x` are names."""


def plot_height(plot: Plot) -> int:
    """Compute the height of a plot on a page, px."""
    if plot.kind == "points":
        return _POINTS_HIGH
    if plot.kind == "tree":
        return TREE_HIGH
    rows = plot.frame[plot.x.field].nunique()
    bar = _THIN_BAR if plot.kind == "stretches" and rows > _MANY else _BAR
    return _ROOM + bar * rows if plot.across else _UPRIGHT


def plot_note(plot: Plot) -> str:
    """Write what is said below a plot: its own note, and what of it is not drawn."""
    most = MOST_ROWS[plot.kind]
    left = f"The first {most:,} of {len(plot.frame):,} are drawn." if len(plot.frame) > most else ""
    return " ".join(part for part in (left, plot.note) if part)


def plot_data(plot: Plot, names: ShownNames) -> Mapping[str, object]:
    """Collect what plots.js needs: `option` for the library, and the rows that it describes."""
    rows = plot.frame.head(MOST_ROWS[plot.kind])
    if plot.kind == "tree":
        return tree_data(plot, rows, names)
    along = _AXES[plot.kind]
    if plot.kind in _IN_ROWS:
        along = _categories(rows, plot, names)
    values: Mapping[str, object] = {"type": "log" if plot.kind == "points" else "value"}
    if plot.kind == "curves":
        values = {"type": "value", "scale": True}
    upright = {"xAxis": along, "yAxis": values}
    turned = {"xAxis": values, "yAxis": {**along, "inverse": True}}
    option = {**(turned if plot.across else upright), "series": _series(rows, plot, names)}
    if plot.kind not in _LOGARITHMIC and rows[plot.x.field].nunique() > _ZOOMED:
        option["dataZoom"] = _zoom()
    return {
        "option": option,
        "title": plot.title,
        "said": f"{plot.title}. {_in_words(rows, plot, names)}",
        "across": plot.across,
        "points": plot.kind == "points",
        "curves": plot.kind == "curves",
        "stretches": plot.kind == "stretches",
        "band": _band(rows, plot),
        "roofs": [{"name": text, "data": list(corners)} for text, corners in plot.roofs.items()],
        "height": plot_height(plot),
        "x": {"title": plot.x.title, "kind": plot.x.kind, "values": _texts(rows, plot.x, names)},
        "y": {"title": plot.y.title, "kind": plot.y.kind, "values": _numbers(rows[plot.y.field])},
        "groups": _groups(rows, plot)[0].tolist(),
        "colours": [plot.colours.get(str(value), "") for value in _groups(rows, plot)[1]],
        "told": [_told(rows, column, names) for column in plot.told],
    }


def _categories(rows: pd.DataFrame, plot: Plot, names: ShownNames) -> dict[str, object]:
    shown = rows.drop_duplicates(plot.x.field)
    return {"type": "category", "data": _texts(shown, plot.x, names)}


def _series(rows: pd.DataFrame, plot: Plot, names: ShownNames) -> list[dict[str, object]]:
    """Make one series for each colour; a mark is its place along the axis, its value and its row."""
    codes, groups = _groups(rows, plot)
    if plot.kind in _IN_ROWS:
        places: Sequence[Any] = pd.factorize(rows[plot.x.field], use_na_sentinel=False)[0].tolist()
    else:
        places = _numbers(rows[plot.x.field])
    marks = list(zip(places, _numbers(rows[plot.y.field]), range(len(rows)), strict=True))
    found: list[dict[str, object]] = []
    for group, value in enumerate(groups):
        data = [_turned(marks[row], plot.across) for row in np.flatnonzero(codes == group)]
        one: dict[str, object] = {"name": str(value), "data": data, "encode": {"x": 0, "y": 1}}
        if plot.kind == "bars":
            one |= {"type": "bar", "stack": "all", "barCategoryGap": "20%", "barMaxWidth": 60}
        elif plot.kind == "levels":
            one |= {"type": "line", "showSymbol": False, "step": "end"}
        elif plot.kind == "areas":
            one |= {"type": "line", "showSymbol": False, "step": "end", "stack": "all", "areaStyle": {}}
        elif plot.kind == "stretches":
            one |= {"type": "custom", "data": [_from_begin(mark, rows[plot.begin]) for mark in data]}
            one |= {"encode": {"x": [0, 3], "y": 1}, "clip": True}
        elif plot.kind == "curves":
            one |= {"type": "line", "symbol": "circle", "symbolSize": 7, "showAllSymbol": True}
        elif plot.kind == "points":
            one |= {"type": "scatter", "sizes": _sizes(rows[codes == group], rows, plot)}
        else:
            one |= {"type": "line", "showSymbol": False, "sampling": "lttb"}
        found.append(one)
    if plot.marks and found:
        along = "xAxis" if plot.across else "yAxis"
        lines = [{along: value, "name": text} for text, value in plot.marks.items()]
        found[0]["markLine"] = {"symbol": "none", "silent": True, "data": lines}
    if plot.spans and found:
        spans = [[{"name": text, "xAxis": first}, {"xAxis": last}] for text, first, last in plot.spans]
        found[0]["markArea"] = {"silent": True, "data": spans}
    return found


def _band(rows: pd.DataFrame, plot: Plot) -> list[list[Any]]:
    """List the least and the most at each place of curves; empty where they have none."""
    if not plot.between:
        return []
    columns = (_numbers(rows[name]) for name in (plot.x.field, *plot.between))
    return [list(one) for one in zip(*columns, strict=True) if None not in one]


def _from_begin(mark: list[Any], begins: "pd.Series[Any]") -> list[Any]:
    """Write a lying stretch as its begin, its row in the plot, its row in the table and its end."""
    length, place, row = mark
    begin = int(begins.iloc[row])
    return [begin, place, row, begin + length]


def _sizes(some: pd.DataFrame, rows: pd.DataFrame, plot: Plot) -> list[float]:
    """Compute diameters of points, px: their areas grow with the field `size`."""
    least, most = _POINT
    if not plot.size:
        return [least + 2.0] * len(some)
    largest = max(float(rows[plot.size].max()), 1.0)
    parts = some[plot.size].astype(float).clip(lower=0) / largest
    return [round(float(least + (most - least) * part**0.5), 1) for part in parts]


def _turned(mark: tuple[Any, Any, int], across: bool) -> list[Any]:
    place, value, row = mark
    return [value, place, row] if across else [place, value, row]


def _groups(rows: pd.DataFrame, plot: Plot) -> tuple[np.ndarray[Any, Any], Sequence[str]]:
    """Find the group of each row, and the groups: those with colours of the plot first, in that order."""
    if not plot.colour:
        return np.zeros(len(rows), dtype=int), [plot.y.title]
    values = rows[plot.colour]
    present = set(values)
    groups = [value for value in plot.colours if value in present]
    groups += [value for value in values.unique() if value not in plot.colours]
    return pd.Categorical(values, categories=groups).codes, groups


def _zoom() -> list[dict[str, object]]:
    """Let the wheel scroll the page, as it does over the lanes, and zoom with Ctrl."""
    return [{"type": "inside", "zoomOnMouseWheel": "ctrl"}, {"type": "slider", "height": 18, "bottom": 4}]


def _in_words(rows: pd.DataFrame, plot: Plot, names: ShownNames) -> str:
    """Describe the plot in words for those who cannot see it."""
    values = rows[plot.y.field]
    if values.empty:
        return "There is nothing to draw."
    least, most = (cell_text(plot.y.kind, value, names) for value in (values.min(), values.max()))
    return f"{len(rows):,} {plot.kind}, {plot.y.title} from {least} to {most}. Arrow keys read them."


def _texts(rows: pd.DataFrame, column: Column, names: ShownNames) -> list[str]:
    return [label(cell_text(column.kind, value, names), _CELLS) for value in rows[column.field]]


def _numbers(values: "pd.Series[Any]") -> list[float | int | None]:
    return [None if pd.isna(value) else value for value in values.tolist()]


def _told(rows: pd.DataFrame, column: Column, names: ShownNames) -> dict[str, object]:
    """List the different texts of a column with their codes: many rows share few."""
    codes, texts = pd.factorize(np.array(_texts(rows, column, names), dtype=object))
    return {"title": column.title, "texts": list(texts), "codes": codes.tolist()}
