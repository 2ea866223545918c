"""The lanes and the path as few enough rectangles for a page: what is below one pixel is merged."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from tracegraph.workbench.report.findings import Findings
from tracegraph.workbench.text import format_share, label

_MOST_LANES = 60
_MOST_RECTANGLES = 100_000
_MOST_NAMES = 8_000
NAME_CELLS = 160
"""How long a name is that the lanes know."""
_PATH_PIXELS = 8_000
_REASON_CELLS = 80


@dataclass(frozen=True)
class Drawing:
    """What a page draws, all times in ns after the window's start.

    `rectangles` and `path` are columns of equal length: lane (place in `lanes`), start, length, name (place
    in `names`, -1 where several were merged), category (place in `categories`), count; `path` has the place
    in `dependencies` and in `reasons`: rule, evidence and confidence of the stretch's start, as a text.
    """

    lanes: list[dict[str, object]]
    hidden_lanes: int
    names: list[str]
    categories: list[str]
    dependencies: list[str]
    reasons: list[str]
    rectangles: dict[str, list[int]]
    path: dict[str, list[int]]


def draw_lanes(findings: Findings) -> Drawing:
    """Return the rectangles of the busiest lanes, those of the path first, and of the path."""
    start_ns, length_ns = findings.start_ns, max(1, findings.length_ns)
    shown = _shown_lanes(findings)
    rectangles = _merged(
        findings.timeline[findings.timeline["lane"].isin(shown["lane"])], start_ns, length_ns
    )
    path = _merged_path(findings.path, start_ns, -(-length_ns // _PATH_PIXELS))
    path = path[path["lane"].isin(shown["lane"])]
    names = _names([rectangles, path])
    categories = sorted(set(rectangles["category"]) | set(path["category"]))
    why, dependencies = pd.factorize(path["dependency"].astype(str), sort=True)
    how, reasons = pd.factorize(path["reason"], sort=True)
    places = {int(lane): place for place, lane in enumerate(shown["lane"])}
    return Drawing(
        lanes=[
            {"name": label(str(row["name"]), 80), "kind": row["kind"], "rank": int(row["rank"])}
            for row in shown.to_dict("records")
        ],
        hidden_lanes=len(findings.lanes) - len(shown),
        names=[label(name, NAME_CELLS) for name in names],
        categories=[label(category, 40) for category in categories],
        dependencies=list(dependencies),
        reasons=[label(reason, _REASON_CELLS) for reason in reasons],
        rectangles=_columns(rectangles, start_ns, places, names, categories),
        path=_columns(path, start_ns, places, names, categories)
        | {"dependency": why.tolist(), "reason": how.tolist()},
    )


def _shown_lanes(findings: Findings) -> pd.DataFrame:
    """Return the lanes that are drawn, in their own order."""
    on_path = findings.durations.groupby(findings.path["lane"]).sum()
    work = (
        (findings.timeline["end_ns"] - findings.timeline["start_ns"]).groupby(findings.timeline["lane"]).sum()
    )
    lanes = findings.lanes.assign(
        on_path=findings.lanes["lane"].map(on_path).fillna(0), work=findings.lanes["lane"].map(work).fillna(0)
    )
    lanes = lanes[(lanes["on_path"] > 0) | (lanes["work"] > 0)]
    busiest = lanes.sort_values(["on_path", "work"], ascending=False, kind="stable").head(_MOST_LANES)
    return busiest.sort_values("lane")


def _merged(timeline: pd.DataFrame, start_ns: int, length_ns: int) -> pd.DataFrame:
    """Return the rows with ever wider pixels until they are few enough."""
    rows, pixels = timeline, _MOST_RECTANGLES
    while len(rows) > _MOST_RECTANGLES:
        pixels //= 2
        pixel_ns = max(1, length_ns // pixels)
        narrow = (rows["end_ns"] - rows["start_ns"] < pixel_ns).to_numpy()
        # A wide row is a group of its own, told by a negative key.
        key = np.where(narrow, (rows["start_ns"] - start_ns) // pixel_ns, -1 - np.arange(len(rows)))
        groups = rows.groupby([rows["lane"], rows["category"], pd.Series(key, index=rows.index)], sort=False)
        rows = groups.agg(
            lane=("lane", "first"),
            start_ns=("start_ns", "min"),
            end_ns=("end_ns", "max"),
            name=("name", "first"),
            names=("name", "nunique"),
            category=("category", "first"),
            count=("count", "sum"),
        ).reset_index(drop=True)
        rows["name"] = rows["name"].where(rows["names"] == 1, None)
    return rows.sort_values(["lane", "start_ns", "end_ns"], kind="stable")


def _merged_path(path: pd.DataFrame, start_ns: int, pixel_ns: int) -> pd.DataFrame:
    """Return the path with neighbours inside one pixel as one row, drawn as the longest of them."""
    starts, length = path["start_ns"].to_numpy(), (path["end_ns"] - path["start_ns"]).to_numpy()
    wide = length >= pixel_ns
    pixel = (starts - start_ns) // pixel_ns
    begins = wide | np.append(True, wide[:-1] | (pixel[1:] != pixel[:-1]))[: len(path)]
    first = np.flatnonzero(begins)
    longest = np.lexsort((-length, begins.cumsum()))[first]
    count = np.diff(np.append(first, len(path)))
    drawn = path.iloc[longest]
    return drawn[["lane", "name", "category", "dependency"]].assign(
        reason=[_reason(row) for row in drawn[["mechanism", "evidence", "confidence"]].to_dict("records")],
        start_ns=starts[first],
        end_ns=path["end_ns"].to_numpy()[first + count - 1],
        count=count,
    )


def _reason(row: Mapping[Hashable, Any]) -> str:
    """Which rule says why a stretch starts, and how that is known; empty where none does."""
    if not row["mechanism"]:
        return ""
    return f"{row['mechanism']}, {row['evidence']}, {format_share(row['confidence'])} sure"


def _names(frames: Sequence[pd.DataFrame]) -> list[str]:
    """Return the names that take most time; rarer ones are drawn without."""
    parts = [frame.assign(length=frame["end_ns"] - frame["start_ns"])[["name", "length"]] for frame in frames]
    lengths = pd.concat(parts).dropna().groupby("name", sort=True)["length"].sum()
    return [str(name) for name in lengths.nlargest(_MOST_NAMES).index]


def _columns(
    rows: pd.DataFrame, start_ns: int, places: dict[int, int], names: list[str], categories: list[str]
) -> dict[str, list[int]]:
    name_places = {name: place for place, name in enumerate(names)}
    category_places = {name: place for place, name in enumerate(categories)}
    return {
        "lane": [places[lane] for lane in rows["lane"]],
        "start": (rows["start_ns"] - start_ns).tolist(),
        "length": (rows["end_ns"] - rows["start_ns"]).tolist(),
        "name": [name_places.get(name, -1) for name in rows["name"]],
        "category": [category_places[category] for category in rows["category"]],
        "count": rows["count"].astype("int64").tolist(),
    }
