"""Plots of kind `tree`: areas inside areas, as trees.js draws them."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from tracegraph.workbench.sections.blocks import Plot
from tracegraph.workbench.sections.cells import cell_text
from tracegraph.workbench.sections.shown_names import ShownNames
from tracegraph.workbench.text.text import format_share, label

TREE_HIGH = 420
"""The height of a plot of areas, px."""
_CELLS = 100
"""How many cells a text may take before it is shortened."""


def tree_data(plot: Plot, rows: pd.DataFrame, names: ShownNames) -> Mapping[str, object]:
    """Collect what trees.js needs: the areas, each with what is told about it and the areas inside it."""
    whole = int(plot.frame[plot.y.field].sum())
    areas = _areas(plot, rows, (*plot.within, plot.x.field), max(whole, 1), names)
    leaves = f"{len(rows):,} areas in {len(areas):,}" if plot.within else f"{len(rows):,} areas"
    total = cell_text(plot.y.kind, whole, names)
    said = f"{leaves}, together {total} of {plot.y.title}. Arrow keys read them."
    return {
        "title": plot.title,
        "said": f"{plot.title}. {said if areas else 'There is nothing to draw.'}",
        "height": TREE_HIGH,
        "areas": areas,
    }


def _areas(
    plot: Plot, rows: pd.DataFrame, fields: Sequence[str], whole: int, names: ShownNames
) -> list[dict[str, Any]]:
    """Make the areas of one depth, the largest first; one that only repeats what is around it is left out."""
    found: list[dict[str, Any]] = []
    for _, own in rows.groupby(fields[0], sort=False, dropna=False):
        first = own.iloc[0]
        size = int(own[plot.y.field].sum())
        inside = _areas(plot, own, fields[1:], whole, names) if len(fields) > 1 else []
        name = label(cell_text("text", first[fields[0]], names), _CELLS)
        repeats = len(inside) == 1 and inside[0]["name"] == name
        area = {
            "name": name,
            "value": size,
            "text": cell_text(plot.y.kind, size, names),
            "share": format_share(size / whole),
            "colour": plot.colours.get(str(first[plot.colour]), "") if plot.colour else "",
            "told": _told(plot, own, names) if len(fields) == 1 else [],
            "children": [] if repeats else inside,
        }
        found.append({**area, "told": inside[0]["told"]} if repeats else area)
    return sorted(found, key=lambda area: -area["value"])


def _told(plot: Plot, rows: pd.DataFrame, names: ShownNames) -> list[list[str]]:
    """List what else is said about an area: each different text of its rows once."""
    return [
        [column.title, label(text, _CELLS)]
        for column in plot.told
        for text in dict.fromkeys(cell_text(column.kind, value, names) for value in rows[column.field])
        if text
    ]
