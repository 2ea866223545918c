"""Reduces lanes and path to rectangles that a page can draw; what is below one pixel is merged."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

import numpy as np
import pandas as pd

from tracegraph.vocabulary.lane_kinds import THREAD
from tracegraph.workbench.findings.findings import Findings
from tracegraph.workbench.text.text import format_share, label

_MOST_LANES = 60
"""How many lanes a page draws: those of the path, then the busiest."""
_LEAST_WORK = 0.002
"""A thread off the path is drawn from this share of the window on, 0..1: less is hardly a pixel or two."""
_MOST_RECTANGLES = 100_000
"""How many rectangles a page draws; pixels get wider until they are few enough."""
_MOST_NAMES = 8_000
"""How many names a page knows; rectangles with rarer names are drawn without."""
NAME_CELLS = 160
"""How many cells a name in the lanes may take before it is shortened."""
_PATH_PIXELS = 8_000
"""Neighbours on the path inside one of so many parts of the window are merged."""
_REASON_CELLS = 80
"""How many cells a reason may take before it is shortened."""


@dataclass(frozen=True)
class Drawing:
    """What a page draws; all times are in ns after the window's start.

    `rectangles`, `path` and `stacks` are columns of equal length: lane (position in `lanes`), start, length,
    name (position in `names`, -1 for several merged ones), category (position in `categories`). The first two
    also have count; the rectangles have slack (None if unknown); the path has positions in `dependencies` and
    in `reasons` (rule, evidence and confidence of the stretch's start); the stacks have depth, 0 for the
    outermost event.

    `chains` are stretches of a lane of which each follows the one before: lane, start and length, and about
    the cause of the first one: cause (its lane, -1 if none is drawn), before (its position among the chains,
    -1 if it is not listed), at, dependency, reason. They are ordered by lane and start.
    """

    lanes: list[dict[str, object]]
    hidden_lanes: int
    names: list[str]
    categories: list[str]
    dependencies: list[str]
    reasons: list[str]
    rectangles: Mapping[str, Sequence[int | None]]
    path: Mapping[str, Sequence[int]]
    stacks: Mapping[str, Sequence[int]]
    chains: Mapping[str, Sequence[int]]


@dataclass(frozen=True)
class _Places:
    """The position of each value in its list, and when the window starts."""

    start_ns: int
    lanes: Mapping[int, int]
    names: Mapping[str, int]
    categories: Mapping[str, int]
    dependencies: Mapping[str, int]
    reasons: Mapping[str, int]


def draw_lanes(findings: Findings) -> Drawing:
    """Draw the rectangles of the path, and of the busiest lanes, those of the path first."""
    start_ns, length_ns = findings.start_ns, max(1, findings.length_ns)
    shown = _shown_lanes(findings)
    timeline, stacks, chains = (
        rows[rows["lane"].isin(shown["lane"])]
        for rows in (findings.timeline, findings.answers["stack_timeline"], findings.answers["chain_causes"])
    )
    rectangles = _merged(timeline, start_ns, length_ns)
    path = _merged_path(findings.path, start_ns, -(-length_ns // _PATH_PIXELS))
    path = path[path["lane"].isin(shown["lane"])]
    chains = chains.assign(reason=_reasons(chains), dependency=chains["dependency"].fillna(""))
    drawn = [rectangles, path, stacks]
    names, categories = _names(drawn), _distinct("category", *drawn)
    dependencies, reasons = (_distinct(column, path, chains) for column in ("dependency", "reason"))
    listed: list[Iterable[Any]] = [shown["lane"], names, categories, dependencies, reasons]
    places = _Places(start_ns, *map(_numbered, listed))
    return Drawing(
        lanes=[
            {"name": label(str(row["name"]), 80), "kind": row["kind"]} for row in shown.to_dict("records")
        ],
        hidden_lanes=len(findings.lanes) - len(shown),
        names=[label(name, NAME_CELLS) for name in names],
        categories=[label(category, 40) for category in categories],
        dependencies=dependencies,
        reasons=[label(reason, _REASON_CELLS) for reason in reasons],
        rectangles=_columns(rectangles, places, "count") | {"slack": _whole(rectangles["slack_ns"])},
        path=_columns(path, places, "count") | _why(path, places),
        stacks=_columns(stacks, places) | {"depth": _depths(stacks)},
        chains=_spans(chains, places)
        | _why(chains, places)
        | {
            "cause": _found(chains["cause_lane"], places.lanes),
            "before": _found(chains["cause_chain"], _numbered(chains["chain"])),
            "at": (chains["at_ns"].fillna(start_ns) - start_ns).tolist(),
        },
    )


def _shown_lanes(findings: Findings) -> pd.DataFrame:
    """Choose the lanes that are drawn, in their own order: the path's, and those that work."""
    on_path = findings.durations.groupby(findings.path["lane"]).sum()
    work = (
        (findings.timeline["end_ns"] - findings.timeline["start_ns"]).groupby(findings.timeline["lane"]).sum()
    )
    lanes = findings.lanes.assign(
        on_path=findings.lanes["lane"].map(on_path).fillna(0), work=findings.lanes["lane"].map(work).fillna(0)
    )
    least_ns = np.where(lanes["kind"] == THREAD, _LEAST_WORK * findings.length_ns, 1)
    lanes = lanes[(lanes["on_path"] > 0) | (lanes["work"] >= least_ns)]
    busiest = lanes.sort_values(["on_path", "work"], ascending=False, kind="stable").head(_MOST_LANES)
    return busiest.sort_values("lane")


def _merged(timeline: pd.DataFrame, start_ns: int, length_ns: int) -> pd.DataFrame:
    """Merge the rows with ever wider pixels until they are few enough."""
    rows, pixels = timeline, _MOST_RECTANGLES
    while len(rows) > _MOST_RECTANGLES:
        pixels //= 2
        pixel_ns = max(1, length_ns // pixels)
        narrow = (rows["end_ns"] - rows["start_ns"] < pixel_ns).to_numpy()
        # A wide row is a group of its own, which a negative key marks.
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
            slack_ns=("slack_ns", "min"),
        ).reset_index(drop=True)
        rows["name"] = rows["name"].where(rows["names"] == 1, None)
    return rows.sort_values(["lane", "start_ns", "end_ns"], kind="stable")


def _merged_path(path: pd.DataFrame, start_ns: int, pixel_ns: int) -> pd.DataFrame:
    """Merge neighbours on the path inside one pixel into one row, drawn as the longest of them."""
    starts, length = path["start_ns"].to_numpy(), (path["end_ns"] - path["start_ns"]).to_numpy()
    wide = length >= pixel_ns
    pixel = (starts - start_ns) // pixel_ns
    begins = wide | np.append(True, wide[:-1] | (pixel[1:] != pixel[:-1]))[: len(path)]
    first = np.flatnonzero(begins)
    longest = np.lexsort((-length, begins.cumsum()))[first]
    count = np.diff(np.append(first, len(path)))
    drawn = path.iloc[longest]
    return drawn[["lane", "name", "category"]].assign(
        dependency=drawn["dependency"].astype(str),
        reason=_reasons(drawn),
        start_ns=starts[first],
        end_ns=path["end_ns"].to_numpy()[first + count - 1],
        count=count,
    )


def _reasons(rows: pd.DataFrame) -> list[str]:
    """Say which rule explains the start of each row, and how that is known; empty if none does."""
    columns = (rows[name].tolist() for name in ("mechanism", "evidence", "confidence"))
    return [
        f"{mechanism}, {evidence}, {format_share(confidence)} sure"
        if isinstance(mechanism, str) and mechanism
        else ""
        for mechanism, evidence, confidence in zip(*columns, strict=True)
    ]


def _depths(stacks: pd.DataFrame) -> list[int]:
    """Find the level of each row: below all that it runs inside, beside what only overlaps it.

    The rows are ordered by lane, start and falling end. A call that ends a step ends in the next one.
    """
    depths: list[int] = []
    lane, open_rows = None, list[tuple[int, int]]()
    for here, start, end in zip(stacks["lane"], stacks["start_ns"], stacks["end_ns"], strict=True):
        open_rows = [(depth, until) for depth, until in open_rows if here == lane and until > start]
        depth = 1 + max((depth for depth, until in open_rows if until >= end), default=-1)
        taken = {depth for depth, _ in open_rows}
        depth = next(level for level in count(depth) if level not in taken)
        open_rows.append((depth, end))
        depths.append(depth)
        lane = here
    return depths


def _names(frames: Sequence[pd.DataFrame]) -> list[str]:
    """Choose the names that take most time; rarer ones are drawn without."""
    parts = [frame.assign(length=frame["end_ns"] - frame["start_ns"])[["name", "length"]] for frame in frames]
    lengths = pd.concat(parts).dropna().groupby("name", sort=True)["length"].sum()
    return [str(name) for name in lengths.nlargest(_MOST_NAMES).index]


def _distinct(column: str, *frames: pd.DataFrame) -> list[str]:
    return sorted({value for rows in frames for value in rows[column]})


def _numbered(values: Iterable[Any]) -> dict[Any, int]:
    return {value: place for place, value in enumerate(values)}


def _columns(rows: pd.DataFrame, places: _Places, *numbers: str) -> dict[str, list[int]]:
    return {
        **_spans(rows, places),
        "name": [places.names.get(name, -1) for name in rows["name"]],
        "category": [places.categories[category] for category in rows["category"]],
        **{name: rows[name].astype("int64").tolist() for name in numbers},
    }


def _spans(rows: pd.DataFrame, places: _Places) -> dict[str, list[int]]:
    return {
        "lane": [places.lanes[lane] for lane in rows["lane"]],
        "start": (rows["start_ns"] - places.start_ns).tolist(),
        "length": (rows["end_ns"] - rows["start_ns"]).tolist(),
    }


def _why(rows: pd.DataFrame, places: _Places) -> dict[str, list[int]]:
    return {
        "dependency": [places.dependencies[dependency] for dependency in rows["dependency"]],
        "reason": [places.reasons[reason] for reason in rows["reason"]],
    }


def _found(values: "pd.Series[Any]", places: Mapping[int, int]) -> list[int]:
    return [places.get(value, -1) for value in values.fillna(-1)]


def _whole(numbers: "pd.Series[Any]") -> list[int | None]:
    return [None if pd.isna(number) else int(number) for number in numbers]
