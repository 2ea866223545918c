"""Whether confidence is true: binding edges of our path against the causes that the truth names."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.accuracy.markdown import table
from benchmarks.accuracy.paths import read_model
from benchmarks.accuracy.sets import OracleSet, read_json
from tracegraph.ingest.dependencies.edges import MECHANISMS
from tracegraph.ingest.model import Model
from tracegraph.ingest.segments import WORK
from tracegraph.store.schema import EVIDENCE

FEWEST = 30
"""Edges below which a share says nothing."""
_BINS = (0.0, 0.5, 0.6, 0.7, 0.8, 0.9, 0.99, 1.0)
_NEAR_NS = 50_000


@dataclass(frozen=True)
class TrueStart:
    """Where the true path enters a segment of an event: when, and the event and lane it came from."""

    start_ns: int
    cause: int
    cause_lane: tuple[str, str]


def true_starts(truth: dict[str, Any], events: Sequence[dict[str, Any]]) -> dict[int, list[TrueStart]]:
    """By event (position in traceEvents): every entry of the true path into it.

    A stretch of a thread with no event open (-1) has the lane of the stretch that it precedes or follows in
    program order.
    """
    segments = truth["segments"]
    lanes: list[tuple[str, str]] = []
    for position, (_, event, *_) in enumerate(segments):
        lanes.append(_lane(events[event]) if event >= 0 else lanes[position - 1] if position else ("", ""))
    for position in range(len(segments) - 2, -1, -1):
        if segments[position][1] < 0 and segments[position + 1][4] == "seq":
            lanes[position] = lanes[position + 1]
    found: dict[int, list[TrueStart]] = {}
    for position in range(1, len(segments)):
        _, event, start_us, *_ = segments[position]
        if event >= 0:
            cause = TrueStart(round(start_us * 1000), segments[position - 1][1], lanes[position - 1])
            found.setdefault(event, []).append(cause)
    return found


def _lane(event: dict[str, Any]) -> tuple[str, str]:
    return str(event["pid"]), str(event["tid"])


def judge(one: OracleSet) -> pd.DataFrame:
    """The binding edges of our path into events of the true path: mechanism, evidence, confidence, right.

    Right: the truth names the same cause; where that is a stretch of a thread, the same thread. Entries into
    an event that lie more than 50 µs apart are not the same entry and are left out.
    """
    events = read_json(one.trace)["traceEvents"]
    starts = true_starts(read_json(one.truth), events)
    model, _ = read_model(one.trace)
    lanes = [(str(lane.pid), str(lane.tid)) for lane in model.lanes.frame.itertuples()]
    rows = []
    for edge, effect in _binding_edges(model):
        at = int(model.segments.start[effect])
        entries = starts.get(int(model.events.source_index[model.segments.event[effect]]), [])
        entry = min(entries, key=lambda e: abs(e.start_ns - at), default=None)
        if entry is not None and abs(entry.start_ns - at) <= _NEAR_NS:
            rows.append([*_describe(model, edge), _is_right(model, edge, entry, lanes)])
    return pd.DataFrame(rows, columns=["mechanism", "evidence", "confidence", "right"])


def _binding_edges(model: Model) -> Iterator[tuple[int, int]]:
    """Edge and effect of every segment of an event that our path enters."""
    segments = model.segments
    entered = model.on_path & (model.binding.edge >= 0) & (segments.kind == WORK) & (segments.event >= 0)
    for effect in np.flatnonzero(entered).tolist():
        yield int(model.binding.edge[effect]), effect


def _describe(model: Model, edge: int) -> tuple[str, str, float]:
    found = model.dependencies
    evidence = EVIDENCE[0] if found.recorded[edge] else EVIDENCE[1]
    return MECHANISMS[found.mechanism[edge]].name, evidence, float(found.confidence[edge])


def _is_right(model: Model, edge: int, entry: TrueStart, lanes: Sequence[tuple[str, str]]) -> bool:
    segments, cause = model.segments, int(model.dependencies.cause[edge])
    if segments.on_thread[cause]:
        return lanes[int(segments.lane[cause])] == entry.cause_lane
    event = int(segments.event[cause])
    return event >= 0 and bool(model.events.source_index[event] == entry.cause)


def describe_calibration(edges: pd.DataFrame) -> str:
    """Markdown: confidence against the share that is right, by bins and by mechanisms."""
    cut = pd.cut(edges["confidence"], list(_BINS), include_lowest=True)
    bins = [
        [f"{low.left:.2f} to {low.right:.2f}".replace("-0.00", "0.00"), *_figures(group)]
        for low, group in edges.groupby(cut, observed=False)
    ]
    grouped = edges.groupby(["mechanism", "evidence"], sort=True)
    rules = [[mechanism, evidence, *_figures(group)] for (mechanism, evidence), group in grouped]
    figures = ["edges", "mean confidence", "share right"]
    return "\n\n".join(
        [table(["confidence", *figures], bins), table(["mechanism", "evidence", *figures], rules)]
    )


def _figures(group: pd.DataFrame) -> list[str]:
    if len(group) < FEWEST:
        return [str(len(group)), f"{group['confidence'].mean():.3f}" if len(group) else "", "too few"]
    return [str(len(group)), f"{group['confidence'].mean():.3f}", f"{group['right'].mean():.3f}"]
