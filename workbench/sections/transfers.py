"""How long transfers take by their size, and the latency and bandwidth that follow."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from tracegraph.base.units import format_bytes
from tracegraph.workbench.findings.findings import Findings
from tracegraph.workbench.sections.blocks import Block, Column, Plot, Table, Words, filled
from tracegraph.workbench.sections.section import OTHERS, Parameters, Scope, Section
from tracegraph.workbench.text.text import format_ns, format_share

_NS_PER_S = 1e9
_MOST_FITS, _CORNERS = 4, 24
"""How many fits are drawn, and how many corners each line has."""
_COLOURS = ("#4878a8", "#e8871e", "#2f9e8f", "#b0578d", "#8a6d3b", "#7a6fd0")
_ALIKE = ("kind", "ranks", "source", "group", "nodes", "algorithm", "protocol", "in_place", "is_least")
"""What the points of a fit have in common."""
_FITS = (
    Column("kind", "kind"),
    Column("ranks", "ranks", "number"),
    Column("group", "group", "name", roomy=True),
    Column("algorithm", "algorithm", roomy=True),
    Column("protocol", "protocol", roomy=True),
    Column("source", "measured by"),
    Column("alpha_ns", "latency", "duration"),
    Column("alpha_error_ns", "its error", "duration", roomy=True),
    Column("bytes_per_s", "bandwidth", "bandwidth"),
    Column("bytes_per_s_error", "its error", "bandwidth", roomy=True),
    Column("sizes", "sizes", "count"),
    Column("valid_from", "from", "bytes"),
    Column("valid_to", "to", "bytes"),
    Column("mean_error", "mean error", "share"),
    Column("largest_error", "largest error", "share", roomy=True),
)
_NOTE = (
    "Time = latency + data / bandwidth, fitted by relative errors. It holds for sizes between the smallest "
    "and the largest that were measured, where the lines end. Bandwidth is data by time beyond the latency."
)
_SIZE, _TIME = Column("bytes", "data", "bytes"), Column("time_ns", "time", "duration")


def _content(findings: Findings) -> Sequence[Block]:
    fits, points = (findings.answers.get(name) for name in ("transfer_fit", "transfer_points"))
    if fits is None or points is None:
        return []
    several = fits[fits["sizes"] > 1]
    if several.empty:
        return []
    fitted = several[several["bytes_per_s"].notna()]
    blocks: list[Block] = [Words(sentence) for sentence in _said(fitted.head(1))]
    missing = dict.fromkeys(f"{row['kind']}: {row['lacks']}" for row in _rows(several) if row["lacks"])
    blocks += [Words(sentence, "note") for sentence in missing]
    # Tests that write their result over the input take next to the same time: one of both is drawn.
    blocks.append(_plot(several[several["in_place"].fillna(False).eq(False)], points))
    return [*blocks, Table(fitted, filled(fitted, _FITS), note=_NOTE)] if len(fitted) else blocks


def _rows(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """List the rows, with None for what is missing."""
    return [{str(k): None if pd.isna(v) else v for k, v in row.items()} for row in frame.to_dict("records")]


def _said(fits: pd.DataFrame) -> Iterator[str]:
    for row in _rows(fits):
        latency = (
            f"a latency of {format_ns(row['alpha_ns'])}" if row["is_alpha_known"] else "no known latency"
        )
        yield (
            f"{row['kind']} of {row['ranks'] or 'several'} ranks has {latency} and a bandwidth of "
            f"{format_bytes(round(row['bytes_per_s']))}/s between {format_bytes(row['valid_from'])} and "
            f"{format_bytes(row['valid_to'])}; its mean error is {format_share(row['mean_error'])}."
        )


def _label(row: Mapping[str, Any]) -> str:
    """Name what a fit is about, by what tells it from others."""
    words = [row["kind"], row["ranks"] and f"{row['ranks']} ranks", row["algorithm"], row["protocol"]]
    words.append({True: "in place", False: None}.get(row["in_place"]))
    return ", ".join(str(word) for word in (*words, row["source"]) if word)


def _plot(fits: pd.DataFrame, points: pd.DataFrame) -> Plot:
    """Draw the points of the first fits, and each fit over the sizes for which it holds."""
    rows = _rows(fits.head(_MOST_FITS))
    keys = [tuple(row[name] for name in _ALIKE) for row in rows]
    labels = dict(zip(keys, map(_label, rows), strict=True))
    of_each = [labels.get(tuple(row[name] for name in _ALIKE)) for row in _rows(points)]
    drawn = points.assign(_fit=pd.Series(of_each, index=points.index, dtype=object))
    drawn = drawn[drawn["_fit"].notna() & (drawn["bytes"] > 0) & (drawn["time_ns"] > 0)]
    return Plot(
        "Time of a transfer by its size",
        drawn.reset_index(drop=True),
        "points",
        _SIZE,
        _TIME,
        colour="_fit",
        colours=dict(zip(dict.fromkeys(labels.values()), _COLOURS, strict=False)),
        told=(Column("count", "operations", "count"),),
        roofs={f"fit: {_label(row)}": _curve(row) for row in rows if row["bytes_per_s"]},
    )


def _curve(row: Mapping[str, Any]) -> Sequence[tuple[float, float]]:
    sizes = np.geomspace(row["valid_from"], row["valid_to"], _CORNERS)
    times = row["alpha_ns"] + sizes / row["bytes_per_s"] * _NS_PER_S
    return list(zip(sizes.tolist(), times.tolist(), strict=True))


def _asks(scope: Scope) -> Mapping[str, Parameters]:
    if not scope.drawn or not scope.communicates:
        return {}
    return dict.fromkeys(("transfer_fit", "transfer_points"), scope.between)


SECTION = Section(98, "Transfers by size", _content, _asks, group=OTHERS)
