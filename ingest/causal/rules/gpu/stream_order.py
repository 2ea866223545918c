"""SEQUENTIAL (rule 8): order on a stream."""

from dataclasses import replace

import numpy as np

from tracegraph.ingest.array_tables import join_rows, select_rows
from tracegraph.ingest.arrays import Flags, Ints
from tracegraph.ingest.causal.events.events import Events
from tracegraph.ingest.causal.events.overlaps import in_step, only_slightly
from tracegraph.ingest.causal.launches.launches import REACH_NS
from tracegraph.ingest.causal.rules.context import Context
from tracegraph.ingest.causal.rules.edges import Edges, Found, make_edges, no_edges, on_gpu
from tracegraph.vocabulary.mechanisms import CODE, STREAM_ORDER

_GUESSED = 0.7
"""The confidence for work that starts beside other work of its stream: an estimate, since no simulated stream
runs such work."""
_LAUNCHED_NS = 5_000
"""By how much more than its usual lag a start may follow its launch and be explained by that alone. Chosen by
eye: a larger one would take waits of a stream for slow launches, a smaller one noise of launches for
waits."""


def stream_order(context: Context, _: Found) -> Found:
    """Let each activity follow the last to end of those before it on its stream.

    Rows that overlap only slightly keep their order, unless most overlaps on the stream are deep (graphs run
    branches in parallel, tools merge streams). Rows that overlap by more keep it if they start in step (see
    `in_step`) and were launched long before: the later one waited until the earlier one let it start, not
    for its end. Other rows that overlap have no order between these two: the cause is then a guess, the last
    work that had ended, unless one graph launch holds both.
    """
    events = context.events
    parts = [no_edges()]
    for lane, work in context.streams.by_lane.items():
        end = events.end[work]
        is_last = end == np.maximum.accumulate(end)
        last = np.maximum.accumulate(np.where(is_last, np.arange(len(work)), 0))
        cause, effect = work[last[:-1]], work[1:]
        ended = _last_ended(events, work, effect)
        stepping = in_step(events, cause, effect, ended)
        ordered = _in_order(events, cause, effect, stepping)
        early = stepping & ~ordered & ~_just_launched(context, effect)
        lag = int(context.lags.stream_order[lane])
        done = events.end[cause] + lag
        parts.append(_edges(events, cause[ordered], effect[ordered], done[ordered], recorded=True))
        at_start = events.start[effect]
        parts.append(_edges(events, cause[early], effect[early], at_start[early], recorded=False))
        guessed = ~ordered & ~early & _can_follow(events, ended, effect)
        before = ended[guessed]
        parts.append(_edges(events, before, effect[guessed], events.end[before] + lag, recorded=False))
    return Found(join_rows(parts))


def early_ends(context: Context, found: Found) -> Found:
    """Let whatever waits for work that started early wait for the work before it, too: works end in order.

    If the later work were gone, the wait would last until the earlier one ends. None of these edges binds,
    since the later work ends last.
    """
    events, edges = context.events, found.edges
    start, end = events.start, events.end
    on_stream = (edges.mechanism == CODE[STREAM_ORDER]) & (edges.cause_event >= 0) & (edges.effect_event >= 0)
    early = on_stream & ~edges.recorded & (end[edges.cause_event] > start[edges.effect_event])
    before = np.full(len(events), -1, dtype=np.int64)
    before[edges.effect_event[early]] = edges.cause_event[early]
    waiting = (edges.cause_event >= 0) & (before[edges.cause_event] >= 0)
    rows = select_rows(edges, waiting & (edges.effect_time >= end[edges.cause_event]))
    cause = before[rows.cause_event]
    sooner = end[rows.cause_event] - end[cause]
    # Two causes of GPU work that come closer than lags vary would be taken for a race.
    apart = (rows.effect_event < 0) | (sooner > REACH_NS)
    again = replace(rows, cause_event=cause, cause_time=end[cause], arrival=rows.arrival - sooner)
    return Found(select_rows(again, apart))


def _in_order(events: Events, cause: Ints, effect: Ints, stepping: Flags) -> Flags:
    """Tell which neighbours on a stream run one after the other, but for those whose starts are in step."""
    overlap = events.end[cause] > events.start[effect]
    ordered = only_slightly(events, cause, effect)
    slight = int((overlap & ordered).sum())
    return ordered if slight > int((~ordered & ~stepping).sum()) else ~overlap


def _just_launched(context: Context, effect: Ints) -> Flags:
    """Tell which works started so soon after their launch that it explains them."""
    events, call = context.events, context.launches.call[effect]
    late = events.start[effect] - events.end[call]
    just: Flags = (call >= 0) & (late <= context.lags.launch_from_end + _LAUNCHED_NS)
    return just


def _last_ended(events: Events, work: Ints, effect: Ints) -> Ints:
    """Find for each activity the last of its stream that had ended when it started, -1 for none."""
    ended = work[np.argsort(events.end[work], kind="stable")]
    last = np.searchsorted(events.end[ended], events.start[effect], "right") - 1
    return np.where(last >= 0, ended[np.maximum(last, 0)], -1)


def _can_follow(events: Events, ended: Ints, effect: Ints) -> Flags:
    """Tell for which activities of some length another had ended that is not of the same graph launch."""
    correlation = events.correlation[effect]
    one_launch = (events.correlation[ended] == correlation) & (correlation > 0)
    can: Flags = (ended >= 0) & ~one_launch & (events.end[effect] > events.start[effect])
    return can


def _edges(events: Events, cause: Ints, effect: Ints, arrival: Ints, *, recorded: bool) -> Edges:
    return make_edges(
        STREAM_ORDER,
        on_gpu(events, cause, at_end=True),
        on_gpu(events, effect, at_end=False),
        arrival,
        recorded=recorded,
        confidence=1.0 if recorded else _GUESSED,
    )
