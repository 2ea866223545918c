"""Segments: every thread's time cut at the ports, and one segment for each GPU activity."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tracegraph.ingest.arrays import Flags, Ints, Terms, as_terms
from tracegraph.ingest.causal.events.callstack import CallStack
from tracegraph.ingest.causal.events.events import Events, is_passive
from tracegraph.ingest.causal.events.lane_times import Keys
from tracegraph.ingest.causal.events.lanes import Lanes
from tracegraph.ingest.causal.events.window import Window
from tracegraph.ingest.causal.rules.edges import GAP_OF_MECHANISM, GAP_OF_STRETCH, Edges, Waits
from tracegraph.vocabulary.gaps import GAP_CODE, IN_SHORT, OUTSIDE_RECORDING, UNTRACED_CPU

WORK, WAIT, GAP = 0, 1, 2
"""Positions in `SEGMENT_KINDS`."""
_UNTRACED, _IN_SHORT = GAP_CODE[UNTRACED_CPU], GAP_CODE[IN_SHORT]


@dataclass(frozen=True)
class Segments:
    """All segments of a run by (lane, start, end); times in ns.

    Attributes
    ----------
    event
        The index of the innermost event, -1 for a gap.
    kind
        The position in `SEGMENT_KINDS`.
    gap_name
        The position in `GAP_NAMES`; it means something for waits and gaps only.
    work
        The segment's own work, ns; 0 while it waits.
    on_thread
        Whether it is on a CPU lane.
    """

    lane: Ints
    start: Ints
    end: Ints
    event: Ints
    kind: Terms
    gap_name: Terms
    work: Ints
    on_thread: Flags
    gpu_first: Ints
    """For each GPU activity the segment it begins with; -1 for others, and for empty ones off the window."""
    gpu_last: Ints
    """The segment it ends with: the same, except for a collective that first waits."""

    def __len__(self) -> int:
        return len(self.start)

    @property
    def works(self) -> Flags:
        """Whether each is work: of an event, or of a rank in short, whose events are not here."""
        works: Flags = (self.kind == WORK) | (self.kind == GAP) & (self.gap_name == _IN_SHORT)
        return works

    @property
    def completion(self) -> Ints:
        """Start plus own work, ns."""
        return self.start + self.work

    @cached_property
    def in_order(self) -> Flags:
        """Whether each comes after the one before by start, and then by end; the first one does."""
        start, end = self.start, self.end
        later: Flags = np.ones(len(start), dtype=bool)
        later[1:] = (start[1:] > start[:-1]) | ((start[1:] == start[:-1]) & (end[1:] >= end[:-1]))
        return later


def _tile_threads(stack: CallStack, lanes: Lanes, window: Window) -> tuple[Ints, Ints, Ints, Ints]:
    """Clip the pieces to the window, and add gaps before the first and after the last of each lane."""
    lane, event = stack.piece_lane, stack.piece_event
    start = np.clip(stack.piece_start, window.start, window.end)
    end = np.clip(stack.piece_end, window.start, window.end)
    keep = end > start
    if not keep.all():
        lane, start, end, event = lane[keep], start[keep], end[keep], event[keep]
    threads = np.flatnonzero(lanes.is_thread)
    first = np.full(len(threads), window.end, dtype=np.int64)
    last = np.full(len(threads), window.start, dtype=np.int64)
    position = np.searchsorted(threads, lane)
    np.minimum.at(first, position, start)
    np.maximum.at(last, position, end)
    last = np.maximum(last, first)
    outer = np.full(len(threads), -1, dtype=np.int64)
    at = np.full(len(threads), window.start), np.full(len(threads), window.end)
    lane = np.concatenate([threads, lane, threads])
    start, end = np.concatenate([at[0], start, last]), np.concatenate([first, end, at[1]])
    event = np.concatenate([outer, event, outer])
    order = np.lexsort((start, lane))
    order = order[(end > start)[order]]
    return lane[order], start[order], end[order], event[order]


def build_segments(
    events: Events,
    stack: CallStack,
    lanes: Lanes,
    window: Window,
    edges: Edges,
    waits: Waits,
    cuts: tuple[Ints, Ints],
) -> Segments:
    """Cut the threads at the ports of `edges`, the bounds of `waits`, and `cuts` (lanes, times).

    Cuts of streams, as of steps that a file without threads marks there, count for nothing.

    A stream lane with an activity that no edge reaches gets a root: a gap from the window's start until its
    rank's recording begins (with one rank it is empty), to which the activity is bound ("queue start").

    Parameters
    ----------
    window
        What the segments tile.
    edges, waits
        What the rules found.
    cuts
        Lanes, and times in ns: where steps and phases begin and end.
    """
    recorded = _recorded(events, lanes)
    threads = _cut_threads(events, stack, lanes, window, edges, waits, recorded, cuts)
    return _with_streams(events, edges, window, recorded[0], threads)


def _cut_threads(
    events: Events,
    stack: CallStack,
    lanes: Lanes,
    window: Window,
    edges: Edges,
    waits: Waits,
    recorded: tuple[Ints, Ints],
    cuts: tuple[Ints, Ints],
) -> tuple[Ints, ...]:
    """Cut the threads: lane, start, end, event, kind and gap's name of each segment."""
    keys = Keys(window.start, window.end, len(lanes.frame))
    lane, start, end, event = _tile_threads(stack, lanes, window)
    threads = np.flatnonzero(lanes.is_thread)
    ports = [
        *((threads, bound[threads]) for bound in recorded),
        (edges.cause_lane[edges.cause_event < 0], edges.cause_time[edges.cause_event < 0]),
        (edges.effect_lane[edges.effect_event < 0], edges.effect_time[edges.effect_event < 0]),
        (waits.lane, waits.start),
        (waits.lane, waits.end),
        tuple(side[lanes.is_thread[cuts[0]]] for side in cuts),
    ]
    cut_lane = np.concatenate([p[0] for p in ports])
    cut_time = np.concatenate([p[1] for p in ports])
    inside = (cut_time > window.start) & (cut_time < window.end)
    piece_keys = keys.of(lane, start)
    bounds = np.sort(np.concatenate([piece_keys, keys.of(cut_lane[inside], cut_time[inside])]))
    bounds = bounds[np.append(True, bounds[1:] != bounds[:-1])[: len(bounds)]]
    piece = np.searchsorted(piece_keys, bounds, "right") - 1
    seg_lane, seg_start, seg_event = (
        lane[piece],
        bounds - lane[piece] * keys.stride + window.start,
        event[piece],
    )
    is_last = np.append(piece[1:] != piece[:-1], True)[: len(piece)]
    seg_end = np.where(is_last, end[piece], np.append(seg_start[1:], 0))
    kind = np.where(seg_event < 0, GAP, WORK)
    outside = (seg_end <= recorded[0][seg_lane]) | (seg_start >= recorded[1][seg_lane])
    gap_name = np.where(outside, GAP_CODE[OUTSIDE_RECORDING], _UNTRACED)
    _mark_waits(events, waits, keys, bounds, seg_event, kind, gap_name)
    passed = _passed_by(edges, keys, np.flatnonzero(kind == WAIT), bounds, keys.of(seg_lane, seg_end))
    columns: tuple[Ints, ...] = (seg_lane, seg_start, seg_end, seg_event, kind, gap_name)
    if len(passed):
        twice = np.insert(np.arange(len(bounds)), passed, passed)
        columns = tuple(own[twice] for own in columns)
        moment = passed + np.arange(len(passed))
        columns[2][moment] = columns[1][moment]
    return columns


def _passed_by(edges: Edges, keys: Keys, waits: Ints, start: Ints, end: Ints) -> Ints:
    """Find the segments among `waits` that one edge enters and another leaves; `start`, `end`: keys of all.

    A path passes them by at their start. Each begins with a moment of its own, so that the time before it
    belongs to what let it go on.
    """

    def ports(event: Ints, lane: Ints, time: Ints) -> Ints:
        chosen = (event < 0) & (time > keys.start) & (time < keys.end)
        return keys.of(lane[chosen], time[chosen])

    enters = np.isin(start[waits], ports(edges.effect_event, edges.effect_lane, edges.effect_time))
    entered = waits[enters]
    if not len(entered):
        return entered
    return entered[np.isin(end[entered], ports(edges.cause_event, edges.cause_lane, edges.cause_time))]


def _recorded(events: Events, lanes: Lanes) -> tuple[Ints, Ints]:
    """Find for each lane when the first event of its rank starts, and when the last one ends, ns."""
    ranks = int(lanes.rank.max(initial=0)) + 1
    first = np.full(ranks, np.iinfo(np.int64).max)
    last = np.full(ranks, np.iinfo(np.int64).min)
    np.minimum.at(first, events.rank, events.start)
    np.maximum.at(last, events.rank, events.end)
    return first[lanes.rank], last[lanes.rank]


def _mark_waits(
    events: Events, waits: Waits, keys: Keys, bounds: Ints, event: Ints, kind: Ints, gap_name: Ints
) -> None:
    """Turn the segments inside each wait into waits: those of its event, else all but those of operators.

    Waits of no rule become gaps.
    """
    passive = np.append(is_passive(events), True)
    begin = np.clip(waits.start, keys.start, keys.end)
    until = np.clip(waits.end, keys.start, keys.end)
    first = np.searchsorted(bounds, keys.of(waits.lane, begin), "left")
    last = np.searchsorted(bounds, keys.of(waits.lane, until), "left")
    rows = zip(first.tolist(), last.tolist(), waits.event.tolist(), waits.mechanism.tolist(), strict=True)
    for low, high, owner, mechanism in rows:
        inside = event[low:high]
        chosen = inside == owner if owner >= 0 else passive[inside]
        known = mechanism not in GAP_OF_STRETCH
        kind[low:high][chosen] = WAIT if known else GAP
        gap_name[low:high][chosen] = GAP_OF_MECHANISM[mechanism] if known else GAP_OF_STRETCH[mechanism]


def completions(events: Events, edges: Edges) -> Ints:
    """Find when each event is complete: at its end, or when an effect of GPU work starts before that, ns.

    The rules make an edge between rows that overlap only if their order is known.
    """
    completion = events.end.copy()
    from_gpu = edges.cause_event >= 0
    np.minimum.at(completion, edges.cause_event[from_gpu], edges.effect_time[from_gpu])
    return np.maximum(completion, events.start)


def _with_streams(
    events: Events,
    edges: Edges,
    window: Window,
    recorded: Ints,
    threads: tuple[Ints, ...],
) -> Segments:
    """Add one segment for each GPU activity until it is complete, and the roots, to those of the threads.

    A root lasts until the recording of its rank begins (`recorded`, by lane): it is empty for the rank whose
    recording begins first.
    """
    inside = (events.start >= window.start) & (events.end <= window.end)
    end = completions(events, edges)
    gpu = np.flatnonzero(events.is_gpu & inside)
    reached = np.zeros(len(events), dtype=bool)
    caused = np.where(edges.cause_event >= 0, inside[edges.cause_event], edges.cause_time > window.start)
    arriving = (edges.effect_event >= 0) & caused
    reached[edges.effect_event[arriving]] = True
    orphans = gpu[~reached[gpu] & (events.start[gpu] > window.start)]
    roots = np.unique(events.lane[orphans])
    nothing = np.zeros(len(roots), dtype=np.int64)
    at_start = nothing + window.start
    begins = np.maximum(recorded[roots], window.start)
    late = np.where(begins > window.start, GAP_CODE[OUTSIDE_RECORDING], 0)
    streams = [
        np.concatenate(both)
        for both in zip(
            (roots, at_start, begins, nothing - 1, nothing + GAP, late),
            (events.lane[gpu], events.start[gpu], end[gpu], gpu, gpu * 0 + WORK, gpu * 0),
            strict=True,
        )
    ]
    in_order = np.lexsort(streams[3::-1])
    columns = [np.concatenate([mine, other[in_order]]) for mine, other in zip(threads, streams, strict=True)]
    on_thread = np.arange(len(columns[0])) < len(threads[0])
    if (columns[0][1:] < columns[0][:-1]).any():
        order = np.argsort(columns[0], kind="stable")
        columns, on_thread = [column[order] for column in columns], on_thread[order]
    lane, start, end, event, kind, gap_name = columns
    activity = np.full(len(events), -1, dtype=np.int64)
    is_activity = np.flatnonzero((event >= 0) & ~on_thread)
    activity[event[is_activity]] = is_activity
    work = end - start
    work[kind == WAIT] = 0
    kinds, names = as_terms(kind), as_terms(gap_name)
    return Segments(lane, start, end, event, kinds, names, work, on_thread, activity, activity)
