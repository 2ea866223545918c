"""How much of its time each layer of a model communicates, as with tensor parallelism."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from tracegraph.queries.module import Column
from tracegraph.queries.shapes.derived_query import Values
from tracegraph.queries.shapes.parallel.layer_names import BY_PATTERN, find_layers
from tracegraph.queries.shapes.parallel.pieces import UNKNOWN, Away, pieces_of, with_phases
from tracegraph.queries.shapes.peak.time_sums import Union
from tracegraph.vocabulary.kernel_types import COMMUNICATION, COMPUTATION

BEFORE, BETWEEN, AFTER = ("before the layers", "between the layers", "after the layers")
"""Names of what is outside the layers of its phase."""
LAYER_COLUMNS = (
    Column("rank", "INTEGER", False, "rank of the process"),
    Column(
        "layer",
        "STRING",
        True,
        f"name of the layer, or `{BEFORE}` and alike; null where nothing tells layers",
    ),
    Column("number", "INTEGER", True, "its number, from 0, as forward runs them; null outside layers"),
    Column("phase", "STRING", True, "phase that launched it, null where none is found"),
    Column("times", "INTEGER", False, "how often the layer runs in the window: passes of the phase"),
    Column("computing_ns", "INTEGER", False, "time in which it computes, overlaps counted once, ns"),
    Column("communication_ns", "INTEGER", False, "time in which it communicates, counted once, ns"),
    Column("waited_ns", "INTEGER", True, "waits for the last rank in it; null where ranks are missing, ns"),
    Column("exposed_ns", "INTEGER", True, "how much of the communication no computing hides, ns"),
    Column("share", "FLOAT", True, "communication as a share of the time in which it does either, 0..1"),
    Column("calls", "INTEGER", False, "number of operations of communication, of all times"),
    Column("told_by", "STRING", True, "what tells the layers: `module`, `annotation` or `kernel pattern`"),
    Column(
        "evidence",
        "STRING",
        True,
        "`recorded`: a name of the file; `inferred`: a sequence of kernels repeats",
    ),
)
"""Columns of `layer_communication`."""


def layer_communication(_: Values, work: pd.DataFrame, phases: pd.DataFrame) -> pd.DataFrame:
    """Sum up computing and communication by layer, from the rows of `layer_work` and `phases`."""
    names = [column.name for column in LAYER_COLUMNS]
    rows: list[dict[str, Any]] = []
    for rank, own in work.groupby("rank", sort=True):
        pieces = with_phases(pieces_of(own), phases[phases["rank"].eq(rank)])
        if pieces.empty:  # all that began in the window was handed over, and what took it over begins later
            continue
        rows += ({"rank": rank, **row} for row in _rows(_with_layers(pieces), Away(own)))
    return pd.DataFrame(rows, columns=names)


def _with_layers(pieces: pd.DataFrame) -> pd.DataFrame:
    """Add layer, number and what tells them to the pieces of each pass, which then stand together."""
    of_pass = pieces.groupby(["step", "turn"], dropna=False, sort=False).ngroup().to_numpy()
    order = np.argsort(of_pass, kind="stable")
    ends = np.flatnonzero(np.diff(of_pass[order])) + 1
    alike = pieces.groupby(["what", "name", "around"], dropna=False, sort=False).ngroup().to_numpy()
    # Most passes launch the same as one before.
    known: dict[tuple[bytes, Any], pd.DataFrame] = {}
    found = []
    for places in np.split(order, ends):
        phase = pieces["phase"].iat[places[0]]
        launched = (alike[places].tobytes(), phase)
        if launched not in known:
            known[launched] = _layers(pieces.iloc[places], phase)
        found.append(known[launched])
    return pd.concat([pieces.iloc[order].reset_index(drop=True), pd.concat(found, ignore_index=True)], axis=1)


def _layers(own: pd.DataFrame, phase: Any) -> pd.DataFrame:
    """Say layer, number and what tells them for the pieces of one pass."""
    layers = find_layers(own, phase)
    if layers is None:
        return pd.DataFrame({"layer": [None] * len(own), "number": -1, "told_by": None}, dtype=object)
    names = np.array([*layers.names, None], dtype=object)[layers.number]
    outside = np.flatnonzero(layers.number < 0)
    inside = np.flatnonzero(layers.number >= 0)
    names[outside] = np.select([outside < inside[0], outside > inside[-1]], [BEFORE, AFTER], BETWEEN)
    return pd.DataFrame({"layer": names, "number": layers.number, "told_by": layers.told_by}, dtype=object)


def _rows(pieces: pd.DataFrame, away: Away) -> Iterator[dict[str, Any]]:
    """Yield a row for each layer of each phase, in the order in which they first run."""
    keys = ["phase", "told_by", "layer"]
    for _, own in pieces.groupby(keys, dropna=False, sort=False):
        phase, told_by, layer = (_text(own[name].iat[0]) for name in keys)
        number = int(own["number"].max())
        talks = own[own["what"].eq(COMMUNICATION)]
        computing = away.left_of(own[own["what"].eq(COMPUTATION)])
        talking = Union(talks["begin_ns"].to_numpy(), talks["end_ns"].to_numpy())
        either = _length(computing.joined(talking.begin, talking.end))
        yield {
            "layer": layer,
            "number": None if number < 0 else number,
            "phase": phase,
            "times": len(own[["step", "turn"]].drop_duplicates()),
            "computing_ns": _length(computing),
            "communication_ns": _length(talking),
            "waited_ns": _known_sum(talks["waited_ns"]),
            "exposed_ns": _known_sum(talks["exposed_ns"]),
            "share": _length(talking) / either if either else None,
            "calls": len(talks),
            "told_by": told_by,
            "evidence": None if told_by is None else "inferred" if told_by == BY_PATTERN else "recorded",
        }


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _length(stretches: Union) -> int:
    return int((stretches.end - stretches.begin).sum())


def _known_sum(times: pd.Series) -> int | None:
    """Sum up times; None where one of them is not known."""
    return None if times.eq(UNKNOWN).any() else int(times.sum())
