"""CROSS_THREAD around collectives on threads of their own, such as gloo's: who calls and awaits them."""

from typing import NamedTuple

import numpy as np

from tracegraph.ingest.arrays import Flags, Floats, Ints
from tracegraph.ingest.causal.events.events import NONE
from tracegraph.ingest.causal.rules.context import Context
from tracegraph.ingest.causal.rules.edges import Found, inferred_waits, make_edges, on_thread
from tracegraph.ingest.causal.rules.threads.collectives import cpu_collectives
from tracegraph.ingest.causal.rules.threads.silence import SHORTEST_SILENCE_NS
from tracegraph.ingest.causal.rules.threads.wake_ups import LONGEST_WAKE_UP_NS, TOLERANCE
from tracegraph.ingest.intervals import Spans, covered
from tracegraph.vocabulary.categories import Role
from tracegraph.vocabulary.collectives import AWAITS, CALLS
from tracegraph.vocabulary.mechanisms import HAND_OVER, RESUME

_TAKE_UP_NS = 1_000_000
"""How long after a call its collective begins at most. Chosen by eye: a larger one pairs a call whose
collective has no row with that of a later call, a smaller one misses collectives that stood in the queue of
their group."""
_WAKE_UP_NS, _LARGEST_PART = 200_000, 1 / 3
"""How near the end of a collective a silence must end: within `_WAKE_UP_NS`, or the share `TOLERANCE` of a
long silence up to `LONGEST_WAKE_UP_NS`, and never more than the share `_LARGEST_PART` of the silence. As for
other threads that go on (`wake_ups`), but within half of the time that is allowed there, since one case is
enough here; chosen by eye."""
_OF_CALLER, _LONGEST_OF_CALLER_NS = 0.1, 5_000_000
"""The same share and bound for the thread that called the collective. Chosen by eye: larger, since the call
joins the two already."""
_CALLED, _NEAREST, _RESUMED = 0.9, 0.6, 0.8
"""Confidences (estimates: the simulator has no case): the k-th call is the k-th collective's, the nearest
call is, and a silence ended with the collective."""


def collective_callers(context: Context, found: Found) -> Found:
    """Find edges from a call to the collective that it begins, and from that to the thread that awaits it."""
    events = context.events
    called = cpu_collectives(events, context.stack)
    called = called[np.argsort(events.end[called], kind="stable")]
    callers = _find_callers(context, called)
    begun = _begun(context, called, callers)
    return begun.plus(_awaited(context, called, callers.call, found.plus(begun)))


class _Callers(NamedTuple):
    """For each event the call whose collective it is, -1 if none is known, and the confidence of that."""

    call: Ints
    confidence: Floats


def _find_callers(context: Context, called: Ints) -> _Callers:
    """Find the calls of `c10d::` of collectives.

    The queue of a process group is first in, first out: the k-th call of a process is its k-th collective,
    not counting those that began before the first call. This is believed if there are as many of both and
    none begins before its call. Else, with less confidence, a call belongs to the first collective that
    begins at most 1 ms after it.
    """
    events, process = context.events, context.lanes.process
    calls = _calls(context)
    cause, sure = np.full(len(events), -1, dtype=np.int64), np.full(len(events), _CALLED)
    for one in np.unique(process[events.lane[called]]).tolist():
        mine, works = (found[process[events.lane[found]] == one] for found in (calls, called))
        mine, works = (found[np.argsort(events.start[found], kind="stable")] for found in (mine, works))
        works = works[events.start[works] >= events.start[mine].min(initial=np.iinfo(np.int64).max)]
        if len(mine) == len(works) and (events.start[works] >= events.start[mine]).all():
            cause[works] = mine
            continue
        last, first = np.unique(
            np.searchsorted(events.start[mine], events.start[works], "right") - 1, return_index=True
        )
        soon = events.start[works[first]] - events.start[mine[last]] <= _TAKE_UP_NS
        cause[works[first[soon]]], sure[works] = mine[last[soon]], _NEAREST
    return _Callers(cause, sure)


def _begun(context: Context, called: Ints, callers: _Callers) -> Found:
    """Let each collective wait for its call on another thread, since the last event before on its own."""
    events, cause = context.events, callers.call
    works = called[(cause[called] >= 0) & (events.lane[cause[called]] != events.lane[called])]
    since = _ended_before(context, works)
    works, since = works[since < events.start[works]], since[since < events.start[works]]
    call, lane, start = cause[works], events.lane[works], events.start[works]
    edges = make_edges(
        HAND_OVER,
        on_thread(events.lane[call], events.start[call]),
        on_thread(lane, start),
        events.start[call],
        recorded=False,
        confidence=callers.confidence[works],
    )
    return Found(edges, inferred_waits(HAND_OVER, lane, since, start))


def _calls(context: Context) -> Ints:
    """Find calls of process groups that are in no other such call."""
    events, stack = context.events, context.stack
    named = np.array([str(name).startswith(CALLS) for name in events.name.values], dtype=bool)
    calls = np.flatnonzero(events.name.matching(named) & events.of_role(Role.OPERATOR) & events.on_thread)
    outer: Ints = calls[~np.isin(stack.parent[calls], calls)]
    return outer


def _ended_before(context: Context, works: Ints) -> Ints:
    """Find when the last outermost event before each of these ended on its thread; `NONE` for the first."""
    events = context.events
    top = np.flatnonzero(context.stack.top_level(events) & np.isin(events.lane, events.lane[works]))
    order = top[np.lexsort((events.start[top], events.lane[top]))]
    lane = events.lane[order]
    follows = np.append(False, lane[1:] == lane[:-1])[: len(order)]
    since = np.full(len(events), NONE, dtype=np.int64)
    since[order] = np.where(follows, np.append(NONE, events.end[order][:-1])[: len(order)], NONE)
    return since[works]


def _awaited(context: Context, called: Ints, call: Ints, found: Found) -> Found:
    """Find threads that go on just after a collective during which they recorded nothing.

    Such a thread was for at least 100 µs in the own time of a function or an annotation, or in no event, or
    in that of an operator that called this collective or that only waits, as autograd functions of tensor
    parallelism do. Just after means within a third of that and at most 200 µs, or 2 % of a long stretch up to
    1 ms; for the thread that called the collective 10 %, up to 5 ms. As much before the end counts, too: an
    end is recorded after those who wait are notified. The thread waits since its last event, or since the
    collective began. Of several stretches the one that waits longest counts. Stretches with a known wait are
    left alone.
    """
    events, stack = context.events, context.stack
    idle, caller = _may_wait(context, called, call)
    silent = np.flatnonzero((idle | caller) & (stack.piece_end - stack.piece_start >= SHORTEST_SILENCE_NS))
    row, collective = _near(context, called, silent)
    stretch = silent[row]
    lane, until = stack.piece_lane[stretch], stack.piece_end[stretch]
    since = np.maximum(stack.piece_start[stretch], events.start[collective])
    lag = until - events.end[collective]
    left_at = np.minimum(until, events.end[collective])
    own = (call[collective] >= 0) & (events.lane[call[collective]] == lane)
    share, longest = (
        np.where(own, _OF_CALLER, TOLERANCE),
        np.where(own, _LONGEST_OF_CALLER_NS, LONGEST_WAKE_UP_NS),
    )
    reach = np.clip(share * (until - since), _WAKE_UP_NS, longest)
    holds = np.abs(lag) <= np.minimum(reach, _LARGEST_PART * (until - since))
    called_it = (call[collective] >= 0) & (stack.parent[call[collective]] == stack.piece_event[stretch])
    holds &= idle[stretch] | called_it
    holds &= left_at - since >= SHORTEST_SILENCE_NS
    holds &= covered(Spans(lane, since, until), Spans(*_known(found))) == 0
    order = np.lexsort((since - left_at, collective))
    order = order[holds[order]]
    chosen = order[np.unique(collective[order], return_index=True)[1]]
    chosen = chosen[np.unique(row[chosen], return_index=True)[1]]
    edges = make_edges(
        RESUME,
        on_thread(events.lane[collective[chosen]], left_at[chosen]),
        on_thread(lane[chosen], until[chosen]),
        left_at[chosen],
        recorded=False,
        confidence=_RESUMED,
    )
    inside = stack.piece_event[stretch[chosen]]
    operator = np.where(np.append(events.of_role(Role.OPERATOR), False)[inside], inside, -1)
    return Found(edges, inferred_waits(RESUME, lane[chosen], since[chosen], until[chosen], operator))


def _near(context: Context, called: Ints, silent: Ints) -> tuple[Ints, Ints]:
    """Pair silent stretches, by their place, with the collectives of their process that end nearest."""
    events, stack, process = context.events, context.stack, context.lanes.process
    lane, end = stack.piece_lane[silent], stack.piece_end[silent]
    pairs = [np.empty((2, 0), dtype=np.int64)]
    for one in np.unique(process[events.lane[called]]).tolist():
        mine = called[process[events.lane[called]] == one]
        after = np.searchsorted(events.end[mine], end)
        for near in (after - 1, after):
            there = (near >= 0) & (near < len(mine)) & (process[lane] == one)
            pairs.append(np.stack([np.flatnonzero(there), mine[near[there]]]))
    row, collective = np.concatenate(pairs, axis=1)
    return row, collective


def _may_wait(context: Context, called: Ints, call: Ints) -> tuple[Flags, Flags]:
    """Tell in which pieces nothing works, as far as is recorded, on threads without collectives.

    The second ones lie in operators that called a collective: they may wait for that one alone.
    """
    stack, events = context.stack, context.events
    idle = np.append(events.of_role(Role.FRAME, Role.ANNOTATION) | _only_waits(context), True)
    callers = stack.parent[call[call >= 0]]
    caller: Flags = np.isin(stack.piece_event, callers[callers >= 0])
    quiet: Flags = ~np.isin(stack.piece_lane, np.unique(events.lane[called]))
    return idle[stack.piece_event] & quiet, caller & quiet


def _only_waits(context: Context) -> Flags:
    """Find operators that do nothing but wait for a collective."""
    return context.events.name.among(AWAITS) & context.events.of_role(Role.OPERATOR)


def _known(found: Found) -> tuple[Ints, Ints, Ints]:
    return found.waits.lane, found.waits.start, found.waits.end
