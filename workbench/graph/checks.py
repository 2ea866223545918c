"""Checks which edits of a causal graph are possible; errors name the first node or edge that is not."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from tracegraph.base.errors import InputError
from tracegraph.base.suggest import did_you_mean
from tracegraph.ingest.arrays import Flags, Ints
from tracegraph.ingest.causal.graph.dependencies import Dependencies
from tracegraph.ingest.causal.graph.segments import WAIT
from tracegraph.ingest.what_if.changes.edit import assumed
from tracegraph.ingest.what_if.scenarios.edits import Edited
from tracegraph.vocabulary import mechanisms
from tracegraph.vocabulary.mechanisms import CODE

if TYPE_CHECKING:
    from tracegraph.workbench.graph.causal_graph import Ids

_OWN = (mechanisms.PROGRAM_ORDER, mechanisms.QUEUE_START, mechanisms.GIL_HOLDER)
"""Rules that follow from the lanes, or bind nothing: nobody adds a dependency by them."""
_ADDABLE = [name for name in CODE if name not in _OWN]


def as_ids(given: "Ids", there: Flags) -> Ints:
    """Turn ids of nodes or edges into an array of those that are there.

    Raises
    ------
    InputError
        A value is not an id, or an id is not in the graph.
    """
    values = np.atleast_1d(np.asarray(given.index if isinstance(given, pd.DataFrame) else given))
    if values.size and values.dtype.kind not in "iu":
        raise InputError(
            f"ids are whole numbers, not {values.dtype}",
            "give rows of the frame, as graph.nodes[graph.nodes['name'] == 'gemm'], or their index",
        )
    ids = values.astype(np.int64)
    unknown = ids[(ids < 0) | (ids >= len(there))]
    known = np.clip(ids, 0, len(there) - 1)
    outside = unknown if len(unknown) else ids[~there[known]]
    if len(outside):
        raise InputError(f"there is no {int(outside[0])} in this graph", "its ids are the index of the frame")
    return ids


def check_edges(edited: Edited, edges: "Ids", inside: Flags) -> Ints:
    """Return the ids of edges that are still there.

    Raises
    ------
    InputError
        One of them is not.
    """
    found = edited.dependencies
    return as_ids(edges, edited.kept & inside[found.cause] & inside[found.effect])


def check_work(edited: Edited, nodes: Ints, work_ns: int | Sequence[int] | Ints) -> Ints:
    """Check the work for nodes, ns: one number, or one for each.

    Raises
    ------
    InputError
        The work is below 0 or not a whole number, or a node is a wait.
    """
    work = _whole(work_ns, len(nodes), "work")
    waits = nodes[(edited.graph.segments.kind[nodes] == WAIT) & (work > 0)]
    if len(waits):
        raise InputError(
            f"node {int(waits[0])} is a wait, which does no work",
            "change what it waits for: the cause of its effect",
        )
    return work


def check_factor(factor: float) -> float:
    """Check that a factor is a finite number of 0 or more.

    Raises
    ------
    InputError
        It is not.
    """
    if not (math.isfinite(factor) and factor >= 0):
        raise InputError(f"{factor} is no factor", "give one of 0 or more: 0.5 halves the time")
    return factor


def check_lags(edited: Edited, edges: Ints, lag_ns: int | Sequence[int] | Ints) -> Ints:
    """Check the lags for edges, ns: one number, or one for each.

    Raises
    ------
    InputError
        A lag is below 0 or not a whole number, or a thread would pause without a wait.
    """
    lags = _whole(lag_ns, len(edges), "lag")
    found, kind = edited.dependencies, edited.graph.segments.kind
    in_order = found.mechanism[edges] == CODE[mechanisms.PROGRAM_ORDER]
    pauses = edges[in_order & (kind[found.cause[edges]] != WAIT) & (lags > 0)]
    if len(pauses):
        raise InputError(
            f"edge {int(pauses[0])} is program order: a thread goes on at once",
            "add the time to the work of its cause",
        )
    return lags


def check_removed(edited: Edited, edges: Ints) -> Ints:
    """Check that edges may be removed.

    Raises
    ------
    InputError
        One of them is program order.
    """
    in_order = edges[edited.dependencies.mechanism[edges] == CODE[mechanisms.PROGRAM_ORDER]]
    if len(in_order):
        raise InputError(
            f"edge {int(in_order[0])} is program order: a thread does one thing after the other",
            "remove what else its effect waits for, or set the work of its cause to 0",
        )
    return edges


def new_dependencies(
    edited: Edited, cause: Ints, effect: Ints, lag_ns: int, mechanism: str | None
) -> Dependencies:
    """Make the dependencies that a user adds.

    Raises
    ------
    InputError
        The numbers of causes and effects differ, the lag is below 0, there is no such rule, or an edge is
        not possible.
    """
    if len(cause) != len(effect):
        raise InputError(f"{len(cause)} causes are given, and {len(effect)} effects", "give as many")
    if mechanism is not None and mechanism not in _ADDABLE:
        listed = f"there are: {', '.join(_ADDABLE)}"
        raise InputError(
            f"no dependency is added by {mechanism!r}", did_you_mean(mechanism, _ADDABLE, listed)
        )
    lag = int(_whole(lag_ns, 1, "lag")[0])
    _check_ends(edited, cause, effect)
    segments = edited.graph.segments
    codes = [CODE[mechanism or name] for name in _usual(edited, cause, effect)]
    gap = segments.start[effect] - segments.completion[cause]
    return assumed(gap, cause, effect, np.array(codes, dtype=np.int64), lag)


def _check_ends(edited: Edited, cause: Ints, effect: Ints) -> None:
    segments = edited.graph.segments
    lane, on_thread = segments.lane, segments.on_thread
    in_thread = effect[(lane[cause] == lane[effect]) & on_thread[effect]]
    if len(in_thread):
        raise InputError(
            f"node {int(in_thread[0])} is on the thread of its cause, which does one thing after the other",
            "add work there instead",
        )
    itself = effect[cause == effect]
    if len(itself):
        raise InputError(f"node {int(itself[0])} cannot wait for itself", "name another cause")
    first = on_thread[effect] & ((effect == 0) | (lane[effect - 1] != lane[effect]))
    if first.any():
        raise InputError(
            f"node {int(effect[first][0])} begins its thread with the window, before anything else can end",
            "let what comes after it on the thread wait",
        )


def _usual(edited: Edited, cause: Ints, effect: Ints) -> list[str]:
    """Find, for each pair of ends, the rule that dependencies between such lanes usually have."""
    graph, segments = edited.graph, edited.graph.segments
    lanes = segments.lane[cause], segments.lane[effect]
    between_ranks = graph.lanes.rank[lanes[0]] != graph.lanes.rank[lanes[1]]
    rows = zip(
        between_ranks.tolist(),
        (lanes[0] == lanes[1]).tolist(),
        segments.on_thread[cause].tolist(),
        segments.on_thread[effect].tolist(),
        strict=True,
    )
    return [_rule(*row) for row in rows]


def _rule(between_ranks: bool, one_lane: bool, from_thread: bool, to_thread: bool) -> str:
    if between_ranks:
        return mechanisms.COLLECTIVE
    if one_lane:
        return mechanisms.STREAM_ORDER
    if from_thread:
        return mechanisms.HAND_OVER if to_thread else mechanisms.LAUNCH
    return mechanisms.STREAM_SYNCHRONIZE if to_thread else mechanisms.STREAM_WAIT_EVENT


def _whole(given: Any, count: int, what: str) -> Ints:
    """Check one number or as many as there are, in ns, none below 0, and repeat a single one."""
    values = np.atleast_1d(np.asarray(given))
    if values.dtype.kind not in "iu" or len(values) not in (1, count) or (values < 0).any():
        raise InputError(
            f"{given!r} is no {what} in ns", "give whole numbers of 0 or more, one or one for each"
        )
    return np.broadcast_to(values.astype(np.int64), (count,))
