"""What a thread does where a change lets it end its work before what it then depends on."""

from dataclasses import dataclass, replace

import numpy as np

from tracegraph.ingest.array_tables import select_rows
from tracegraph.ingest.arrays import Flags, Ints
from tracegraph.ingest.causal.graph.dependencies import Dependencies
from tracegraph.ingest.causal.graph.segments import GAP, WAIT, Segments
from tracegraph.ingest.causal.rules.edges import GAP_OF_MECHANISM
from tracegraph.ingest.what_if.graph.graph import ReplayGraph
from tracegraph.vocabulary.gaps import GAP_CODE, UNTRACED_CPU
from tracegraph.vocabulary.mechanisms import CODE, MECHANISMS, PROGRAM_ORDER

_FOR_GPU = np.array([mechanism.kind == "SYNCHRONIZATION" for mechanism in MECHANISMS])


@dataclass(frozen=True)
class Waiting:
    """What a thread does after each of some segments: the event, kind and name of the gap."""

    event: Ints
    kind: Ints
    gap_name: Ints


def find_waits(graph: ReplayGraph, found: Dependencies, idle: Ints, edge: Ints) -> Waiting:
    """What a thread does after each of `idle`: `edge` is what it waits for, -1 for nothing any more.

    The call that waits for the GPU is the one that goes on then; for others whatever is open all the time.
    """
    event, waits = graph.segments.event, edge >= 0
    mechanism = np.append(found.mechanism, CODE[PROGRAM_ORDER])[edge]
    after = event[np.minimum(idle + 1, len(event) - 1)]
    around = [_around(graph.calls.parent, *pair) for pair in zip(event[idle], after, strict=True)]
    inside = np.where(_FOR_GPU[mechanism], after, np.array(around, dtype=np.int64))
    return Waiting(
        event=np.where(waits, inside, -1),
        kind=np.where(waits, WAIT, GAP),
        gap_name=np.where(waits, GAP_OF_MECHANISM[mechanism], GAP_CODE[UNTRACED_CPU]),
    )


def _around(parent: Ints, first: int, second: int) -> int:
    """The innermost event that contains both, or is one of them; -1 for none."""
    above = set()
    while first >= 0:
        above.add(first)
        first = int(parent[first])
    while second >= 0 and second not in above:
        second = int(parent[second])
    return second


def with_idle(
    old: Segments, inside: Flags, times: tuple[Ints, Ints, Ints], idle: Ints, until: Ints, waits: Waiting
) -> tuple[Segments, Ints, Ints]:
    """The segments inside the window with one after each of `idle`, which lasts `until`.

    `times`: start, end and work of the old ones. Also where each old (-1: nowhere) and each new one stands.
    """
    start, end, work = times
    kept = np.flatnonzero(inside)
    parts = Segments(
        lane=np.concatenate([old.lane[kept], old.lane[idle]]),
        start=np.concatenate([start[kept], end[idle]]),
        end=np.concatenate([end[kept], until]),
        event=np.concatenate([old.event[kept], waits.event]),
        kind=np.concatenate([old.kind[kept], waits.kind]),
        gap_name=np.concatenate([old.gap_name[kept], waits.gap_name]),
        work=np.concatenate([work[kept], np.where(waits.kind == WAIT, 0, until - end[idle])]),
        on_thread=np.concatenate([old.on_thread[kept], old.on_thread[idle]]),
        gpu_first=np.empty(len(kept) + len(idle), dtype=np.int64),
        gpu_last=np.empty(len(kept) + len(idle), dtype=np.int64),
    )
    # Of those that begin and end together: in a thread in their order, in a stream as the file has them.
    tie = np.where(parts.on_thread, np.concatenate([2 * kept, 2 * idle + 1]), parts.event)
    order = np.lexsort((tie, parts.end, parts.start, parts.lane))
    at = np.empty(len(order), dtype=np.int64)
    at[order] = np.arange(len(order))
    place = np.full(len(old), -1, dtype=np.int64)
    place[kept] = at[: len(kept)]
    first, last = (np.where(own >= 0, place[own], -1) for own in (old.gpu_first, old.gpu_last))
    return replace(select_rows(parts, order), gpu_first=first, gpu_last=last), place, at[len(kept) :]
