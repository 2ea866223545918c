"""Shares out the time of a path among the resources that can bound it."""

from collections.abc import Mapping
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from tracegraph.ingest.intervals import Spans, covered
from tracegraph.queries.shapes.category_roles import of_role
from tracegraph.vocabulary import bounds, gaps
from tracegraph.vocabulary.categories import Role
from tracegraph.vocabulary.lane_kinds import STREAM
from tracegraph.workbench.findings.findings import Findings
from tracegraph.workbench.findings.topics import COMMUNICATION, DATA_LOADING

Bottleneck = Literal[
    "cpu",
    "gpu",
    "communication",
    "data_loading",
    "synchronisation",
    "launch",
    "gil",
    "other_rank",
    "turns",
    "unrecorded",
    "several",
    "unknown",
]
OF_GAP: Mapping[str, Bottleneck] = {
    gaps.UNKNOWN: "unknown",
    gaps.UNTRACED_CPU: "unrecorded",
    gaps.OUTSIDE_RECORDING: "unknown",
    gaps.BUSY_GPU: "gpu",
    gaps.UNRECORDED_GRAPH: "unknown",
    gaps.GPU_TURN: "turns",
    gaps.EARLIER_WORK: "unknown",
    gaps.LOST_WORK: "unknown",
    gaps.CPU_TURN: "turns",
    gaps.NOT_RUNNING: "unrecorded",
    gaps.IN_SHORT: "unknown",
    gaps.LAUNCH_LATENCY: "launch",
    gaps.STREAM_QUEUE: "gpu",
    gaps.WAITING_FOR_GPU: "synchronisation",
    gaps.WAITING_FOR_RANK: "other_rank",
    gaps.WAITING_FOR_THREAD: "gil",
    gaps.WAITING_FOR_GIL: "gil",
}
"""What a gap on the path is bound by."""
_PLACES: Mapping[str, int] = {name: place for place, name in enumerate(get_args(Bottleneck))}
_SPECIFIC = 0.3
"""A resource other than plain CPU or GPU work goes first from this share of the path on: it says more. Chosen
by eye: a smaller one would put a resource with little of the path before the CPU or GPU work that fills the
rest, a larger one would say `the CPU` where waits or launching take a third."""


def shares(findings: Findings) -> dict[Bottleneck, float]:
    """Share out the path among the resources.

    What is inside an event about data loading or communication counts for that topic. Else a row of a stream
    counts for the GPU and one of a thread for the CPU, except launching and synchronising calls, and a gap
    counts for what its name says.

    Returns
    -------
    dict
        The share of each resource, 0..1; they sum to 1. The first one determines the path: the largest of
        the specific ones with at least `_SPECIFIC` of it, else the largest of all others.
    """
    path, spent = findings.path, findings.durations.to_numpy(dtype=np.int64)
    kind = _kinds(findings)
    totals: dict[Bottleneck, int] = {}
    is_event = ~findings.is_gap.to_numpy()
    rows = Spans(*(path[name].to_numpy(np.int64) for name in ("lane", "start_ns", "end_ns")))
    left = spent.copy()
    topics: tuple[tuple[str, Bottleneck], ...] = (
        (DATA_LOADING, "data_loading"),
        (COMMUNICATION, "communication"),
    )
    for topic, name in topics:
        events = findings.topics[topic]
        about = Spans(*(events[column].to_numpy(np.int64) for column in ("lane", "start_ns", "end_ns")))
        inside = np.minimum(np.where(is_event, covered(rows, about), 0), left)
        totals[name] = int(inside.sum())
        left = left - inside
    for one in get_args(Bottleneck):
        totals[one] = totals.get(one, 0) + int(left[kind == _PLACES[one]].sum())
    found = {name: findings.share(ns) for name, ns in totals.items()}

    def rank(name: Bottleneck) -> tuple[bool, float]:
        return name in ("cpu", "gpu", "unknown", "unrecorded") or found[name] < _SPECIFIC, -found[name]

    return {name: found[name] for name in sorted(found, key=rank)}


def _kinds(findings: Findings) -> npt.NDArray[np.int8]:
    """Classify each row of the path by what it is bound by, as a place in `_PLACES`, topics left aside."""
    path = findings.path
    streams = findings.lanes.loc[findings.lanes["kind"].eq(STREAM), "lane"]
    on_stream = path["lane"].isin(streams).to_numpy()
    kind = np.where(on_stream, _PLACES["gpu"], _PLACES["cpu"]).astype(np.int8)
    calls = of_role(path["category"], Role.CALL).to_numpy()
    # A million rows have a few hundred names: what each says is looked up once.
    names = path["name"].astype("category").cat
    texts, text_of = [str(text) for text in names.categories], names.codes.to_numpy()
    for part, resource in bounds.OF_CALL:
        says = np.array([part in text for text in texts], dtype=bool)
        kind[calls & says[text_of]] = _PLACES[bounds.BOTTLENECKS[resource]]
    in_gap = findings.is_gap.to_numpy()
    of_gap = np.array([_PLACES[OF_GAP.get(text, "unknown")] for text in texts], dtype=np.int8)
    kind[in_gap] = of_gap[text_of[in_gap]]
    return kind
