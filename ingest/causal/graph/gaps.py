"""Names the lags on binding edges: by their rule, or by other evidence if they are too long for it."""

import numpy as np

from tracegraph.ingest.array_tables import join_rows, select_rows
from tracegraph.ingest.arrays import Flags, Ints, Terms
from tracegraph.ingest.causal.events.callstack import CallStack
from tracegraph.ingest.causal.events.events import NONE, Events, is_call_named
from tracegraph.ingest.causal.graph.dependencies import Dependencies
from tracegraph.ingest.causal.graph.segments import Segments
from tracegraph.ingest.causal.launches.launches import LONG_LAG_NS, Launches, nearest_on_thread
from tracegraph.ingest.causal.launches.missing_work import MissingWork, find_missing
from tracegraph.ingest.causal.rules.edges import GAP_OF_MECHANISM
from tracegraph.ingest.intervals import Spans, covered, ended_before
from tracegraph.vocabulary.gaps import (
    BUSY_GPU,
    EARLIER_WORK,
    GAP_CODE,
    GPU_TURN,
    LOST_WORK,
    UNKNOWN,
    UNRECORDED_GRAPH,
)
from tracegraph.vocabulary.runtime_calls import WAITING

_SHORTEST_NS = 200_000
"""The shortest pause of a device that may be another process's turn, and how long work must have waited:
far more than a launch or a queue takes, and less than a GPU's time slice, which lasts milliseconds."""
_LEAST_PAUSES = 5
"""How many such pauses a device must have, so that their lengths can be seen to agree. Chosen by eye:
quartiles of fewer are single pauses, and two or three may agree by chance."""
_SPREAD = 0.05
"""How far their quartiles may lie apart at most, as a share of the median: turns are of one length, pauses of
a program are not. Chosen by eye: a larger one would take a program's own equal pauses, as of a sleep, for
turns."""
_ALIKE = 0.1
"""How far from the median a pause may be to count, as a share of it. Twice `_SPREAD`, so that pauses around
the quartiles count, too."""
_BUSY = 0.9
"""Which share of a gap the evidence must cover to name it. Chosen by eye: a lower one names gaps that are
partly without a reason, a higher one leaves gaps unknown in which a device pauses between two of its
kernels."""
_HELD = 4
"""How many works must have stood in a queue to show that work which is not in the file held it. Chosen by
eye: one late start may be a slow launch; if four calls returned 50 µs before the first of their works began,
these stood in a queue."""


def find_time_slices(events: Events, launches: Launches) -> Spans:
    """Find pauses of whole devices, over 200 µs, that all last the same although launched work waited.

    A GPU that several processes share without MPS runs them in turns of fixed length, so that each process
    sees the others' turns as pauses of one length. At least five pauses must end in work launched 200 µs
    before, with quartiles at most 5 % of their median apart; pauses within 10 % of the median count.
    """
    nothing = np.empty(0, dtype=np.int64)
    found = [(nothing, nothing, nothing)]
    work = np.flatnonzero(events.is_gpu)
    for device in np.unique(events.device[work]).tolist():
        mine = work[events.device[work] == device]
        mine = mine[np.argsort(events.start[mine], kind="stable")]
        ended = ended_before(events.end[mine], 0)[1:]
        after, pause = mine[1:], events.start[mine[1:]] - ended
        call = launches.call[after]
        waited = (call >= 0) & (events.start[after] - events.end[call] > _SHORTEST_NS)
        chosen = waited & (pause > _SHORTEST_NS)
        if chosen.sum() < _LEAST_PAUSES:
            continue
        low, median, high = np.quantile(pause[chosen], [0.25, 0.5, 0.75])
        if high - low <= _SPREAD * median:
            alike = chosen & (np.abs(pause - median) <= _ALIKE * median)
            found.append((np.full(int(alike.sum()), device), ended[alike], events.start[after[alike]]))
    return Spans(*(np.concatenate(columns) for columns in zip(*found, strict=True)))


def name_gaps(
    events: Events, launches: Launches, stack: CallStack, segments: Segments, found: Dependencies
) -> Terms:
    """Name the gaps of all dependencies, as positions in `GAP_NAMES`.

    A lag of at most 50 µs before GPU work has the name of its rule. A longer one is neither launch latency
    nor a queue. The first of these that fits is its name:

    - "GPU busy with other work", if the device ran something for 90 % of it;
    - "unrecorded graph work", beside work of a graph launch, or if such launches ran for 90 % of it;
    - "GPU turn of another process", if it lies in the pauses that `find_time_slices` finds;
    - "work whose rows are missing", if launches without work stand before the effect in its queue
      (`_behind_lost_work`);
    - "work from before the recording", if the effect stood behind such work (`_behind_earlier_work`);
    - "unknown".

    Parameters
    ----------
    found
        The dependencies, whose lags are looked at where they bind.
    """
    names = GAP_OF_MECHANISM.take(found.mechanism)
    on_gpu = ~segments.on_thread[found.effect] & (segments.event[found.effect] >= 0)
    late = np.flatnonzero(found.binding & on_gpu & (found.gap > LONG_LAG_NS))
    if not len(late):
        return names
    event = segments.event[found.effect[late]]
    gap = Spans(
        events.device[event], segments.start[found.effect[late]] - found.gap[late], events.start[event]
    )
    work = np.flatnonzero(events.is_gpu)
    recorded = Spans(events.device[work], events.start[work], events.end[work])
    graphs, in_graph = _graph_spans(events, launches)
    enough = _BUSY * (gap.end - gap.start)
    busy = covered(gap, recorded) >= enough
    before = np.where(segments.on_thread[found.cause[late]], -1, segments.event[found.cause[late]])
    graph = in_graph[event] | in_graph[before] | (covered(gap, join_rows([recorded, graphs])) >= enough)
    elsewhere = covered(gap, find_time_slices(events, launches)) >= enough
    lost = _behind_lost_work(events, launches, find_missing(events, launches, stack))[event]
    earlier = _behind_earlier_work(events, launches)[event]
    reasons = (BUSY_GPU, UNRECORDED_GRAPH, GPU_TURN, LOST_WORK, EARLIER_WORK)
    codes = [GAP_CODE[reason] for reason in reasons]
    names[late] = np.select([busy, graph, elsewhere, lost, earlier], codes, GAP_CODE[UNKNOWN])
    return names


def _behind_lost_work(events: Events, launches: Launches, missing: MissingWork) -> Flags:
    """Tell which GPU work may have stood behind work whose rows are missing.

    That is work before whose launch its thread made launches without work in the file, since the launch of
    the work before it on its stream.
    """
    found = np.zeros(len(events), dtype=bool)
    work = np.flatnonzero(launches.call >= 0)
    if not len(missing.call) or not len(work):
        return found
    called = events.start[launches.call]
    work = work[np.lexsort((called[work], events.lane[work]))]
    same = np.append(False, events.lane[work[1:]] == events.lane[work[:-1]])
    since = np.where(same, np.append(0, called[work[:-1]]) + 1, NONE)
    # A call that waited returned after what was launched before it had ended.
    waiting = np.flatnonzero(is_call_named(events, *WAITING) & events.on_thread)
    place = nearest_on_thread(events, launches.call[work], waiting, "backward")
    waited = np.append(events.start[waiting], NONE)[place]
    since = np.maximum(since, np.where(place >= 0, waited, NONE))
    found[work] = missing.between(events.lane[launches.call[work]], since, called[work]) > 0
    return found


def _behind_earlier_work(events: Events, launches: Launches) -> Flags:
    """Tell which GPU work was enqueued before the recording began, or right behind such work.

    The former are works without a launch, on a stream on which all works without come before all with one, or
    works with ids below those of all calls, if ids grow with time. The latter is the first work with a
    launch, if its queue was held (see `_is_held`).
    """
    found = np.zeros(len(events), dtype=bool)
    work = np.flatnonzero(events.is_gpu)
    work = work[np.lexsort((events.start[work], events.lane[work]))]
    for queue in np.split(work, np.flatnonzero(np.diff(events.lane[work])) + 1):
        launched = launches.call[queue] >= 0
        first = int(launched.argmax()) if launched.any() else len(queue)
        if first == len(queue) or not launched[first:].all():
            continue
        found[queue[:first]] = True
        found[queue[first]] = _is_held(events, launches, queue[first : first + _HELD])
    lost = launches.lost
    found[lost.work[lost.before < 0]] = True
    return found


def _is_held(events: Events, launches: Launches, queue: Ints) -> bool:
    """Tell whether the first works of a queue waited in it, so that the others follow the first at once.

    Either all their calls had returned 50 µs before the first work started, or all calls before one that
    began as early and blocked its thread until its own work ended.
    """
    calls = launches.call[queue]
    ready = events.start[queue[0]] - LONG_LAG_NS
    returned = events.end[calls] < ready
    blocked = (events.start[calls] < ready) & (events.end[calls] >= events.end[queue])
    if blocked.any():
        queue = queue[: int(blocked.argmax()) + 1]
        held = len(queue) > 1 and bool(returned[: len(queue) - 1].all())
    else:
        held = len(np.unique(calls[returned])) == _HELD
    return held and bool((events.start[queue[1:]] - events.end[queue[:-1]] <= LONG_LAG_NS).all())


def _graph_spans(events: Events, launches: Launches) -> tuple[Spans, Flags]:
    """Find from when until when graph launches can have run on each stream, and which work is theirs.

    A span ends with each activity. The flags have one more entry, False, for the index -1.
    """
    is_launch = np.append(is_call_named(events, "GraphLaunch"), False)
    mine = is_launch[launches.call] & events.is_gpu
    work = np.flatnonzero(events.is_gpu)
    work = work[np.lexsort((events.start[work], events.lane[work]))]
    lane, end = events.lane[work], events.end[work]
    same = np.append(False, lane[1:] == lane[:-1])[: len(lane)]
    idle_since = np.where(same, np.append(0, end[:-1])[: len(end)], NONE)
    call = launches.call[work]
    begin = np.maximum(idle_since, events.start[np.maximum(call, 0)])
    spans = Spans(events.device[work], np.minimum(begin, events.start[work]), end)
    return select_rows(spans, mine[work]), np.append(mine, False)
