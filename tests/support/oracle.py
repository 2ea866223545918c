"""An independent answer: starts and critical path by topological order, without looking at binding flags."""

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

_DOCUMENT = Path(__file__).parents[2] / "docs" / "rules.md"
_RULE = re.compile(r"\| `([^`]+)` \| (?:INVOCATION|SEQUENTIAL|SYNCHRONIZATION|CROSS_THREAD) \|")
RULES = tuple(_RULE.findall(_DOCUMENT.read_text(encoding="utf-8")))
"""The documented order of rules: which cause is named where several explain a start to the nanosecond."""


@dataclass(frozen=True)
class Edge:
    """cause -> effect with the lag that a replay adds to the cause's completion, ns."""

    cause: int
    effect: int
    lag_ns: int
    mechanism: str


@dataclass(frozen=True)
class Answer:
    """Replayed start of every node, and the nodes from the path's beginning to the sink."""

    starts: list[int]
    path: list[int]


def longest_path(work_ns: Sequence[int], edges: Sequence[Edge], window_start: int, sink: int) -> Answer:
    """Kahn's order over all edges; every start is the largest completion + lag of its causes.

    Raises `ValueError` where the edges hold a cycle.
    """
    out, waiting = defaultdict(list), [0] * len(work_ns)
    for edge in edges:
        out[edge.cause].append(edge)
        waiting[edge.effect] += 1
    starts = [window_start] * len(work_ns)
    chosen: list[Edge | None] = [None] * len(work_ns)
    ready = [node for node, count in enumerate(waiting) if not count]
    done = 0
    while ready:
        node = ready.pop()
        done += 1
        for edge in out[node]:
            arrival = starts[node] + work_ns[node] + edge.lag_ns
            best = chosen[edge.effect]
            key = (-arrival, RULES.index(edge.mechanism), edge.cause)
            if best is None or key < (-starts[edge.effect], RULES.index(best.mechanism), best.cause):
                starts[edge.effect], chosen[edge.effect] = arrival, edge
            waiting[edge.effect] -= 1
            if not waiting[edge.effect]:
                ready.append(edge.effect)
    if done < len(work_ns):
        raise ValueError(f"{len(work_ns) - done} nodes lie on a cycle")
    path, at = [sink], chosen[sink]
    while at is not None:
        path.append(at.cause)
        at = chosen[at.cause]
    return Answer(starts, path[::-1])
